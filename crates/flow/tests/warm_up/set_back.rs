//! A clock that is set back while callers sleep, and stacks of reservations that are cancelled.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::wait::Timer;
use sluicegate::{Clock, ManualClock, Rate, rate};
use sluicegate_flow::warm_up::{WarmUp, WarmUpReservation};

use crate::support::cases::cases;

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);
const HOUR_NANOS: u64 = 3_600_000_000_000;

/// A timer whose sleeps end at once: time passes, and then the clock is set back, if it still is to be.
struct SetBack<'clock> {
    clock: &'clock ManualClock,
    /// By how much, at the ends of the next sleeps.
    steps: Mutex<Vec<Duration>>,
    slept: &'clock Mutex<Vec<Duration>>,
}

impl Timer for SetBack<'_> {
    type Sleep = std::future::Ready<()>;

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.clock.advance(duration);
        if let Some(step) = self.steps.lock().unwrap().pop() {
            self.clock.rewind(step);
        }
        self.slept.lock().unwrap().push(duration);
        std::future::ready(())
    }
}

fn limiter(rate: Rate, clock: &ManualClock) -> WarmUp<&ManualClock> {
    WarmUp::with_clock(rate, 4 * SECOND, clock).unwrap()
}

fn now_or_never<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it sleeps"),
    }
}

#[test]
fn a_caller_that_sleeps_while_the_clock_is_set_back_is_not_stranded() {
    let clock = ManualClock::at(10 * HOUR_NANOS);
    let limiter = limiter(rate!(2 / second), &clock);
    limiter.acquire_blocking(1).unwrap();
    let slept = Mutex::new(Vec::new());
    // Nobody has looked since, and it has slept for as long as it was told.
    let steps = Mutex::new(vec![3_600 * SECOND]);
    let timer = SetBack { clock: &clock, steps, slept: &slept };
    assert_eq!(now_or_never(limiter.acquire(1, timer)), Ok(()));
    assert_eq!(*slept.lock().unwrap(), [1_375 * MILLI]);
    assert_eq!(limiter.healed(), 1);
}

#[test]
fn the_time_that_others_have_noted_is_not_slept_for_again() {
    let clock = ManualClock::at(10 * HOUR_NANOS);
    let limiter = limiter(rate!(2 / second), &clock);
    let told = [(); 4].map(|()| limiter.reserve(1).unwrap());
    let left = || told.each_ref().map(|turn| turn.wait_left().as_millis());
    assert_eq!(left(), [0, 1_375, 2_500, 3_375]);
    clock.advance(SECOND);
    assert_eq!(left(), [0, 375, 1_500, 2_375]);
    for set_back in [1_001 * MILLI, 3_600 * SECOND, 5 * 3_600 * SECOND] {
        clock.rewind(set_back);
        assert_eq!(left(), [0, 375, 1_500, 2_375]);
    }
    assert_eq!((limiter.healed(), limiter.ready_after()), (3, Duration::ZERO));
    assert_eq!(told[3].at_nanos(), 10 * HOUR_NANOS + 3_375_000_000, "as it was told");
    // They go one after the other, as before.
    clock.advance(375 * MILLI);
    assert_eq!(left(), [0, 0, 1_125, 2_000]);
    // And do so early rather than late if the clock is right again.
    clock.set_nanos(10 * HOUR_NANOS + 2_500_000_000);
    assert_eq!(left(), [0; 4]);
}

#[test]
fn a_caller_that_comes_after_the_clock_was_set_back_is_told_its_new_instant() {
    let clock = ManualClock::at(10 * HOUR_NANOS);
    let limiter = limiter(rate!(2 / second), &clock);
    let _old = limiter.reserve(8).unwrap();
    clock.set_nanos(HOUR_NANOS);
    let _first = limiter.reserve(1).unwrap();
    let second = limiter.reserve(1).unwrap();
    assert_eq!(second.at_nanos(), HOUR_NANOS + 1_375_000_000);
    assert_eq!(second.wait_left(), 1_375 * MILLI);
    assert!(second.cancel());
}

#[test]
fn a_clock_that_is_a_second_behind_is_not_waited_for_if_nothing_is_owed() {
    let clock = ManualClock::at(HOUR_NANOS);
    let limiter = limiter(rate!(2 / second), &clock);
    assert_eq!(limiter.ready_after(), Duration::ZERO);
    clock.rewind(SECOND);
    // It would sleep for a real second here, as no time passes on this clock: for ever.
    let turn = limiter.reserve(1).unwrap();
    assert_eq!((turn.ready_after(), turn.wait_left()), (Duration::ZERO, Duration::ZERO));
    turn.wait_blocking();
    // What is owed is owed from the latest reading, and the clock has to get there first.
    let turn = limiter.reserve(1).unwrap();
    assert_eq!(turn.ready_after(), 1_375 * MILLI);
    let slept = Mutex::new(Vec::new());
    let timer = SetBack { clock: &clock, steps: Mutex::default(), slept: &slept };
    now_or_never(turn.wait(timer));
    assert_eq!((slept.into_inner().unwrap(), limiter.healed()), (vec![2_375 * MILLI], 0));
    // Small steps back are waited for, once each.
    let slept = Mutex::new(Vec::new());
    let steps = Mutex::new(vec![250 * MILLI, 500 * MILLI]);
    let timer = SetBack { clock: &clock, steps, slept: &slept };
    assert_eq!(now_or_never(limiter.acquire(1, timer)), Ok(()));
    assert_eq!(slept.into_inner().unwrap(), [1_125 * MILLI, 500 * MILLI, 250 * MILLI]);
}

