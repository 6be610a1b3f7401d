//! Models of callers that wait in line for a ring. What is checked, over every
//! interleaving: nobody overtakes them; one that gives up has taken nothing; and nobody sleeps for
//! ever, whose permits have come otherwise than by time.

use std::pin::pin;
use std::task::Poll;

use sluicegate::{Limiter, Rate, SlidingWindow, Wait, rate};
use sluicegate_loom_tests::line::{acquire, poll, stand_and_ask, wait};
use sluicegate_loom_tests::{Arc, SECOND, TestClock, check, race};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

type Window = SlidingWindow<TestClock>;

/// After this, what was granted at 0 counts no more: the two slots have ended.
const LATER: u64 = 2 * SECOND;

const ONE: Rate = rate!(1 / second);
const TWO: Rate = rate!(2 / second);

/// A window of `limit` in which `taken` are taken. On real threads, the calling one may have run
/// ahead in the race before.
fn fresh(limit: Rate, taken: u64) -> Arc<Window> {
    TestClock::run_ahead(0);
    let window = Window::with_clock(limit, 1, TestClock::new()).unwrap();
    window.try_acquire(taken).unwrap();
    Arc::new(window)
}

struct Overtaken {
    window: Arc<Window>,
    stands: AtomicBool,
}

/// One waits for the only permit of the next window; another one tries to take it.
#[test]
fn nobody_overtakes_a_caller_in_line_for_a_ring() {
    check(2, || {
        let shared = Overtaken { window: fresh(ONE, 1), stands: AtomicBool::new(false) };
        let [waited, tried] =
            race(&Arc::new(shared), [true, false], |Overtaken { window, stands }, waits| {
                if waits {
                    let mut caller = pin!(acquire(window, 1));
                    let _in_line = poll(&mut caller);
                    stands.store(true, Ordering::Release);
                    TestClock::run_ahead(LATER);
                    (true, matches!(poll(&mut caller), Poll::Ready(Ok(_))))
                } else {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(LATER);
                    (stands, window.try_acquire(1).is_ok())
                }
            });
        assert_ne!(waited.1, tried.1, "there is one permit");
        assert!(!tried.0 || waited.1, "overtaken");
    });
}

#[test]
fn nobody_overtakes_the_second_in_line_for_a_ring() {
    check(1, || {
        let shared = Overtaken { window: fresh(ONE, 1), stands: AtomicBool::new(false) };
        let [waited, tried] =
            race(&Arc::new(shared), [true, false], |Overtaken { window, stands }, waits| {
                if waits {
                    let mut first = pin!(acquire(window, 1));
                    let mut second = pin!(acquire(window, 1));
                    let _in_line = (poll(&mut first), poll(&mut second));
                    stands.store(true, Ordering::Release);
                    TestClock::run_ahead(LATER);
                    let _granted = poll(&mut first);
                    TestClock::run_ahead(2 * LATER);
                    (true, matches!(poll(&mut second), Poll::Ready(Ok(_))))
                } else {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(2 * LATER);
                    (stands, window.try_acquire(1).is_ok())
                }
            });
        // The second is not granted its permit if the first one was settled late.
        assert!(!tried.1 || !(tried.0 || waited.1), "overtaken");
    });
}

#[test]
fn the_next_in_line_for_a_ring_is_granted_its_permit_when_the_first_gives_up() {
    check(3, || {
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
fn a_ring_whose_line_everybody_has_left_is_open() {
    check(2, || {
        let window = fresh(TWO, 1);
        race(&window, [true, false], |window, waits| {
            if waits {
                let mut callers = [pin!(acquire(window, 2)), pin!(acquire(window, 2))];
                assert!(callers.iter_mut().all(|caller| poll(caller).is_pending()));
            } else {
                let _denied = window.try_acquire(1);
            }
        });
        let is_left = window.count() == 1;
        assert_eq!(window.try_acquire(1).is_ok(), is_left, "the gate is open");
    });
}

#[test]
fn a_reset_of_a_ring_is_seen_by_those_in_line() {
    check(3, || {
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
fn a_caller_in_line_beside_a_reset_and_a_try_shares_the_ring_with_it() {
    check(2, || {
        let window = fresh(ONE, 1);
        let granted = race(&window, [true, false], |window, waits| {
            if waits {
                return stand_and_ask(window, 0);
            }
            window.reset();
            window.try_acquire(1).is_ok()
        });
        let granted = granted.into_iter().filter(|granted| *granted).count();
        // Less if one that was granted did not ask again, while the reset went on.
        assert!(granted + usize::from(window.try_acquire(1).is_ok()) <= 1);
        TestClock::run_ahead(LATER);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_raised_limit_of_a_ring_is_seen_by_a_caller_in_line() {
    check(3, || {
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
fn a_ring_that_goes_back_goes_on_beside_a_caller_in_line() {
    check(2, || {
        let window = fresh(ONE, 0);
        window.clock().set(100 * SECOND);
        window.try_acquire(1).unwrap();
        race(&window, [true, false], |window, waits| {
            if waits {
                stand_and_ask(window, LATER);
            } else {
                window.clock().set(10 * SECOND);
                let _answer = window.try_acquire(1);
            }
        });
        TestClock::run_ahead(0);
        window.clock().set(200 * SECOND);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_grant_of_a_ring_given_back_while_others_wait_is_theirs() {
    check(3, || {
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

struct Noted {
    window: Arc<Window>,
    note: AtomicBool,
}

#[test]
fn a_caller_in_line_for_a_ring_is_seen_by_those_after_it() {
    check(1, || {
        let shared = Noted { window: fresh(TWO, 2), note: AtomicBool::new(false) };
        race(&Arc::new(shared), [true, false], |Noted { window, note }, waits| {
            if waits {
                note.store(true, Ordering::Relaxed);
                stand_and_ask(window, LATER);
                return;
            }
            TestClock::run_ahead(LATER);
            let _settles = window.peek(1);
            // None is left if the other was granted one before. (Denied if the line is locked.)
            if let Ok(grant) = window.try_acquire(1) {
                assert!(grant.remaining() > 0 || note.load(Ordering::Relaxed));
            }
        });
    });
}
