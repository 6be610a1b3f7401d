//! Callers in line for limiters whose words have no gate, beside what `any_line.rs` says of all lines.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::compose::{All, Counted, Gate, GateMode, Unlimited};
use sluicegate::wait::{AcquireError, Queued};
use sluicegate::window::WeightedLog;
use sluicegate::{
    Denied, FixedWindow, Limiter, ManualClock, Sharded, SlidingLog, TokenBucket, Wait, quota, rate,
};

use super::support::{Caller, MILLI};

type Line<'a, L> = Queued<L, &'a ManualClock>;

/// Ten in any 100 ms.
pub(crate) fn log(clock: &ManualClock) -> Line<'_, WeightedLog<&ManualClock>> {
    Queued::with_clock(WeightedLog::with_clock(rate!(10 / 100 ms), clock).unwrap(), clock)
}

/// The same, with five taken now, and five 20 ms later.
pub(crate) fn used(clock: &ManualClock) -> Line<'_, WeightedLog<&ManualClock>> {
    let log = log(clock);
    log.try_acquire(5).unwrap();
    clock.advance(20 * MILLI);
    log.try_acquire(5).unwrap();
    log
}

#[test]
fn callers_for_several_limiters_wait_until_all_of_them_grant_at_once() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(100 / second, burst 10), &clock);
    let window = FixedWindow::with_clock(rate!(10 / 100 ms), &clock).unwrap();
    let both: All<&dyn Limiter> = All::new([&bucket as &dyn Limiter, &window]).unwrap();
    let both = Queued::with_clock(both, &clock);
    both.try_acquire(8).unwrap();
    let mut callers = [6, 5].map(|permits| Caller::new(&both, permits));
    clock.set_nanos(40_000_000);
    // The bucket has six, and the window two.
    assert!(callers[0].is_waiting());
    assert_eq!((bucket.peek(6).is_ok(), window.count()), (true, 8));
    assert_eq!(callers[0].sleeps_for(), 60 * MILLI);
    clock.set_nanos(100_000_000);
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, false]);
    assert_eq!((bucket.peek(0).unwrap().remaining(), window.count()), (4, 6));
    clock.set_nanos(200_000_000);
    assert!(callers[1].is_granted());
    assert_eq!(window.count(), 5);
}

#[test]
fn waiting_callers_of_several_limiters_cost_the_others_nothing() {
    let clock = ManualClock::new();
    let scarce = SlidingLog::with_clock(rate!(1 / second), &clock).unwrap();
    let shared = SlidingLog::with_clock(rate!(1000 / second), &clock).unwrap();
    let both: All<&dyn Limiter> = All::new([&shared as &dyn Limiter, &scarce]).unwrap();
    let both = Queued::with_clock(both, &clock);
    let mut callers: Vec<_> = (0..50).map(|_| Caller::new(&both, 1)).collect();
    for millis in 0..3000 {
        clock.set_nanos(millis * 1_000_000);
        for caller in &mut callers {
            let _ = caller.poll();
        }
        assert!(both.try_acquire(1).is_err());
    }
    // One at the start, and one after each of two seconds; a log takes nothing back.
    assert_eq!((shared.count(), both.line().waiters()), (1, 47));
    assert_eq!(shared.try_acquire_up_to(2000).unwrap().permits(), 999);
}

#[test]
fn any_limiter_can_be_waited_for() {
    let clock = Arc::new(ManualClock::new());
    let ten = FixedWindow::with_clock(rate!(10 / 100 ms), Arc::clone(&clock)).unwrap();
    let any: Arc<dyn Limiter> = Arc::new(Counted::new(Gate::new(ten)));
    let any = Queued::with_clock(any, &*clock);
    any.try_acquire(10).unwrap();
    let mut caller = Caller::new(&any, 4);
    assert_eq!(caller.sleeps_for(), 100 * MILLI);
    clock.advance(100 * MILLI);
    assert!(caller.is_granted());

    assert!(Queued::new(Unlimited).acquire_blocking(u64::MAX).is_ok());
    drop(caller);
    assert!(Queued::new(any).acquire(1).timeout(Duration::MAX).wait_blocking().is_ok());
}

#[test]
fn a_denial_at_the_gate_tells_the_wait_until_the_line_has_passed() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let _callers = [5, 4].map(|permits| Caller::new(&log, permits));
    let denied = log.try_acquire(1).unwrap_err();
    assert_eq!((denied.retry_after(), denied.remaining()), (Some(100 * MILLI), Some(0)));
    assert_eq!(denied.limit(), Some(10));
    assert_eq!(log.try_acquire(11), Err(Denied::TooLarge { limit: 10, which: 0 }));
    // Settles for the first, who is due now.
    clock.set_nanos(100_000_000);
    assert_eq!(log.try_acquire(1).unwrap_err().retry_after(), Some(20 * MILLI));
    assert_eq!(log.line().waiters(), 1);
    clock.set_nanos(120_000_000);
    assert_eq!(log.try_acquire(1).unwrap().remaining(), 0);
    assert_eq!(log.line().waiters(), 0);
}

