//! Models of callers that wait in line for a window of one word. What is checked, over every
//! interleaving: nobody overtakes them; one that gives up has taken nothing; and nobody sleeps for
//! ever, whose permits have come otherwise than by time.

use std::pin::pin;
use std::task::Poll;

use sluicegate::{FixedWindow, Limiter, Rate, SlidingCounter, Wait, rate};
use sluicegate_loom_tests::line::{acquire, poll, stand_and_ask, wait};
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

type Fixed = FixedWindow<TestClock>;

const ONE: Rate = rate!(1 / second);
const TWO: Rate = rate!(2 / second);

/// A window of `limit` in which `taken` are taken. On real threads, the calling one may have run
/// ahead in the race before.
fn fresh(limit: Rate, taken: u64) -> Arc<Fixed> {
    TestClock::run_ahead(0);
    let window = Fixed::with_clock(limit, TestClock::new()).unwrap();
    window.try_acquire(taken).unwrap();
    Arc::new(window)
}

struct Overtaken<L> {
    window: L,
    stands: AtomicBool,
}

/// One waits for the only permit of the next window; another one tries to take it.
fn nobody_overtakes<L: Wait + 'static>(new: fn(TestClock) -> L, later: u64) {
    check(ANY, move || {
        TestClock::run_ahead(0);
        let shared = Overtaken { window: new(TestClock::new()), stands: AtomicBool::new(false) };
        shared.window.try_acquire(1).unwrap();
        let [waited, tried] =
            race(&Arc::new(shared), [(true, later), (false, later)], |shared, (waits, later)| {
                let Overtaken { window, stands } = shared;
                if waits {
                    let mut caller = pin!(acquire(window, 1));
                    let _in_line = poll(&mut caller);
                    stands.store(true, Ordering::Release);
                    TestClock::run_ahead(later);
                    (true, matches!(poll(&mut caller), Poll::Ready(Ok(_))))
                } else {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(later);
                    (stands, window.try_acquire(1).is_ok())
                }
            });
        assert_ne!(waited.1, tried.1, "there is one permit");
        assert!(!tried.0 || waited.1, "overtaken");
    });
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_window() {
    nobody_overtakes(|clock| Fixed::with_clock(ONE, clock).unwrap(), SECOND);
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_counter() {
    nobody_overtakes(|clock| SlidingCounter::with_clock(ONE, clock).unwrap(), 2 * SECOND);
}

#[test]
fn nobody_overtakes_the_second_in_line_for_a_window() {
    check(2, || {
        let shared = Overtaken { window: fresh(ONE, 1), stands: AtomicBool::new(false) };
        let [waited, tried] =
            race(&Arc::new(shared), [true, false], |Overtaken { window, stands }, waits| {
                if waits {
                    let mut first = pin!(acquire(window, 1));
                    let mut second = pin!(acquire(window, 1));
                    let _in_line = (poll(&mut first), poll(&mut second));
                    stands.store(true, Ordering::Release);
                    TestClock::run_ahead(SECOND);
                    let _granted = poll(&mut first);
                    TestClock::run_ahead(2 * SECOND);
                    (true, matches!(poll(&mut second), Poll::Ready(Ok(_))))
                } else {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(2 * SECOND);
                    (stands, window.try_acquire(1).is_ok())
                }
            });
        // The second is not granted its permit if the first one was settled late.
        assert!(!tried.1 || !(tried.0 || waited.1), "overtaken");
    });
}

#[test]
fn the_next_in_line_for_a_window_is_granted_its_permit_when_the_first_gives_up() {
    check(ANY, || {
        let window = fresh(TWO, 1);
        race(&window, [2, 1], |window, permits| {
            if permits == 1 {
                wait(window, 1).unwrap();
            } else {
                let mut caller = pin!(acquire(window, 2));
                assert!(poll(&mut caller).is_pending());
            }
        });
        assert_eq!((window.count(), window.line().waiters()), (2, 0));
    });
}

#[test]
fn a_window_whose_line_everybody_has_left_is_open() {
    check(2, || {
        let window = fresh(TWO, 1);
        race(&window, [0, 1, 2], |window, part| {
            if part < 2 {
                let mut caller = pin!(acquire(window, 2));
                assert!(poll(&mut caller).is_pending());
            } else {
                let _denied = window.try_acquire(1);
            }
        });
        let is_left = window.count() == 1;
        assert_eq!(window.try_acquire(1).is_ok(), is_left, "the gate is open");
    });
}

#[test]
fn a_reset_of_a_window_is_seen_by_those_in_line() {
    check(ANY, || {
        let window = fresh(ONE, 1);
        race(&window, [true, false], |window, waits| {
            if waits {
                wait(window, 1).unwrap();
            } else {
                window.reset();
            }
        });
        assert_eq!((window.count(), window.line().waiters()), (1, 0));
    });
}

#[test]
fn a_caller_in_line_beside_a_reset_and_a_try_shares_the_window_with_it() {
    check(2, || {
        let window = fresh(ONE, 1);
        let granted = race(&window, [0, 1, 2], |window, part| match part {
            0 => stand_and_ask(window, 0),
            1 => window.try_acquire(1).is_ok(),
            _ => {
                window.reset();
                false
            }
        });
        let granted = granted.into_iter().filter(|granted| *granted).count();
        // Less if one that was granted did not ask again, while the reset went on.
        assert!(granted + usize::from(window.try_acquire(1).is_ok()) <= 1);
        TestClock::run_ahead(SECOND);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_raised_limit_is_seen_by_a_caller_in_line() {
    check(ANY, || {
        let window = fresh(ONE, 1);
        race(&window, [true, false], |window, waits| {
            if waits {
                wait(window, 1).unwrap();
            } else {
                window.reconfigure(2).unwrap();
            }
        });
        assert_eq!((window.count(), window.line().waiters()), (2, 0));
    });
}

#[test]
fn a_window_that_goes_back_is_moved_beside_a_caller_in_line() {
    check(2, || {
        let window = fresh(ONE, 0);
        window.clock().set(100 * SECOND);
        window.try_acquire(1).unwrap();
        race(&window, [0, 1, 2], |window, part| match part {
            0 => _ = stand_and_ask(window, SECOND),
            1 => window.clock().set(10 * SECOND),
            _ => _ = window.try_acquire(1),
        });
        TestClock::run_ahead(0);
        window.clock().set(200 * SECOND);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_grant_of_a_window_given_back_while_others_wait_is_theirs() {
    check(ANY, || {
        let window = fresh(ONE, 0);
        race(&window, [true, false], |window, waits| {
            if waits {
                wait(window, 1).unwrap();
            } else if let Ok(receipt) = window.try_acquire_revocable(1) {
                assert!(receipt.give_back());
            }
        });
        assert_eq!((window.count(), window.line().waiters()), (1, 0));
    });
}

/// The grant of the other one leaves the word that the grant in line had left.
#[test]
fn a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset() {
    check(3, || {
        let window = fresh(ONE, 1);
        let [_, tried] = race(&window, [true, false], |window, waits| {
            if waits {
                let mut caller = pin!(acquire(window, 1));
                let _in_line = poll(&mut caller);
                TestClock::run_ahead(SECOND);
                let _settles = window.peek(1);
                return false;
            }
            TestClock::run_ahead(SECOND);
            window.reset();
            window.try_acquire(1).is_ok()
        });
        TestClock::run_ahead(SECOND);
        let count = window.count();
        assert!(!tried || count == 1, "a grant was forgotten");
        assert_eq!(window.try_acquire(1).is_ok(), count == 0, "the gate is open");
    });
}

struct Noted {
    window: Arc<Fixed>,
    note: AtomicBool,
}

#[test]
fn a_caller_in_line_for_a_window_is_seen_by_those_after_it() {
    check(2, || {
        let shared = Noted { window: fresh(TWO, 2), note: AtomicBool::new(false) };
        race(&Arc::new(shared), [0, 1, 2], |Noted { window, note }, part| match part {
            0 => {
                note.store(true, Ordering::Relaxed);
                stand_and_ask(window, SECOND);
            }
            1 => {
                TestClock::run_ahead(SECOND);
                let _settles = window.peek(1);
            }
            _ => {
                TestClock::run_ahead(SECOND);
                // None is left if the other was granted one before. (Denied if the line is locked.)
                if let Ok(grant) = window.try_acquire(1) {
                    assert!(grant.remaining() > 0 || note.load(Ordering::Relaxed));
                }
            }
        });
    });
}
