//! First come, first served, as soon as the permits are back.

use std::sync::Arc;

use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};

use super::Caller;

#[test]
fn callers_are_granted_permits_in_order_whatever_they_ask_for() {
    let limit = ConcurrencyLimit::new(4);
    let mut held: Vec<_> = (0..4).map(|_| limit.try_acquire(1).unwrap()).collect();
    let mut callers = [2, 4, 1].map(|permits| Caller::new(limit.acquire(permits)));
    assert_eq!((limit.line().waiters(), limit.line().permits()), (3, 7));
    let mut granted = Vec::new();
    for _ in 0..4 {
        held.pop();
        // The last one asks first.
        granted.push([2, 1, 0].map(|index| callers[index].is_granted()));
    }
    let first = [false, false, true];
    assert_eq!(granted, [[false; 3], first, first, first]);
    let [first, mut second, mut third] = callers;
    drop(first.into_guard());
    assert!(second.is_granted() && third.is_waiting());
    drop(second.into_guard());
    assert!(third.is_granted());
    drop(third.into_guard());
    assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
}

#[test]
fn nobody_overtakes_a_caller_in_line() {
    let limit = Arc::new(ConcurrencyLimit::new(4));
    let held = limit.try_acquire(2).unwrap();
    let mut large = Caller::new(limit.acquire(3));
    assert!(large.is_waiting());
    for permits in 1..=2 {
        let denied = limit.try_acquire(permits).unwrap_err();
        assert!(denied.others_wait() && !denied.is_too_large());
        assert_eq!(denied.available(), 2);
        assert_eq!(
            denied.to_string(),
            "2 of 4 permits are in flight, and others wait for the next"
        );
        assert!(limit.try_acquire_owned(permits).is_err());
    }
    assert!(Caller::new(limit.acquire(1)).is_waiting());
    assert!(limit.try_acquire(5).unwrap_err().is_too_large());
    assert_eq!(limit.try_acquire(0).unwrap().permits(), 0);
    drop(held);
    assert!(large.is_granted());
    assert!(!limit.try_acquire(2).unwrap_err().others_wait());
    assert!(limit.try_acquire(1).is_ok());
}

#[test]
fn an_end_wakes_those_that_can_go_and_nobody_else() {
    let limit = ConcurrencyLimit::new(6);
    let mut held = limit.try_acquire(6).unwrap();
    let callers = [1, 2, 1, 3].map(|permits| Caller::new(limit.acquire(permits)));
    let woken = || callers.each_ref().map(Caller::woken);
    drop(held.split(0));
    assert_eq!(woken(), [0, 0, 0, 0]);
    drop(held.split(4));
    assert_eq!(woken(), [1, 1, 1, 0]);
    drop(held.split(1));
    assert_eq!(woken(), [1, 1, 1, 0]);
    drop(held);
    assert_eq!((woken(), limit.in_flight()), ([1, 1, 1, 0], 4));
    let [first, others @ ..] = callers;
    drop(first);
    assert_eq!(others.each_ref().map(Caller::woken), [1, 1, 1]);
    assert_eq!((limit.in_flight(), limit.line().waiters()), (6, 0));
}

#[test]
fn a_request_that_fits_does_not_wait() {
    let limit = ConcurrencyLimit::new(4);
    let mut caller = Caller::new(limit.acquire(4));
    assert!(caller.is_granted());
    assert_eq!(caller.into_guard().permits(), 4);
    assert_eq!(limit.acquire_blocking(0).unwrap().permits(), 0);
    assert!(limit.acquire_blocking(4).is_ok() && limit.in_flight() == 0);
}

#[test]
fn a_caller_that_asks_again_after_its_answer_asks_anew() {
    let limit = ConcurrencyLimit::new(1);
    let mut caller = Caller::new(limit.acquire(1));
    assert!(caller.is_granted());
    let first = caller.answer.take();
    assert!(caller.is_waiting());
    drop(first);
    assert!(caller.is_granted());
}

#[test]
fn nobody_waits_for_more_than_the_limit() {
    let limit = ConcurrencyLimit::new(3);
    let _held = limit.try_acquire(3).unwrap();
    for permits in [4, 1 << 31, 1 << 32, u64::MAX] {
        let error = limit.acquire_blocking(permits).unwrap_err();
        assert_eq!(error, InFlightError::TooLarge { limit: 3 });
    }
    assert_eq!(limit.line().waiters(), 0);
}

#[test]
fn an_owned_guard_that_was_waited_for_keeps_its_limit_alive() {
    let limit = Arc::new(ConcurrencyLimit::new(1));
    let weak = Arc::downgrade(&limit);
    let held = limit.try_acquire_owned(1).unwrap();
    let mut caller = Caller::new(limit.acquire_owned(1));
    drop(limit);
    assert!(caller.is_waiting());
    drop(held);
    assert!(caller.is_granted());
    let guard = caller.into_guard();
    assert_eq!(weak.upgrade().unwrap().in_flight(), 1);
    drop(guard);
    assert!(weak.upgrade().is_none());
}
