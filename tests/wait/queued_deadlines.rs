//! Deadlines in line for limiters whose words have no gate, kept by whoever serves the line.

use std::time::Duration;

use sluicegate::wait::{AcquireError, Queued};
use sluicegate::{FixedWindow, Limiter, ManualClock, Sharded, TokenBucket, Wait, quota, rate};

use super::queued::used;
use super::support::{Caller, MILLI, empty_bucket};

fn timed_out(after: Duration) -> AcquireError {
    AcquireError::TimedOut { retry_after: after }
}

#[test]
fn the_first_is_passed_over_when_its_turn_turns_out_to_come_after_its_deadline() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let mut ahead = Caller::new(&log, 10);
    // Its turn is only foreseen, so that it may stand in line.
    let mut late = Caller::with_timeout(&log, 10, 150 * MILLI);
    let mut behind = Caller::new(&log, 3);
    assert!(late.is_waiting());
    clock.advance(100 * MILLI);
    assert!(ahead.is_granted());
    // From the first grant on it is certain, and nobody waits for it.
    assert_eq!((late.woken(), log.line().waiters()), (1, 1));
    assert_eq!(late.error(), Some(timed_out(100 * MILLI)));
    assert!(behind.is_waiting());
    clock.advance(100 * MILLI);
    assert!(behind.is_granted());
    assert_eq!(log.limiter().count(), 3);
}

#[test]
fn no_permit_is_charged_for_a_caller_whose_turn_comes_after_its_deadline() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let mut ahead = Caller::new(&log, 10);
    let mut late = Caller::with_timeout(&log, 2, 150 * MILLI);
    let mut behind = Caller::new(&log, 3);
    // Nobody is polled in time: a call of another settles for all.
    clock.advance(200 * MILLI);
    assert!(log.try_acquire(1).is_err());
    assert!(ahead.is_granted());
    assert!(matches!(late.error(), Some(AcquireError::TimedOut { .. })));
    assert_eq!(late.woken(), 1);
    assert!(behind.is_waiting());
    assert_eq!((log.limiter().count(), log.line().waiters()), (10, 1));
    clock.advance(100 * MILLI);
    assert!(behind.is_granted());
    assert_eq!(log.limiter().count(), 3);
}

#[test]
fn a_caller_that_is_passed_over_leaves_what_there_is_to_those_behind_it() {
    let clock = ManualClock::new();
    let quota = quota!(100 / second, burst 10);
    let bucket = Sharded::builder(quota).shards(2).clock(&clock).build().unwrap();
    let lease = bucket.lease(8).unwrap();
    let bucket = Queued::with_clock(&bucket, &clock);
    // The lease may end at any time, so nobody can tell its turn.
    let mut late = Caller::with_timeout(&bucket, 10, 15 * MILLI);
    let mut behind = Caller::new(&bucket, 1);
    assert!(late.is_waiting());
    clock.advance(10 * MILLI);
    assert!(late.is_waiting() && bucket.try_acquire(1).is_err());
    assert_eq!((late.woken(), behind.woken()), (0, 0));
    // Its time is over, and a call of another sees that: also if all that it wants is there by now.
    clock.advance(6 * MILLI);
    drop(lease);
    assert!(bucket.try_acquire(1).is_ok());
    assert_eq!((late.woken(), behind.woken()), (1, 1));
    assert!(matches!(late.error(), Some(AcquireError::TimedOut { .. })));
    assert!(behind.is_granted());
}

#[test]
fn an_update_passes_over_a_caller_that_it_makes_too_late() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let mut late = Caller::with_timeout(&log, 6, 110 * MILLI);
    let mut behind = Caller::new(&log, 2);
    log.update(Limiter::reset);
    assert!(late.is_granted() && behind.is_granted());
    let mut late = Caller::with_timeout(&log, 6, 110 * MILLI);
    let mut behind = Caller::new(&log, 1);
    assert!(late.is_waiting());
    clock.advance(90 * MILLI);
    // As many as there are, by a reset and a call that goes by the line.
    log.update(|log| {
        log.reset();
        assert!(log.try_acquire(9).is_ok());
    });
    assert_eq!((late.woken(), late.error()), (1, Some(timed_out(100 * MILLI))));
    assert!(behind.is_granted());
}

#[test]
fn a_caller_that_is_due_by_its_deadline_is_granted_even_if_it_is_served_later() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let mut caller = Caller::with_timeout(&log, 5, 80 * MILLI);
    clock.advance(90 * MILLI);
    assert!(log.try_acquire(1).is_err(), "the call serves it, and five are left");
    assert!(caller.is_granted());
}

#[test]
fn a_force_beside_a_bucket_s_line_makes_the_first_too_late_for_whoever_serves() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut late = Caller::with_timeout(&bucket, 4, 4 * MILLI);
    let mut behind = Caller::new(&bucket, 1);
    bucket.force(1).unwrap();
    clock.advance(4 * MILLI);
    // Three have been earned and paid for, and one goes to the caller behind.
    assert_eq!(bucket.try_acquire(1).unwrap().remaining(), 1);
    assert_eq!((late.woken(), late.error()), (1, Some(timed_out(MILLI))));
    assert!(behind.is_granted());
}

/// Asserts that of callers that want a permit each and come at once, as many stand in line as are due by 2.5 s.
fn assert_only_those_that_are_due_wait(limiter: &impl Wait, due: usize) {
    let mut callers: Vec<Caller<'_>> =
        (0..due + 20).map(|_| Caller::with_timeout(limiter, 1, 2_500 * MILLI)).collect();
    assert!(callers[..due].iter_mut().all(Caller::is_waiting));
    for late in &mut callers[due..] {
        assert!(matches!(late.error(), Some(AcquireError::TimedOut { .. })));
    }
    assert_eq!(limiter.line().waiters(), due);
}

#[test]
fn a_caller_behind_more_than_the_limit_is_refused_at_once_where_the_limiter_earns_or_has_fixed_windows()
 {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(10 / second, burst 4), &clock);
    bucket.drain();
    let bucket = Queued::with_clock(bucket, &clock);
    assert_only_those_that_are_due_wait(&bucket, 25);
    let window = FixedWindow::with_clock(rate!(4 / second), &clock).unwrap();
    window.try_acquire(4).unwrap();
    assert_only_those_that_are_due_wait(&Queued::with_clock(window, &clock), 8);
}
