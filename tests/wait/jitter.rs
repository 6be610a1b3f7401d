//! Callers that are told of their grants a little later.

use std::future::Future;
use std::sync::Arc;

use sluicegate::wait::Jitter;
use sluicegate::{Clock, ManualClock, TokenBucket, Wait, quota};

use super::support::{Caller, MILLI, empty_bucket};

/// A delay of three milliseconds, always.
fn three() -> Jitter {
    Jitter::between(3 * MILLI, 3 * MILLI)
}

#[test]
fn jitter_delays_the_answer_and_not_the_grant() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut first = Caller::of(bucket.acquire(4).jitter(three()));
    let mut second = Caller::new(&bucket, 2);
    clock.advance(4 * MILLI);
    // Granted at its turn, and not told of it yet.
    assert!(first.is_waiting());
    assert_eq!(first.sleeps_for(), 3 * MILLI);
    assert_eq!(bucket.line().waiters(), 1);
    // Those behind it come no later.
    clock.advance(2 * MILLI);
    assert!(second.is_granted() && first.is_waiting());
    assert_eq!(first.sleeps_for(), MILLI);
    clock.advance(MILLI);
    assert!(first.is_granted());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 1);
}

#[test]
fn a_caller_that_is_granted_its_permits_at_once_is_not_delayed() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    assert!(Caller::of(bucket.acquire(10).jitter(three())).was_told());
}

#[test]
fn jitter_ends_at_the_timeout() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::of(bucket.acquire(4).timeout(5 * MILLI).jitter(three()));
    clock.advance(4 * MILLI);
    assert!(caller.is_waiting());
    assert_eq!(caller.sleeps_for(), MILLI);
    clock.advance(MILLI);
    assert!(caller.is_granted());
}

#[test]
fn a_caller_that_is_dropped_during_its_jitter_gives_back_what_it_can() {
    for is_last in [true, false] {
        let clock = ManualClock::new();
        let bucket = empty_bucket(&clock);
        let mut caller = Caller::of(bucket.acquire(4).jitter(three()));
        clock.advance(5 * MILLI);
        assert!(caller.is_waiting());
        if !is_last {
            bucket.try_acquire(1).unwrap();
        }
        drop(caller);
        let left = if is_last { 5 } else { 0 };
        assert_eq!(bucket.peek(0).unwrap().remaining(), left);
    }
}

#[test]
fn what_is_given_back_during_jitter_goes_to_the_next_in_line() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut jittered = Caller::of(bucket.acquire(4).jitter(three()));
    let mut next = Caller::new(&bucket, 4);
    clock.advance(4 * MILLI);
    assert!(jittered.is_waiting() && next.is_waiting());
    assert_eq!(next.sleeps_for(), 4 * MILLI);
    drop(jittered);
    assert_eq!(next.woken(), 1);
    assert!(next.is_granted());
}

#[test]
fn a_clock_that_goes_back_ends_the_jitter() {
    let clock = ManualClock::at(1_000_000_000);
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::of(bucket.acquire(4).jitter(three()));
    clock.advance(4 * MILLI);
    assert!(caller.is_waiting());
    clock.set_nanos(0);
    assert!(caller.is_granted());
}

#[test]
fn a_thread_waits_out_its_jitter() {
    let clock = Arc::new(ManualClock::new());
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), Arc::clone(&clock));
    bucket.try_acquire(1).unwrap();
    let jitter = Jitter::between(MILLI, MILLI);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let grant = bucket.acquire(1).jitter(jitter).wait_blocking().unwrap();
            (grant.permits(), clock.now_nanos())
        });
        while bucket.line().waiters() == 0 {
            std::thread::yield_now();
        }
        clock.advance(MILLI);
        // Its turn has come, and no time passes for a while: a thread without a delay ends in it.
        while bucket.line().waiters() == 1 {
            std::thread::yield_now();
        }
        for _ in 0..1_000 {
            std::thread::yield_now();
        }
        while !waits.is_finished() {
            clock.advance(MILLI);
            std::thread::yield_now();
        }
        let (permits, ended_nanos) = waits.join().unwrap();
        assert_eq!(permits, 1);
        assert!(ended_nanos >= 2_000_000, "{ended_nanos}");
    });
}

#[test]
fn jitter_of_a_key_delays_the_answer_and_not_the_grant() {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use sluicegate::keyed::QueuedKeys;
    use sluicegate::{Keyed, KeyedLimiter};

    let long = Jitter::between(30 * MILLI, 30 * MILLI);
    let clock = ManualClock::new();
    let users = Keyed::<u64, _>::with_clock(quota!(1_000 / second, burst 10), &clock);
    let keys = QueuedKeys::<_, u64, _>::with_clock(users, &clock);
    let mut context = Context::from_waker(Waker::noop());
    let mut at_once = pin!(keys.acquire(&7, 10).jitter(long));
    assert!(at_once.as_mut().poll(&mut context).is_ready(), "it did not have to wait");
    let mut waits = pin!(keys.acquire(&7, 4).jitter(long));
    assert!(waits.as_mut().poll(&mut context).is_pending());
    clock.advance(5 * MILLI);
    assert!(waits.as_mut().poll(&mut context).is_pending());
    // Granted: what has come since is for others.
    assert!(keys.try_acquire(&7, 1).is_ok() && keys.try_acquire(&7, 1).is_err());
    clock.advance(30 * MILLI);
    assert!(waits.as_mut().poll(&mut context).is_ready());
    assert_eq!(keys.lines(), 0);
}
