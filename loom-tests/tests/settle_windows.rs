//! Models of the settlement of windows of one word. What is checked, over every interleaving:
//!
//! * what is given back is taken once, nothing else is, and the window counts what is kept;
//! * what was taken before a reset, or before the clock was set back, is not given back after it,
//!   also if the word is the same again;
//! * callers in line are granted what comes back, and the gate is as they leave it.

use std::pin::pin;

use sluicegate::settle::Settle;
use sluicegate::window::WindowFromFirst;
use sluicegate::{FixedWindow, Limiter, Rate, SlidingCounter, Wait, rate};
use sluicegate_loom_tests::line::{acquire, poll, wait};
use sluicegate_loom_tests::settling::{Act, act};
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

type Fixed = FixedWindow<TestClock>;

const ONE: Rate = rate!(1 / second);
const TWO: Rate = rate!(2 / second);
const FOUR: Rate = rate!(4 / second);
const NOW: u64 = 10 * SECOND;

/// On real threads, the calling one may have run ahead in the race before.
fn clock() -> TestClock {
    TestClock::run_ahead(0);
    let clock = TestClock::new();
    clock.set(NOW);
    clock
}

fn fixed(limit: Rate) -> Arc<Fixed> {
    Arc::new(Fixed::with_clock(limit, clock()).unwrap())
}

/// Checks that a window of four counts what is kept, and that the rest of it is there.
fn all_is_there<L: Settle + 'static, const N: usize>(
    preemptions: usize,
    new: fn(TestClock) -> L,
    acts: [&'static [Act]; N],
) {
    check(preemptions, move || {
        let window = Arc::new(new(clock()));
        let kept: u64 = race(&window, acts, act::<L>).into_iter().sum();
        TestClock::run_ahead(0);
        let left = window.peek(0).unwrap().remaining();
        assert_eq!(left, 4_u64.saturating_sub(kept));
        assert_eq!(window.try_acquire_up_to(9).map_or(0, |grant| grant.permits()), left);
        assert!(window.try_acquire(1).is_err());
    });
}

#[test]
fn settlements_of_a_window_lose_and_mint_nothing() {
    use Act::{Parts, Settle, Take};

    let new = |clock| Fixed::with_clock(FOUR, clock).unwrap();
    all_is_there(ANY, new, [&[Settle(2, 1)], &[Take(1)]]);
    all_is_there(3, new, [&[Settle(2, 1)], &[Settle(2, 3)]]);
    all_is_there(3, new, [&[Parts(3, 0)], &[Take(2), Take(1)]]);
    all_is_there(2, new, [&[Settle(3, 0)], &[Settle(2, 4)], &[Take(2)]]);
    let sliding = |clock| SlidingCounter::with_clock(FOUR, clock).unwrap();
    all_is_there(3, sliding, [&[Settle(2, 1)], &[Settle(1, 2), Take(1)]]);
    let from_first = |clock| WindowFromFirst::with_clock(FOUR, clock).unwrap();
    all_is_there(3, from_first, [&[Settle(2, 0)], &[Settle(1, 0), Take(2)]]);
}

/// One caller's window ends while it settles, or before. What is lost was charged to that.
#[test]
fn a_settlement_leaves_the_window_after_its_own_as_it_is() {
    check(3, || {
        let window = fixed(rate!(8 / second));
        let [_, kept] = race(&window, [true, false], |window, is_early| {
            if is_early {
                let estimate = window.try_acquire_settleable(2).unwrap();
                let settled = estimate.settle(0).unwrap();
                assert_eq!(settled.given_back() + settled.lost(), 2);
                return 0;
            }
            act(window, &[Act::RunAhead(SECOND), Act::Take(2), Act::Settle(1, 2)])
        });
        TestClock::run_ahead(SECOND);
        assert_eq!((window.count(), kept), (4, 4));
    });
}

