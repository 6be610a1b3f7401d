//! Callers that give up, wherever they stand.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight};

use super::Caller;

#[test]
fn a_caller_that_leaves_has_taken_nothing_and_those_behind_it_move_up() {
    for leaving in 0..3 {
        let limit = ConcurrencyLimit::new(4);
        let held = limit.try_acquire(3).unwrap();
        let mut callers: Vec<_> =
            [2, 1, 1].into_iter().map(|permits| Caller::new(limit.acquire(permits))).collect();
        drop(callers.remove(leaving));
        let is_granted: Vec<bool> = callers.iter_mut().map(Caller::is_granted).collect();
        // The first was in the way of the others.
        assert_eq!(is_granted, if leaving == 0 { [true, false] } else { [false, false] });
        drop(held);
        assert!(callers.iter_mut().all(Caller::is_granted));
        callers.clear();
        assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
    }
}

#[test]
fn a_line_that_everybody_has_left_is_open() {
    let limit = ConcurrencyLimit::new(4);
    let _held = limit.try_acquire(3).unwrap();
    drop([2, 3].map(|permits| Caller::new(limit.acquire(permits))));
    assert_eq!(limit.line().waiters(), 0);
    assert!(limit.try_acquire(1).is_ok());
}

#[test]
fn permits_that_were_granted_and_not_seen_come_back_exactly() {
    let limit = ConcurrencyLimit::new(4);
    for others_before in [0, 1] {
        let held = limit.try_acquire(4).unwrap();
        let unseen = Caller::new(limit.acquire(2));
        drop(held);
        assert_eq!((unseen.woken(), limit.in_flight()), (1, 2));
        // Whatever was granted since.
        let others: Vec<_> = (0..others_before).map(|_| limit.try_acquire(1).unwrap()).collect();
        let mut next = Caller::new(limit.acquire(3));
        assert!(next.is_waiting());
        drop(unseen);
        assert_eq!((next.woken(), limit.in_flight()), (1, 3 + others_before));
        assert!(next.is_granted());
        drop((next, others));
        assert_eq!(limit.in_flight(), 0);
    }
}

/// A waker that owns something of the same limit: to drop the one is to drop the other, and to wake
/// it too.
struct Owns<T>(Mutex<Option<T>>);

impl<T: Send> Wake for Owns<T> {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

#[test]
fn a_waker_may_drop_a_guard_or_another_caller_of_the_limit() {
    for drops_a_guard in [false, true] {
        for outcome in 0..4 {
            let limit: &ConcurrencyLimit = Box::leak(Box::new(ConcurrencyLimit::new(2)));
            let mut held = limit.try_acquire(2).unwrap();
            let one: InFlight<'static> = held.split(1).unwrap();
            let noop = &mut Context::from_waker(Waker::noop());
            let mut other = Box::pin(limit.acquire(2));
            let mut first = Box::pin(limit.acquire(1));
            let waker: Waker = if drops_a_guard {
                Arc::new(Owns(Mutex::new(Some(one)))).into()
            } else {
                drop(one);
                assert!(limit.try_acquire(1).is_ok());
                assert!(other.as_mut().poll(noop).is_pending());
                Arc::new(Owns(Mutex::new(Some(other)))).into()
            };
            let context = &mut Context::from_waker(&waker);
            assert!(first.as_mut().poll(context).is_pending());
            drop(waker);
            match outcome {
                0 => assert!(first.as_mut().poll(noop).is_pending() || !drops_a_guard),
                1 => drop(held),
                2 => first.set(limit.acquire(0)),
                _ => limit.line().close(),
            }
        }
    }
}

#[test]
fn a_call_whose_context_is_already_cancelled_holds_nothing() {
    let limit = ConcurrencyLimit::new(1);
    drop(limit.acquire(1));
    assert!(limit.try_acquire(1).is_ok());
}
