//! A limit that is changed, bounded or closed while callers wait for it.

use sluicegate::wait::{LineLimits, WhenLineFull};
use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};

use super::Caller;

#[test]
fn a_raised_limit_grants_what_it_leaves_to_those_in_line() {
    let limit = ConcurrencyLimit::new(2);
    let held = limit.try_acquire(2).unwrap();
    let mut callers = [1, 2, 1].map(|permits| Caller::new(limit.acquire(permits)));
    limit.set_limit(4);
    assert_eq!(callers.each_ref().map(Caller::woken), [1, 0, 0]);
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, false, false]);
    limit.set_limit(ConcurrencyLimit::MAX);
    assert!(callers[1].is_granted() && callers[2].is_granted());
    assert_eq!((limit.in_flight(), limit.limit()), (6, ConcurrencyLimit::MAX));
    drop((callers, held));
    assert!(limit.try_acquire(ConcurrencyLimit::MAX).is_ok());
}

#[test]
fn a_lowered_limit_refuses_those_that_want_more_and_lets_the_others_wait() {
    let limit = ConcurrencyLimit::new(4);
    let mut held = limit.try_acquire(4).unwrap();
    let mut callers = [2, 3, 1].map(|permits| Caller::new(limit.acquire(permits)));
    limit.set_limit(2);
    assert_eq!(callers[1].error(), Some(InFlightError::TooLarge { limit: 2 }));
    assert_eq!(callers.each_ref().map(Caller::woken), [0, 1, 0]);
    assert!(callers[0].is_waiting() && callers[2].is_waiting());
    drop(held.split(2));
    assert!(callers[0].is_waiting(), "two are in flight, and may be");
    drop(held);
    assert!(callers[0].is_granted() && callers[2].is_waiting());
    limit.set_limit(0);
    assert_eq!(callers[2].error(), Some(InFlightError::TooLarge { limit: 0 }));
    assert_eq!(limit.line().waiters(), 0);
    drop(callers);
    limit.set_limit(1);
    assert!(limit.try_acquire(1).is_ok());
}

#[test]
fn a_change_of_the_limit_keeps_the_gate_closed() {
    let limit = ConcurrencyLimit::new(4);
    let _held = limit.try_acquire(2).unwrap();
    let mut caller = Caller::new(limit.acquire(4));
    limit.set_limit(5);
    assert!(caller.is_waiting());
    assert!(limit.try_acquire(1).unwrap_err().others_wait());
}

#[test]
fn a_closed_line_refuses_all_that_wait_and_what_is_there_can_be_taken() {
    let limit = ConcurrencyLimit::new(4);
    let held = limit.try_acquire(3).unwrap();
    let mut callers = [2, 3].map(|permits| Caller::new(limit.acquire(permits)));
    assert!(!limit.line().is_closed());
    limit.line().close();
    assert!(limit.line().is_closed());
    let closed = Some(InFlightError::Closed);
    assert_eq!(callers.each_ref().map(Caller::woken), [1, 1]);
    assert_eq!(callers.each_mut().map(Caller::error), [closed, closed]);
    assert!(limit.acquire_blocking(1).is_ok());
    assert_eq!(limit.acquire_blocking(2).unwrap_err(), InFlightError::Closed);
    drop(held);
    assert!(limit.acquire_blocking(4).is_ok());
}

#[test]
fn a_full_line_refuses_the_newest() {
    let limit = ConcurrencyLimit::new(4);
    let held = limit.try_acquire(4).unwrap();
    limit.line().set_limits(LineLimits::new().max_waiters(2).max_permits(5));
    let full = Some(InFlightError::LineFull);
    let mut first = Caller::new(limit.acquire(3));
    assert_eq!(Caller::new(limit.acquire(3)).error(), full);
    let mut second = Caller::new(limit.acquire(1));
    assert_eq!(Caller::new(limit.acquire(1)).error(), full);
    drop(held);
    assert!(first.is_granted() && second.is_granted());
}

#[test]
fn a_full_line_evicts_the_oldest_but_not_for_a_caller_that_has_no_time() {
    let limit = ConcurrencyLimit::new(4);
    let held = limit.try_acquire(4).unwrap();
    let limits = LineLimits::new().max_permits(5).when_full(WhenLineFull::EvictOldest);
    limit.line().set_limits(limits);
    let mut callers = [3, 2].map(|permits| Caller::new(limit.acquire(permits)));
    let no_time = limit.acquire(3).timeout(std::time::Duration::ZERO).wait_blocking();
    assert_eq!(no_time.unwrap_err(), InFlightError::TimedOut);
    assert_eq!(callers.each_ref().map(Caller::woken), [0, 0]);
    let mut newest = Caller::new(limit.acquire(1));
    assert_eq!(callers[0].error(), Some(InFlightError::Evicted));
    drop(held);
    assert!(callers[1].is_granted() && newest.is_granted());
}