/// The grant after the reset is as large as the one before, so the word repeats.
#[test]
fn a_settlement_of_a_window_beside_a_reset_mints_nothing() {
    check(3, || {
        let window = fixed(TWO);
        let [given_back, _] = race(&window, [true, false], |window, settles| {
            if settles {
                let estimate = window.try_acquire_settleable(1).unwrap();
                return estimate.settle(0).unwrap().given_back();
            }
            window.reset();
            window.try_acquire(1).unwrap().permits()
        });
        // If it was lost, it came before the reset, or while that went on.
        assert!((1..=2 - given_back).contains(&window.count()), "{given_back} given back");
    });
}

#[test]
fn settlements_of_a_window_beside_two_resets_mint_nothing() {
    check(3, || {
        let window = fixed(FOUR);
        let [lost, _] = race(&window, [true, false], |window, settles| {
            if settles {
                return act(window, &[Act::Settle(1, 0), Act::Settle(1, 0)]);
            }
            for _ in 0..2 {
                window.reset();
                window.try_acquire(1).unwrap();
            }
            0
        });
        // The grant after the second reset, and what was lost after it.
        assert!((1..=1 + lost).contains(&window.count()), "{lost} lost");
    });
}

/// The counts are moved to an earlier window, with the estimate or without.
#[test]
fn a_settlement_of_a_window_beside_a_clock_that_is_set_back_loses_no_more_than_it_says() {
    check(3, || {
        let window = fixed(FOUR);
        let [lost, taken] = race(&window, [true, false], |window, settles| {
            if settles {
                let estimate = window.try_acquire_settleable(2).unwrap();
                return estimate.settle(1).unwrap().lost();
            }
            window.clock().set(5 * SECOND);
            window.try_acquire(1).unwrap().permits()
        });
        // Not counted any more, if the other one's clock came forward again.
        let forgotten = 1 + lost + taken - window.count();
        assert!(forgotten == 0 || forgotten == taken, "{forgotten} forgotten");
    });
}

#[test]
fn what_a_window_is_given_back_wakes_its_line() {
    check(ANY, || {
        let window = fixed(ONE);
        race(&window, [true, false], |window, waits| {
            if waits {
                wait(window, 1).unwrap();
            } else if let Ok(estimate) = window.try_acquire_settleable(1) {
                assert_eq!(estimate.settle(0).unwrap().given_back(), 1);
            }
        });
        assert_eq!((window.count(), window.line().waiters()), (1, 0));
    });
}

/// The caller in line gives up, before its turn or after it.
#[test]
fn a_settlement_of_a_window_beside_a_caller_that_leaves_its_line_leaves_it_open() {
    check(2, || {
        let window = fixed(TWO);
        let [_, lost] = race(&window, [true, false], |window, waits| {
            if waits {
                let mut caller = pin!(acquire(window, 2));
                return u64::from(poll(&mut caller).is_ready());
            }
            let Ok(estimate) = window.try_acquire_settleable(1) else { return 0 };
            let settled = estimate.settle(0).unwrap();
            settled.lost()
        });
        assert_eq!((lost, window.line().waiters()), (0, 0));
        let left = 2 - window.count();
        assert!(left == 0 || window.try_acquire(left).is_ok(), "the gate is open");
    });
}

/// To take beyond an estimate is a grant.
#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_a_window_was_charged_beyond_an_estimate_is_seen_after_the_next_grant() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    check(3, || {
        let shared = Arc::new((Fixed::with_clock(FOUR, clock()).unwrap(), Atomic::new(0)));
        race(&shared, [0, 1, 2], |(window, done), who| match who {
            0 => {
                done.store(1, Relaxed);
                window.try_acquire_settleable(0).unwrap().settle(2).unwrap();
            }
            // Passes on what it finds.
            1 => _ = window.try_acquire_settleable(1).unwrap().settle(0).unwrap(),
            _ => {
                if window.try_acquire(1).unwrap().remaining() < 2 {
                    assert_eq!(done.load(Relaxed), 1, "what was taken beyond was not seen");
                }
            }
        });
    });
}
