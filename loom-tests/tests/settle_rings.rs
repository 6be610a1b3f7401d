//! Models of the settlement of rings, of two slots: as many as there are places, so that a rotation
//! writes over the oldest boundary that a settlement raises. What is checked, over every interleaving:
//!
//! * what is given back is taken once, nothing else is, and each slot counts what is kept of it until
//!   it leaves the window, whichever threads rotate the ring meanwhile;
//! * an answer is of one moment, before the settlement or after it;
//! * what was taken before a reset is not given back after it;
//! * callers in line are granted what comes back.

use sluicegate::{SlidingWindow, Wait, rate};
use sluicegate_loom_tests::line::wait;
use sluicegate_loom_tests::settling::{Act, act};
use sluicegate_loom_tests::{Arc, SECOND, TestClock, check, race};

type Window = SlidingWindow<TestClock>;

/// So short that threads' clocks may be some of them apart.
const SLOT: u64 = SECOND / 4;

const NOW: u64 = 100 * SLOT + SLOT / 4;

/// Four in two slots, at `NOW`. (On real threads, the calling one may have run ahead in the race before.)
fn four() -> Arc<Window> {
    TestClock::run_ahead(0);
    let clock = TestClock::new();
    clock.set(NOW);
    Arc::new(SlidingWindow::with_slots(rate!(4 / 250 ms), 1, clock).unwrap())
}

