//! Models of callers that wait in line for a limiter whose word has no gate. What is checked, over
//! every interleaving: nobody overtakes them; one that gives up has taken nothing; and nobody sleeps
//! for ever, whose permits have come by an update.

use std::pin::pin;
use std::task::Poll;

use sluicegate::{FixedWindow, Limiter, Queued, Rate, SlidingLog, Wait, rate};
use sluicegate_loom_tests::line::{acquire, poll, stand_and_ask, wait};
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

type Line<L> = Queued<L, TestClock>;
type Fixed = FixedWindow<TestClock>;

const ONE: Rate = rate!(1 / second);
const TWO: Rate = rate!(2 / second);

/// A window of `limit` in which `taken` are taken. On real threads, the calling one may have run
/// ahead in the race before.
fn fresh(limit: Rate, taken: u64) -> Line<Fixed> {
    TestClock::run_ahead(0);
    let window = Fixed::with_clock(limit, TestClock::new()).unwrap();
    window.try_acquire(taken).unwrap();
    Queued::with_clock(window, TestClock::new())
}

struct Overtaken<L> {
    line: L,
    stands: AtomicBool,
}

/// One waits for the only permit of the next second; another one tries to take it.
fn nobody_overtakes<L: Wait + 'static>(preemptions: usize, new: fn() -> L) {
    check(preemptions, move || {
        let shared = Overtaken { line: new(), stands: AtomicBool::new(false) };
        let [waited, tried] = race(&Arc::new(shared), [true, false], |shared, waits| {
            let Overtaken { line, stands } = shared;
            if waits {
                let mut caller = pin!(acquire(line, 1));
                let _in_line = poll(&mut caller);
                stands.store(true, Ordering::Release);
                TestClock::run_ahead(SECOND);
                (true, matches!(poll(&mut caller), Poll::Ready(Ok(_))))
            } else {
                let stands = stands.load(Ordering::Acquire);
                TestClock::run_ahead(SECOND);
                (stands, line.try_acquire(1).is_ok())
            }
        });
        assert_ne!(waited.1, tried.1, "there is one permit");
        assert!(!tried.0 || waited.1, "overtaken");
    });
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_queued_limiter() {
    nobody_overtakes(ANY, || fresh(ONE, 1));
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_queued_log() {
    nobody_overtakes(2, || {
        TestClock::run_ahead(0);
        let log = SlidingLog::with_clock(ONE, TestClock::new()).unwrap();
        log.try_acquire(1).unwrap();
        Queued::with_clock(log, TestClock::new())
    });
}

#[test]
fn nobody_overtakes_the_second_in_line_for_a_queued_limiter() {
    check(2, || {
        let shared = Overtaken { line: fresh(ONE, 1), stands: AtomicBool::new(false) };
        let [waited, tried] =
            race(&Arc::new(shared), [true, false], |Overtaken { line, stands }, waits| {
                if waits {
                    let mut first = pin!(acquire(line, 1));
                    let mut second = pin!(acquire(line, 1));
                    let _in_line = (poll(&mut first), poll(&mut second));
                    stands.store(true, Ordering::Release);
                    TestClock::run_ahead(SECOND);
                    let _granted = poll(&mut first);
                    TestClock::run_ahead(2 * SECOND);
                    (true, matches!(poll(&mut second), Poll::Ready(Ok(_))))
                } else {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(2 * SECOND);
                    (stands, line.try_acquire(1).is_ok())
                }
            });
        // The second is not granted its permit if the first one was settled late.
        assert!(!tried.1 || !(tried.0 || waited.1), "overtaken");
    });
}

#[test]
fn the_next_in_line_for_a_queued_limiter_is_granted_its_permit_when_the_first_gives_up() {
    check(ANY, || {
        let line = Arc::new(fresh(TWO, 1));
        race(&line, [2, 1], |line, permits| {
            if permits == 1 {
                wait(line, 1).unwrap();
            } else {
                let mut caller = pin!(acquire(line, 2));
                assert!(poll(&mut caller).is_pending());
            }
        });
        assert_eq!((line.limiter().count(), line.line().waiters()), (2, 0));
    });
}

#[test]
fn a_queued_limiter_whose_line_everybody_has_left_is_open() {
    check(2, || {
        let line = Arc::new(fresh(TWO, 1));
        race(&line, [true, false], |line, waits| {
            if waits {
                let mut callers = [pin!(acquire(line, 2)), pin!(acquire(line, 2))];
                assert!(callers.iter_mut().all(|caller| poll(caller).is_pending()));
            } else {
                let _denied = line.try_acquire(1);
            }
        });
        let is_left = line.limiter().count() == 1;
        assert_eq!(line.try_acquire(1).is_ok(), is_left, "the gate is open");
    });
}

#[test]
fn an_update_of_a_queued_limiter_is_seen_by_a_caller_that_comes_to_stand() {
    check(ANY, || {
        let line = Arc::new(fresh(ONE, 1));
        race(&line, [true, false], |line, waits| {
            if waits {
                wait(line, 1).unwrap();
            } else {
                line.update(|window| window.reconfigure(2)).unwrap();
            }
        });
        assert_eq!((line.limiter().count(), line.line().waiters()), (2, 0));
    });
}

#[test]
fn a_receipt_given_back_in_an_update_is_for_those_in_line() {
    check(ANY, || {
        let line = Arc::new(fresh(ONE, 0));
        race(&line, [true, false], |line, waits| {
            if waits {
                wait(line, 1).unwrap();
            } else if let Ok(receipt) = line.try_acquire_revocable(1) {
                assert!(line.update(|_| receipt.give_back()));
            }
        });
        assert_eq!((line.limiter().count(), line.line().waiters()), (1, 0));
    });
}

#[test]
fn a_caller_in_line_beside_a_reset_and_a_try_shares_a_queued_limiter_with_it() {
    check(2, || {
        let line = Arc::new(fresh(ONE, 1));
        let granted = race(&line, [true, false], |line, waits| {
            if waits {
                return stand_and_ask(line, 0);
            }
            line.reset();
            line.try_acquire(1).is_ok()
        });
        let granted = granted.into_iter().filter(|granted| *granted).count();
        // Less if one that was granted did not ask again: its permit stays spent.
        assert!(granted + usize::from(line.try_acquire(1).is_ok()) <= 1);
        TestClock::run_ahead(SECOND);
        assert!(line.try_acquire(1).is_ok(), "the gate is open");
    });
}
