//! Waiting through the wrappers of limiters. What is checked:
//!
//! * counts: each caller once, when it is told its answer, however it waited;
//! * a cache of denials: no caller that waits is denied from it;
//! * a gate: those in line are granted or refused when it is opened or closed, and charged nothing.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate::Limiter;
use sluicegate::compose::Unlimited;
use sluicegate::compose::{Counted, Counts, Gate, GateMode};
use sluicegate::wait::{AcquireError, Jitter, LineLimits, Queued, Reserve};
use sluicegate::window::WeightedLog;
use sluicegate::{ManualClock, TokenBucket, Wait, quota, rate};

use crate::counted::counts;

use super::support::{Caller, MILLI};

type Bucket<'a> = TokenBucket<&'a ManualClock>;

fn bucket(clock: &ManualClock) -> Bucket<'_> {
    TokenBucket::with_clock(quota!(1_000 / second, burst 10), clock)
}

const CLOSED: AcquireError = AcquireError::TooLarge { limit: 0 };

#[test]
fn a_caller_that_waits_is_counted_once_when_it_is_told() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(bucket(&clock), 1);
    limiter.acquire_blocking(10).unwrap();
    let mut caller = Caller::new(&limiter, 4);
    assert!(caller.is_waiting() && caller.is_waiting());
    assert_eq!(limiter.counts(), counts(1, 0, 10));
    clock.advance(4 * MILLI);
    // Settles for it.
    assert!(limiter.limiter().try_acquire(1).is_err());
    assert_eq!(limiter.counts(), counts(1, 0, 10), "granted, and not told yet");
    assert!(caller.is_granted());
    assert_eq!(limiter.counts(), counts(2, 0, 14));
    assert_eq!(limiter.line().waiters(), 0);
}

#[test]
fn the_time_that_callers_stood_in_line_is_counted_whatever_they_were_told() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(bucket(&clock), 1);
    limiter.acquire_blocking(10).unwrap();
    assert_eq!(limiter.waits().callers(), 0, "answered at once");
    let mut granted = Caller::new(&limiter, 4);
    let mut refused = Caller::new(&limiter, 1);
    let mut dropped = Caller::new(&limiter, 1);
    assert!(granted.is_waiting() && refused.is_waiting() && dropped.is_waiting());
    drop(dropped);
    clock.advance(4 * MILLI);
    assert!(granted.is_granted());
    clock.advance(MILLI / 2);
    limiter.line().close();
    assert_eq!(refused.error(), Some(AcquireError::Closed));
    let waits = limiter.waits();
    assert_eq!((waits.callers(), waits.total()), (2, 17 * MILLI / 2));
    let buckets: Vec<_> = waits.buckets().iter().filter(|bucket| bucket.callers > 0).collect();
    let [bucket] = buckets[..] else { panic!("{buckets:?}") };
    assert_eq!((bucket.bound, bucket.callers, bucket.total), (Some(5 * MILLI), 2, 17 * MILLI / 2));
    assert_eq!(limiter.denials().closed, 1);
}

#[test]
fn a_caller_with_jitter_has_waited_until_it_is_told() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(bucket(&clock), 1);
    limiter.acquire_blocking(10).unwrap();
    let jitter = Jitter::between(3 * MILLI, 3 * MILLI);
    let mut caller = Caller::of(limiter.acquire(1).jitter(jitter));
    assert!(caller.is_waiting());
    clock.advance(MILLI);
    assert!(caller.is_waiting());
    clock.advance(3 * MILLI);
    assert!(caller.is_granted());
    assert_eq!((limiter.waits().callers(), limiter.waits().total()), (1, 4 * MILLI));
}

#[test]
fn every_refusal_of_a_caller_that_would_wait_counts_as_a_denial() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(bucket(&clock), 1);
    limiter.acquire_blocking(10).unwrap();
    assert!(Caller::with_timeout(&limiter, 4, MILLI).error().is_some());
    assert_eq!(limiter.counts(), counts(1, 1, 10));
    assert_eq!(limiter.acquire_blocking(11), Err(AcquireError::TooLarge { limit: 10 }));
    limiter.line().set_limits(LineLimits::new().max_waiters(1));
    let mut first = Caller::new(&limiter, 1);
    assert!(limiter.acquire_blocking(1).is_err());
    assert_eq!(limiter.counts(), counts(1, 3, 10));
    drop(Caller::of(limiter.acquire(0)));
    assert_eq!(limiter.counts(), counts(2, 3, 10));
    limiter.line().close();
    assert_eq!(limiter.counts(), counts(2, 3, 10));
    assert_eq!(first.error(), Some(AcquireError::Closed));
    assert_eq!(limiter.counts(), counts(2, 4, 10));
}

