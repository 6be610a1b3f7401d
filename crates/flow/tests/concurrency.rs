//! Limits of what is in flight. What is checked:
//!
//! * any sequence of calls gives what a list of the guards gives, with the maxima among the amounts;
//! * no more is ever in flight than the limit, whatever threads do, and nothing is left when all
//!   guards have ended, panics and threads that the guards moved to included;
//! * a limit that is lowered, raised or set to nothing holds at once;
//! * the algorithms do what they are said to do, and stay in their range for any sample and option;
//! * callers that wait are granted permits in order, as soon as they are back, and lose or keep
//!   nothing when they give up;
//! * keys have a limit each, and are dropped when nothing of them is in flight, never before;
//! * an adaptive limit feeds each end to its algorithm, and none that says nothing.

mod adaptive;
mod algorithms;
mod keyed;
mod line;
mod random;
mod threads;

use std::sync::Arc;

use sluicegate::ManualClock;
use sluicegate_flow::concurrency::{Adaptive, ConcurrencyLimit, InFlight, LimitAlgorithm, Vegas};

#[test]
fn permits_come_back_when_their_guard_ends() {
    let limit = ConcurrencyLimit::new(3);
    let two = limit.try_acquire(2).unwrap();
    let one = limit.try_acquire(1).unwrap();
    assert_eq!((limit.in_flight(), limit.available()), (3, 0));
    drop(two);
    assert_eq!((limit.in_flight(), limit.available()), (1, 2));
    drop(one);
    assert_eq!((limit.in_flight(), limit.available()), (0, 3));
}

#[test]
fn a_request_is_granted_whole_or_not_at_all() {
    let limit = ConcurrencyLimit::new(5);
    let _three = limit.try_acquire(3).unwrap();
    let denied = limit.try_acquire(3).unwrap_err();
    assert_eq!((denied.permits(), denied.limit(), denied.in_flight()), (3, 5, 3));
    assert_eq!((denied.available(), denied.is_too_large()), (2, false));
    assert_eq!(limit.in_flight(), 3);
    assert_eq!(limit.try_acquire(2).unwrap().permits(), 2);
}

#[test]
fn more_than_the_limit_is_told_from_what_has_to_wait() {
    let limit = ConcurrencyLimit::new(5);
    for permits in [6, 7, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, u64::MAX] {
        let denied = limit.try_acquire(permits).unwrap_err();
        assert!(denied.is_too_large(), "{permits}");
        assert_eq!((denied.permits(), denied.available()), (permits, 5));
    }
    let _all = limit.try_acquire(5).unwrap();
    assert!(!limit.try_acquire(5).unwrap_err().is_too_large());
    assert!(limit.try_acquire(6).unwrap_err().is_too_large());
}

#[test]
fn no_permits_are_always_granted_and_change_nothing() {
    let limit = ConcurrencyLimit::new(0);
    let guard = limit.try_acquire(0).unwrap();
    assert_eq!((guard.permits(), limit.in_flight()), (0, 0));
    drop(guard);
    assert_eq!((limit.limit(), limit.in_flight()), (0, 0));
    assert!(limit.try_acquire(1).is_err());
}

#[test]
fn a_limit_above_the_largest_is_the_largest() {
    for limit in [ConcurrencyLimit::MAX, ConcurrencyLimit::MAX + 1, 1 << 32, u64::MAX] {
        let limit = ConcurrencyLimit::new(limit);
        assert_eq!(limit.limit(), ConcurrencyLimit::MAX);
        let all = limit.try_acquire(ConcurrencyLimit::MAX).unwrap();
        assert_eq!((limit.in_flight(), limit.available()), (ConcurrencyLimit::MAX, 0));
        assert!(limit.try_acquire(1).is_err());
        for next in [0, u64::MAX, 1] {
            limit.set_limit(next);
            assert_eq!(limit.limit(), next.min(ConcurrencyLimit::MAX));
            assert_eq!(limit.in_flight(), ConcurrencyLimit::MAX);
        }
        drop(all);
        assert_eq!((limit.limit(), limit.in_flight()), (1, 0));
    }
}

#[test]
fn a_limit_that_is_lowered_lets_end_what_is_in_flight() {
    let limit = ConcurrencyLimit::new(4);
    let mut guards: Vec<_> = (0..4).map(|_| limit.try_acquire(1).unwrap()).collect();
    limit.set_limit(2);
    for left in [3, 2] {
        guards.pop();
        assert_eq!((limit.in_flight(), limit.available()), (left, 0));
        assert_eq!(limit.try_acquire(1).unwrap_err().limit(), 2);
    }
    guards.pop();
    guards.push(limit.try_acquire(1).unwrap());
    assert!(limit.try_acquire(1).is_err());
    limit.set_limit(3);
    guards.push(limit.try_acquire(1).unwrap());
    limit.set_limit(0);
    assert!(limit.try_acquire(1).is_err());
    guards.clear();
    assert_eq!((limit.in_flight(), limit.limit()), (0, 0));
}

#[test]
fn parts_of_a_guard_are_as_much_as_the_whole() {
    let limit = Arc::new(ConcurrencyLimit::new(10));
    let mut whole: InFlight<'static> = limit.try_acquire_owned(7).unwrap();
    assert!(whole.split(8).is_none());
    assert!(whole.split(u64::MAX).is_none());
    let parts: Vec<_> =
        [3, 0, 4].into_iter().map(|permits| whole.split(permits).unwrap()).collect();
    assert_eq!((whole.permits(), limit.in_flight()), (0, 7));
    drop(whole);
    assert_eq!(limit.in_flight(), 7);
    for (part, left) in parts.into_iter().zip([4, 4, 0]) {
        drop(part);
        assert_eq!(limit.in_flight(), left);
    }
}

#[test]
fn an_owned_guard_keeps_its_limit_alive() {
    let limit = Arc::new(ConcurrencyLimit::new(1));
    let weak = Arc::downgrade(&limit);
    let guard = limit.try_acquire_owned(1).unwrap();
    drop(limit);
    assert_eq!(weak.upgrade().unwrap().in_flight(), 1);
    drop(guard);
    assert!(weak.upgrade().is_none());
}

#[test]
fn limits_and_guards_go_from_thread_to_thread() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let limit = ConcurrencyLimit::new(1);
    is_shared(&limit);
    is_shared(&limit.try_acquire(1));
    let algorithm: Box<dyn LimitAlgorithm + Send> = Box::new(Vegas::new());
    let adaptive = Adaptive::with_clock(algorithm, ManualClock::new());
    is_shared(&adaptive);
    is_shared(&adaptive.try_acquire(1));
}

#[test]
fn a_forgotten_guard_stays_in_flight() {
    let limit = ConcurrencyLimit::new(2);
    core::mem::forget(limit.try_acquire(1).unwrap());
    assert_eq!((limit.in_flight(), limit.available()), (1, 1));
}

#[test]
fn limits_guards_and_denials_are_shown_for_people() {
    let limit = ConcurrencyLimit::new(4);
    let guard = limit.try_acquire(3).unwrap();
    assert_eq!(format!("{limit:?}"), "ConcurrencyLimit { limit: 4, in_flight: 3 }");
    assert_eq!(format!("{guard:?}"), "InFlight { permits: 3, .. }");
    let busy = limit.try_acquire(2).unwrap_err();
    assert_eq!(busy.to_string(), "3 of 4 permits are in flight: try again when some have ended");
    let too_large = limit.try_acquire(5).unwrap_err();
    assert_eq!(too_large.to_string(), "requested 5, more than the limit of 4 in flight");
}