/// Checks that the window counts what is kept, in the last slot in which a thread has asked, and that the
/// rest is there.
fn all_is_there<const N: usize>(preemptions: usize, last: u64, acts: [&'static [Act]; N]) {
    check(preemptions, move || {
        let window = four();
        let kept: u64 = race(&window, acts, act::<Window>).into_iter().sum();
        TestClock::run_ahead(last * SLOT);
        assert_eq!(window.count(), kept);
        let left = 4_u64.saturating_sub(kept);
        assert_eq!(window.try_acquire_up_to(9).map_or(0, |grant| grant.permits()), left);
        assert!(window.try_acquire(1).is_err());
        // Three slots on, nothing of it counts: each boundary was written.
        TestClock::run_ahead((last + 1) * SLOT);
        _ = window.try_acquire_up_to(1);
        TestClock::run_ahead((last + 3) * SLOT);
        assert_eq!(window.try_acquire_up_to(9).unwrap().permits(), 4);
    });
}

#[test]
fn settlements_of_a_ring_lose_and_mint_nothing() {
    use Act::{Settle, Take};

    all_is_there(3, 0, [&[Settle(2, 1)], &[Take(1)]]);
    all_is_there(2, 0, [&[Settle(2, 1)], &[Settle(2, 0)]]);
    all_is_there(2, 0, [&[Settle(2, 1)], &[Settle(2, 3)]]);
    all_is_there(2, 0, [&[Settle(3, 0)], &[Take(2), Take(1)]]);
    all_is_there(1, 0, [&[Settle(3, 0)], &[Settle(2, 4)], &[Take(2)]]);
}

/// The denial that is kept was in the slot after the word's, and a settlement leaves the word as it is.
#[test]
fn a_denial_that_is_kept_is_not_told_after_permits_came_back() {
    check(1, || {
        let window = four();
        let parts: [fn(&Window) -> u64; 2] = [
            |window| {
                let estimate = window.try_acquire_settleable(3).unwrap();
                TestClock::run_ahead(SLOT);
                (0..2).for_each(|_| assert!(window.try_acquire(2).is_err()));
                assert_eq!(estimate.settle(1).unwrap().given_back(), 2);
                1 + window.try_acquire(2).unwrap().permits()
            },
            |window| window.try_acquire(1).unwrap().permits(),
        ];
        let kept: u64 = race(&window, parts, |window, part| part(window)).into_iter().sum();
        assert_eq!(window.count(), kept);
    });
}

/// One thread settles what it took in the slot of `NOW`, or what it took when the other one had
/// rotated the ring. Two slots later only what was taken in the slot before counts.
#[test]
fn a_settlement_beside_a_rotation_leaves_no_boundary_out() {
    for ahead in [1, 2] {
        check(2, move || {
            let window = four();
            let [lost, _] = race(&window, [0, ahead], |window, ahead| {
                if ahead == 0 {
                    let estimate = window.try_acquire_settleable(2).unwrap();
                    return estimate.settle(0).unwrap().lost();
                }
                TestClock::run_ahead(ahead * SLOT);
                window.try_acquire(2).unwrap().permits()
            });
            TestClock::run_ahead(ahead * SLOT);
            // Dated in either slot; what is lost had left the window.
            assert!(lost == 0 || ahead == 2, "{lost} lost");
            assert_eq!(window.count(), 2);
            TestClock::run_ahead((ahead + 1) * SLOT);
            assert_eq!(window.count(), 2);
            assert!(window.try_acquire(2).is_ok() && window.try_acquire(1).is_err());
            TestClock::run_ahead((ahead + 2) * SLOT);
            assert_eq!(window.count(), 2);
            assert!(window.try_acquire(2).is_ok() && window.try_acquire(1).is_err());
        });
    }
}

/// Both rotate the ring; one of them settles before the other one has written its boundary.
#[test]
fn a_helper_that_was_held_up_takes_nothing_back_that_was_given_back() {
    use Act::{RunAhead, Settle, Take};

    all_is_there(2, 1, [&[RunAhead(SLOT), Settle(2, 0)], &[RunAhead(SLOT), Take(1)]]);
    check(2, || {
        let window = four();
        window.try_acquire(1).unwrap();
        race(&window, [true, false], |window, settles| {
            TestClock::run_ahead(SLOT);
            if settles {
                let estimate = window.try_acquire_settleable(2).unwrap();
                assert_eq!(estimate.settle(0).unwrap().given_back(), 2);
            } else {
                window.try_acquire(1).unwrap();
            }
        });
        // The boundary between the slots counts: one is left of the second slot.
        TestClock::run_ahead(2 * SLOT);
        assert_eq!(window.count(), 1);
    });
}

/// Three are there before the settlement, and one less than that at worst.
#[test]
fn a_look_beside_a_settlement_of_a_ring_is_of_one_moment() {
    check(3, || {
        let window = four();
        window.try_acquire(1).unwrap();
        let [_, left] = race(&window, [true, false], |window, settles| {
            if settles {
                let estimate = window.try_acquire_settleable(2).unwrap();
                return estimate.settle(0).unwrap().given_back();
            }
            window.peek(0).unwrap().remaining()
        });
        assert!(left == 1 || left == 3, "{left} left");
    });
}

/// The grant after the reset is as large as the one before.
#[test]
fn a_settlement_of_a_ring_beside_a_reset_mints_nothing() {
    check(3, || {
        let window = four();
        let [given_back, _] = race(&window, [true, false], |window, settles| {
            if settles {
                let estimate = window.try_acquire_settleable(1).unwrap();
                return estimate.settle(0).unwrap().given_back();
            }
            window.reset();
            window.try_acquire(1).unwrap().permits()
        });
        // If it was lost, it came before the reset, or while that went on.
        let count = window.count();
        assert!((1..=2 - given_back).contains(&count), "{given_back} given back, {count}");
    });
}

#[test]
fn what_a_ring_is_given_back_wakes_its_line() {
    check(2, || {
        let window = four();
        window.try_acquire(3).unwrap();
        race(&window, [true, false], |window, waits| {
            if waits {
                wait(window, 1).unwrap();
            } else if let Ok(estimate) = window.try_acquire_settleable(1) {
                assert_eq!(estimate.settle(0).unwrap().given_back(), 1);
            }
        });
        assert_eq!((window.count(), window.line().waiters()), (4, 0));
    });
}

/// To take beyond an estimate is a grant.
#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_a_ring_was_charged_beyond_an_estimate_is_seen_after_the_next_grant() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    check(3, || {
        let clock = TestClock::new();
        clock.set(NOW);
        let window = SlidingWindow::with_slots(rate!(4 / 250 ms), 1, clock).unwrap();
        let shared = Arc::new((window, Atomic::new(0)));
        race(&shared, [true, false], |(window, done), is_first| {
            if is_first {
                done.store(1, Relaxed);
                window.try_acquire_settleable(0).unwrap().settle(2).unwrap();
            } else if window.try_acquire(1).unwrap().remaining() < 2 {
                assert_eq!(done.load(Relaxed), 1, "what was taken beyond was not seen");
            }
        });
    });
}