#[test]
fn a_caller_that_is_dropped_untold_is_not_counted() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(bucket(&clock), 1);
    limiter.limiter().try_acquire(10).unwrap();
    let waiting = Caller::new(&limiter, 4);
    let granted = Caller::new(&limiter, 2);
    drop(waiting);
    clock.advance(2 * MILLI);
    let jitter = Jitter::between(3 * MILLI, 3 * MILLI);
    let mut jittered = Caller::of(limiter.acquire(1).jitter(jitter));
    drop(granted);
    clock.advance(MILLI);
    assert!(jittered.is_waiting());
    drop(jittered);
    assert_eq!(limiter.counts(), Counts::default());
}

#[test]
fn counts_inside_of_counts_and_of_a_caller_that_keeps_its_limiter_are_right_too() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(Counted::with_slots(bucket(&clock), 1), 1);
    limiter.acquire_blocking(2).unwrap();
    assert!(limiter.acquire(10).timeout(MILLI).wait_blocking().is_err());
    for counted in [limiter.counts(), limiter.limiter().counts()] {
        assert_eq!(counted, counts(1, 1, 2));
    }
    let mut caller = sluicegate::wait::Caller::new(&limiter);
    caller.acquire_blocking(8).unwrap();
    assert_eq!(limiter.counts(), limiter.limiter().counts());
    assert_eq!(limiter.counts().permits, 10);
}

#[test]
fn reservations_are_counted_when_they_are_made() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(bucket(&clock), 1);
    assert_eq!(limiter.reserve(10).unwrap().ready_after(), Duration::ZERO);
    assert!(limiter.reserve(3).unwrap().cancel());
    assert!(limiter.reserve_within(1, Duration::ZERO).is_err());
    assert_eq!(limiter.counts(), counts(2, 1, 13));
}

#[test]
fn any_limiter_can_be_waited_for_and_counted() {
    let clock = ManualClock::new();
    let log = WeightedLog::with_clock(rate!(5 / 10 ms), &clock).unwrap();
    let limiter = Counted::with_slots(Queued::with_clock(log, &clock), 1);
    limiter.acquire_blocking(5).unwrap();
    let mut caller = Caller::new(&limiter, 2);
    for _ in 0..3 {
        clock.advance(3 * MILLI);
        assert!(caller.is_waiting());
    }
    clock.advance(MILLI);
    assert!(caller.is_granted());
    assert_eq!(limiter.counts(), counts(2, 0, 7));
}

#[test]
fn a_gate_that_limits_is_waited_for_as_its_limiter_is() {
    let clock = ManualClock::new();
    let gate = Gate::new(bucket(&clock));
    gate.acquire_blocking(10).unwrap();
    let (mut first, mut second) = (Caller::new(&gate, 4), Caller::new(gate.limiter(), 3));
    assert!(Caller::with_timeout(&gate, 4, 10 * MILLI).error().is_some());
    assert_eq!((first.sleeps_for(), second.sleeps_for()), (4 * MILLI, 7 * MILLI));
    clock.advance(4 * MILLI);
    assert!(first.is_granted() && second.is_waiting());
    clock.advance(3 * MILLI);
    assert!(second.is_granted());
    assert!(gate.try_acquire(1).is_err());
}

