//! Models of reservations that stand in line. What is checked, over every interleaving: each is charged
//! once, or was never there if it is cancelled; nobody overtakes it; and the permits used until its
//! instant are no more than there were.

use std::pin::pin;
use std::task::Poll;

use sluicegate::wait::Reserve;
use sluicegate::{FixedWindow, Limiter, Quota, Wait, quota, rate};
use sluicegate_loom_tests::line::{acquire, poll, poll_again};
use sluicegate_loom_tests::{Arc, Bucket, SECOND, TestClock, bucket_with, check, race};

const ONE: Quota = quota!(1 / second, burst 1, max_debt 4);
const FOUR: Quota = quota!(1 / second, burst 4, max_debt 4);

/// A bucket that is empty. On real threads, the calling one may have run ahead in the race before.
fn empty(quota: Quota) -> Arc<Bucket> {
    TestClock::run_ahead(0);
    bucket_with(0, quota)
}

/// Stands in line for a permit, reserves one behind that, and asks again after a second. Returns the second
/// for which it is reserved, and whether the other one was granted.
fn stand_and_reserve(limiter: &(impl Wait + Reserve)) -> (u64, bool) {
    let mut caller = pin!(acquire(limiter, 1));
    let first = poll(&mut caller);
    let told = limiter.reserve(1).unwrap().at_nanos() / SECOND;
    TestClock::run_ahead(SECOND);
    (told, matches!(poll_again(&mut caller, first), Poll::Ready(Ok(_))))
}

#[test]
fn nobody_overtakes_a_reservation_in_line() {
    check(2, || {
        let bucket = empty(ONE);
        let [(told, waited), (_, tried)] = race(&bucket, [true, false], |bucket, reserves| {
            if reserves {
                return stand_and_reserve(bucket);
            }
            // As of when the other one has the first, and this one may be used.
            TestClock::run_ahead(2 * SECOND);
            (0, bucket.try_acquire(1).is_ok())
        });
        assert_eq!(bucket.line().waiters(), 0);
        let used = 1 + u64::from(waited) + u64::from(tried);
        TestClock::run_ahead(told * SECOND);
        let left = u64::from(bucket.try_acquire(1).is_ok());
        assert!(used + left <= told, "{used} used and {left} left of {told}");
        TestClock::run_ahead((told + 1) * SECOND);
        assert!(bucket.try_acquire(1).is_ok(), "the gate is open, and nothing is owed");
        TestClock::run_ahead(0);
    });
}

#[test]
fn a_reservation_in_line_is_charged_beside_a_force() {
    check(3, || {
        let bucket = empty(FOUR);
        race(&bucket, [true, false], |bucket, reserves| {
            if reserves {
                let mut caller = pin!(acquire(bucket, 1));
                assert!(poll(&mut caller).is_pending());
                drop(bucket.reserve(1).unwrap());
            } else {
                bucket.force(1).unwrap();
            }
        });
        // The caller has left.
        assert_eq!((bucket.line().waiters(), bucket.peek(0).unwrap().balance()), (0, -2));
    });
}

#[test]
fn a_reservation_in_line_is_cancelled_or_charged() {
    check(3, || {
        let bucket = empty(FOUR);
        let [taken, _] = race(&bucket, [true, false], |bucket, reserves| {
            if !reserves {
                TestClock::run_ahead(SECOND);
                let _settles = bucket.peek(1);
                return 0;
            }
            let mut caller = pin!(acquire(bucket, 1));
            let first = poll(&mut caller);
            let is_back = bucket.reserve(1).unwrap().cancel();
            TestClock::run_ahead(SECOND);
            let waited = poll_again(&mut caller, first).is_ready();
            i64::from(waited) + i64::from(!is_back)
        });
        TestClock::run_ahead(SECOND);
        let balance = bucket.peek(0).unwrap().balance();
        TestClock::run_ahead(0);
        assert_eq!((bucket.line().waiters(), balance), (0, 1 - taken));
    });
}

#[test]
fn a_window_keeps_what_was_told_to_a_reservation_in_line() {
    check(3, || {
        TestClock::run_ahead(0);
        let window = FixedWindow::with_clock(rate!(1 / second), TestClock::new()).unwrap();
        let window = Arc::new(window.with_reservations(std::time::Duration::from_secs(9)));
        window.try_acquire(1).unwrap();
        let [(told, waited), (_, tried)] = race(&window, [true, false], |window, reserves| {
            if reserves {
                return stand_and_reserve(window);
            }
            TestClock::run_ahead(SECOND);
            (0, window.try_acquire(1).is_ok())
        });
        assert!(!(waited && tried), "the next window has one permit");
        assert_eq!(window.line().waiters(), 0);
        for second in 1..=told + 1 {
            TestClock::run_ahead(second * SECOND);
            let is_left = window.try_acquire(1).is_ok();
            assert!(!is_left || second > told, "{second} is no later than {told}");
            assert!(is_left || second <= told);
        }
        TestClock::run_ahead(0);
    });
}