#[test]
fn a_deadline_is_missed_at_once_only_for_certain() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let timed_out = |millis| Some(AcquireError::TimedOut { retry_after: millis * MILLI });
    assert_eq!(Caller::with_timeout(&log, 4, 79 * MILLI).error(), timed_out(80));
    let mut first = Caller::with_timeout(&log, 5, 80 * MILLI);
    assert!(first.is_waiting());
    assert_eq!(Caller::with_timeout(&log, 5, 99 * MILLI).error(), timed_out(100));
    let mut second = Caller::with_timeout(&log, 5, 100 * MILLI);
    assert!(second.is_waiting());
    // More than the log ever holds: that its turn is late is only foreseen.
    let mut third = Caller::with_timeout(&log, 5, 150 * MILLI);
    assert_eq!((third.is_waiting(), third.sleeps_for()), (true, 150 * MILLI));
    assert_eq!(Caller::with_timeout(&log, 1, 99 * MILLI).error(), timed_out(200));
    clock.advance(80 * MILLI);
    assert!(first.is_granted());
    clock.advance(20 * MILLI);
    assert!(second.is_granted());
    // As the first in line, it is told for certain.
    assert_eq!((third.woken(), log.line().waiters()), (1, 0));
    assert_eq!(third.error(), timed_out(80));
}

#[test]
fn a_caller_that_is_granted_before_its_deadline_was_not_refused_by_an_estimate() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let leaving = Caller::new(&log, 10);
    let mut caller = Caller::with_timeout(&log, 10, 110 * MILLI);
    assert!(caller.is_waiting());
    drop(leaving);
    assert_eq!((caller.woken(), caller.is_waiting(), caller.sleeps_for()), (1, true, 100 * MILLI));
    clock.advance(100 * MILLI);
    assert!(caller.is_granted());
}

#[test]
fn a_grant_that_was_not_seen_stays_spent() {
    let clock = ManualClock::new();
    let log = used(&clock);
    let unseen = Caller::new(&log, 4);
    clock.advance(80 * MILLI);
    assert!(log.try_acquire(1).is_ok());
    assert_eq!(unseen.woken(), 1);
    drop(unseen);
    assert_eq!((log.limiter().count(), log.line().waiters()), (10, 0));
}

#[test]
fn a_receipt_that_is_given_back_in_an_update_is_for_those_in_line() {
    let clock = ManualClock::new();
    let bucket = Sharded::with_clock(quota!(10 / second), &clock);
    let bucket = Queued::with_clock(bucket, &clock);
    let receipt = bucket.try_acquire_revocable(10).unwrap();
    let mut caller = Caller::new(&bucket, 5);
    assert!(caller.is_waiting());
    assert!(bucket.update(|_| receipt.give_back()));
    assert!(caller.is_granted());
}

#[test]
fn what_a_limiter_denies_without_a_wait_is_asked_for_again() {
    let clock = ManualClock::new();
    let bucket = Sharded::builder(quota!(10 / second)).shards(2).clock(&clock).build().unwrap();
    let lease = bucket.lease(8).unwrap();
    let bucket = Queued::with_clock(&bucket, &clock);
    let mut callers = [6, 2].map(|permits| Caller::new(&bucket, permits));
    assert_eq!(callers.each_ref().map(Caller::sleeps_for), [10 * MILLI, Duration::MAX]);
    assert!(matches!(bucket.try_acquire(7), Err(Denied::Leased { .. })));
    drop(lease);
    clock.advance(10 * MILLI);
    assert!(callers[0].is_granted() && callers[1].woken() == 1 && callers[1].is_granted());
}

#[test]
fn a_closed_gate_refuses_those_in_line_behind_it() {
    let clock = ManualClock::new();
    let ten = WeightedLog::with_clock(rate!(10 / 100 ms), &clock).unwrap();
    let gate = Queued::with_clock(Gate::new(ten), &clock);
    gate.try_acquire(10).unwrap();
    let mut callers = [1, 2].map(|permits| Caller::new(&gate, permits));
    gate.update(|gate| gate.set(GateMode::Closed));
    let too_large = Some(AcquireError::TooLarge { limit: 0 });
    assert_eq!(callers.each_mut().map(Caller::error), [too_large, too_large]);
    gate.update(|gate| gate.set(GateMode::Open));
    assert!(gate.acquire_blocking(100).is_ok());
}

#[test]
fn a_clock_that_jumps_holds_nobody_up_for_ever() {
    let clock = ManualClock::at(3_600_000_000_000);
    let log = used(&clock);
    let mut callers = [5, 5].map(|permits| Caller::new(&log, permits));
    clock.set_nanos(0);
    assert!(callers[0].is_waiting());
    for _ in 0..10 {
        clock.advance(200 * MILLI);
        let _ = callers.each_mut().map(|caller| caller.poll().is_ready());
    }
    assert_eq!(log.line().waiters(), 0);
    let mut caller = Caller::new(&log, 7);
    clock.set_nanos(u64::MAX / 2);
    assert!(caller.is_granted());
}

#[test]
fn nobody_sleeps_for_no_time_at_the_end_of_the_clock() {
    let clock = ManualClock::at(u64::MAX - 1_000);
    let log = log(&clock);
    log.try_acquire(10).unwrap();
    let mut caller = Caller::new(&log, 4);
    clock.set_nanos(u64::MAX);
    assert!(caller.is_waiting() && caller.sleeps_for() > Duration::ZERO);
    let mut late = Caller::with_timeout(&log, 1, MILLI);
    assert!(late.is_waiting() && late.sleeps_for() > Duration::ZERO);
}