#[test]
fn a_gate_that_is_opened_grants_to_all_in_line_and_charges_nothing() {
    let clock = ManualClock::new();
    let gate = Gate::new(Counted::with_slots(bucket(&clock), 1));
    gate.acquire_blocking(10).unwrap();
    let mut callers = [4, 10, 3].map(|permits| Caller::new(&gate, permits));
    gate.set(GateMode::Open);
    assert_eq!(gate.line().waiters(), 0);
    for caller in &mut callers {
        assert_eq!(caller.woken(), 1);
        assert!(caller.is_granted());
    }
    assert!(Caller::new(&gate, 1_000_000).is_granted());
    let free = gate.reserve(1_000_000).unwrap();
    assert_eq!((free.permits(), free.ready_after()), (1_000_000, Duration::ZERO));
    assert!(free.cancel());
    gate.set(GateMode::Limiting);
    assert_eq!(gate.limiter().limiter().peek(0).unwrap().balance(), 0);
    // Of the reservation, the limiter was asked for the clock only.
    assert_eq!(gate.limiter().counts(), counts(2, 0, 10));
    // The line is as good as new.
    let mut next = Caller::new(&gate, 2);
    clock.advance(2 * MILLI);
    assert!(next.is_granted());
}

#[test]
fn a_gate_that_is_closed_refuses_all_in_line() {
    let clock = ManualClock::new();
    let gate = Gate::new(bucket(&clock));
    gate.acquire_blocking(10).unwrap();
    let mut callers = [4, 10, 3].map(|permits| Caller::new(&gate, permits));
    gate.set(GateMode::Closed);
    for caller in &mut callers {
        assert_eq!((caller.woken(), caller.error()), (1, Some(CLOSED)));
    }
    assert_eq!(Caller::new(&gate, 1).error(), Some(CLOSED));
    assert_eq!(gate.reserve(1).unwrap_err(), CLOSED);
    assert!(Caller::new(&gate, 0).is_granted() && gate.reserve(0).is_ok());
    clock.advance(5 * MILLI);
    assert!(gate.limiter().try_acquire(5).is_ok(), "the limiter knows nobody in line");
}

#[test]
fn gates_of_gates_and_of_any_limiter_settle_for_those_in_line() {
    let clock = ManualClock::new();
    let gate = Gate::new(Gate::new(bucket(&clock)));
    gate.acquire_blocking(10).unwrap();
    let mut caller = Caller::new(&gate, 4);
    gate.limiter().set(GateMode::Open);
    assert!(caller.woken() == 1 && caller.is_granted());
    gate.limiter().set(GateMode::Limiting);
    let mut caller = Caller::new(&gate, 4);
    gate.set(GateMode::Closed);
    assert_eq!((caller.woken(), caller.error()), (1, Some(CLOSED)));

    let gate = Gate::with_mode(Queued::with_clock(Unlimited, &clock), GateMode::Closed);
    assert_eq!(Caller::new(&gate, 1).error(), Some(CLOSED));
    gate.set(GateMode::Limiting);
    assert!(Caller::new(&gate, 1).is_granted());
}

#[test]
fn a_caller_that_keeps_its_limiter_stands_in_the_same_line() {
    let clock = Arc::new(ManualClock::new());
    let limiter =
        Counted::new(TokenBucket::with_clock(quota!(1_000 / second, burst 5), Arc::clone(&clock)));
    let limiter = Arc::new(limiter);
    limiter.try_acquire(5).unwrap();
    let mut first = Box::pin(limiter.acquire_owned(2));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    let mut second = Box::pin(limiter.acquire(1));
    assert!(second.as_mut().poll(&mut context).is_pending());
    let mut left = Box::pin(limiter.acquire_owned(9));
    assert!(left.as_mut().poll(&mut context).is_ready(), "more than it ever holds");
    drop(limiter.acquire_owned(1));
    assert_eq!(limiter.line().waiters(), 2);
    clock.advance(3 * MILLI);
    assert!(first.as_mut().poll(&mut context).is_ready());
    assert!(second.as_mut().poll(&mut context).is_ready());
    drop((second, left));
    assert_eq!((limiter.counts().granted, limiter.counts().denied), (3, 1));

    // The last one keeps it alive.
    let mut third = Box::pin(limiter.acquire_owned(1));
    assert!(third.as_mut().poll(&mut context).is_pending());
    let weak = Arc::downgrade(&limiter);
    drop((first, limiter));
    clock.advance(MILLI);
    assert!(third.as_mut().poll(&mut context).is_ready());
    drop(third);
    assert!(weak.upgrade().is_none());
}