/// All that a limiter tells.
fn told(limiter: &WarmUp<&ManualClock>) -> (Rate, Duration, u64, u64, u64) {
    let (stored, most) = (limiter.stored(), limiter.max_stored());
    (limiter.rate(), limiter.ready_after(), stored, most, limiter.healed())
}

#[test]
fn an_equal_rate_changes_nothing_in_whatever_numbers() {
    let clock = ManualClock::at(HOUR_NANOS);
    let rates = [rate!(7 / second), rate!(7 / second), rate!(420 / minute), rate!(14 / 2 seconds)];
    let limiter = limiter(rates[0], &clock);
    let first = limiter.reserve(1).unwrap();
    // Between two nanoseconds: a change of the rate would round what is owed up.
    let second = limiter.reserve(2).unwrap();
    let (_, wait, stored, most, _) = told(&limiter);
    for rate in rates {
        limiter.set_rate(rate);
        assert_eq!(told(&limiter), (rate, wait, stored, most, 0));
    }
    assert!(second.cancel() && first.cancel(), "they can still be given back");
    assert_eq!((limiter.ready_after(), limiter.stored()), (Duration::ZERO, most));
    let first = limiter.reserve(1).unwrap();
    limiter.set_rate(rate!(8 / second));
    assert!(!first.cancel());
}

#[test]
fn a_stack_of_reservations_comes_back_newest_first_and_not_at_all_oldest_first() {
    let clock = ManualClock::at(HOUR_NANOS);
    let limiter = limiter(rate!(2 / second), &clock);
    let stack = |limiter: &WarmUp<&ManualClock>| -> Vec<Duration> {
        (1..=5).map(|_| limiter.ready_after()).collect()
    };
    let before = stack(&limiter);
    let reserved: Vec<_> = (1..=5).map(|permits| limiter.reserve(permits).unwrap()).collect();
    let waits: Vec<_> = reserved.iter().map(WarmUpReservation::ready_after).collect();
    for (turn, wait) in reserved.into_iter().zip(waits).rev() {
        assert!(turn.cancel());
        assert_eq!(limiter.ready_after(), wait, "as if it had never come");
    }
    assert_eq!((stack(&limiter), limiter.stored()), (before, limiter.max_stored()));

    let reserved: Vec<_> = (1..=5).map(|permits| limiter.reserve(permits).unwrap()).collect();
    let owed = limiter.ready_after();
    let cancelled: Vec<_> = reserved.into_iter().map(WarmUpReservation::cancel).collect();
    // Those before the newest stay taken, as those after them had been told their instants.
    assert_eq!(cancelled, [false, false, false, false, true]);
    assert!(limiter.ready_after() < owed);

    // None of a time before the clock was set back.
    let reserved: Vec<_> = (1..=3).map(|permits| limiter.reserve(permits).unwrap()).collect();
    clock.set_nanos(0);
    assert_eq!((limiter.ready_after(), limiter.healed()), (Duration::ZERO, 1));
    assert!(reserved.into_iter().rev().all(|turn| !turn.cancel()));
}

proptest! {
    #![proptest_config(cases(256))]

    /// Reservations on a stack: whatever is cancelled is exactly the newest that is left.
    #[test]
    fn what_is_cancelled_is_given_back_exactly_if_it_is_the_newest(
        permits in prop::collection::vec(1..9_u64, 1..12),
        order in prop::collection::vec(0..12_usize, 1..20),
    ) {
        let clock = ManualClock::new();
        let limiter = limiter(rate!(7 / second), &clock);
        let mut stack: Vec<_> =
            permits.iter().map(|&n| (n, Some(limiter.reserve(n).unwrap()))).collect();
        for at in order {
            let Some(turn) = stack.get_mut(at).and_then(|(_, turn)| turn.take()) else { continue };
            let is_newest = at + 1 == stack.len();
            prop_assert_eq!(turn.cancel(), is_newest);
            if is_newest {
                stack.pop();
            }
            let same = self::limiter(rate!(7 / second), &clock);
            for (permits, _) in &stack {
                let _ = same.reserve(*permits).unwrap();
            }
            prop_assert_eq!(limiter.ready_after(), same.ready_after());
            prop_assert_eq!(limiter.stored(), same.stored());
        }
    }

    /// However the clock jumps, nobody waits for longer than it was told, and a second.
    #[test]
    fn no_jump_of_the_clock_makes_a_wait_longer_by_more_than_a_second(
        permits in prop::collection::vec(1..30_u64, 1..6),
        moves in prop::collection::vec((any::<bool>(), 0..20_000_u64), 1..20),
    ) {
        let clock = ManualClock::at(HOUR_NANOS);
        let limiter = limiter(rate!(3 / second), &clock);
        let turns: Vec<_> = permits.iter().map(|&n| limiter.reserve(n).unwrap()).collect();
        for (is_back, millis) in moves {
            let nanos = millis * 1_000_000;
            let now_nanos = clock.now_nanos();
            clock.set_nanos(if is_back { now_nanos - nanos } else { now_nanos + nanos });
            let left: Vec<_> = turns.iter().map(WarmUpReservation::wait_left).collect();
            prop_assert!(left.is_sorted());
            for (turn, left) in turns.iter().zip(left) {
                prop_assert!(left <= turn.ready_after() + SECOND);
            }
        }
    }
}
