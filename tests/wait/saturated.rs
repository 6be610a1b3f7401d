//! A line that is never empty, whose timers are late: all that is earned is granted, and windows are
//! used up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::thread;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::clock::MonotonicClock;
use sluicegate::wait::Queued;
use sluicegate::{
    Clock, FixedWindow, ManualClock, Quota, Rate, SlidingLog, SlidingWindow, TokenBucket, Wait,
    quota, rate,
};

use super::support::Caller;

const BURST: u64 = 50;
const LARGEST: u64 = 10;
const PER_SECOND: u64 = 1_000;
const QUOTA: Quota = quota!(1_000 / second, burst 50);
const NANOS: u64 = 1_000_000_000 / PER_SECOND;

/// A caller and its permits, and how often it had been woken when it was last looked at.
struct Standing<'a> {
    caller: Caller<'a>,
    permits: u64,
    woken: usize,
}

impl<'a> Standing<'a> {
    fn new(limiter: &'a impl Wait, largest: u64, random: &mut StdRng) -> Standing<'a> {
        let permits = random.random_range(1..=largest);
        Standing { caller: Caller::new(limiter, permits), permits, woken: 0 }
    }

    /// Returns the permits that it was granted.
    fn granted(&mut self) -> Option<u64> {
        self.caller.is_granted().then_some(self.permits)
    }
}

/// Lets callers of up to `largest` permits wait for a while, each of which is back in line as soon as it
/// is served. Each looks up to `late_nanos` after its timer, or after it was woken. Returns the
/// permits granted to all.
fn granted(limiter: &impl Wait, clock: &ManualClock, largest: u64, late_nanos: u64) -> u64 {
    let random = &mut StdRng::seed_from_u64(late_nanos);
    let mut callers: Vec<_> = (0..40).map(|_| Standing::new(limiter, largest, random)).collect();
    let mut alarms: BinaryHeap<_> = (0..callers.len()).map(|place| Reverse((0, place))).collect();
    let mut granted = 0;
    for _ in 0..if cfg!(miri) { 100 } else { 20_000 } {
        let Reverse((at_nanos, place)) = alarms.pop().unwrap();
        clock.set_nanos(at_nanos.max(clock.now_nanos()));
        while let Some(permits) = callers[place].granted() {
            granted += permits;
            callers[place] = Standing::new(limiter, largest, random);
        }
        let sleep = callers[place].caller.sleeps_for().as_nanos() as u64;
        let late = random.random_range(0..=late_nanos);
        alarms.push(Reverse((clock.now_nanos() + sleep + late, place)));
        for (place, standing) in callers.iter_mut().enumerate() {
            if standing.caller.woken() > standing.woken {
                standing.woken = standing.caller.woken();
                let late = random.random_range(0..=late_nanos);
                alarms.push(Reverse((clock.now_nanos() + late, place)));
            }
        }
    }
    // And those that do not know of it yet.
    granted + callers.iter_mut().filter_map(Standing::granted).sum::<u64>()
}

#[test]
fn all_that_is_earned_is_granted_if_timers_are_later_by_less_than_a_burst() {
    for late in [0, 1, 10, BURST - LARGEST - 1] {
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(QUOTA, &clock);
        let granted = granted(&bucket, &clock, LARGEST, late * NANOS);
        let earned = BURST + clock.now_nanos() / NANOS;
        assert!(granted <= earned);
        // The first in line waits for the rest, and nothing else is left.
        assert!(granted + LARGEST > earned, "{granted} of {earned} are granted, {late} ms late");
    }
}

/// Asserts that as much was granted as the windows hold that have passed, but for a thousandth.
fn assert_used_up(limiter: &impl Wait, clock: &ManualClock, rate: Rate, largest: u64, late: u64) {
    let granted = granted(limiter, clock, largest, late);
    let windows = u128::from(clock.now_nanos()) / rate.period().as_nanos();
    let limit = u128::from(rate.permits());
    assert!(cfg!(miri) || windows >= 10);
    // The windows that have passed are used up, and of the present one nothing need be.
    let least = limit * windows * 999 / 1_000;
    let granted = u128::from(granted);
    assert!(granted >= least && granted <= limit * (windows + 1), "{granted} in {windows} windows");
}

#[test]
fn fixed_windows_are_used_up_if_timers_are_later_by_less_than_a_window() {
    // A window may be left with less than the next one in line wants.
    for (rate, largest) in [(rate!(50 / 50 ms), 1), (rate!(10_000 / 50 ms), 10)] {
        for late in [0, 1_000_000, 40_000_000] {
            let clock = ManualClock::new();
            let window = FixedWindow::with_clock(rate, &clock).unwrap();
            assert_used_up(&window, &clock, rate, largest, late);
        }
    }
}

/// It counts a slot more than its window, so it is slower than its rate by the part that a slot is of
/// its window; and so it is by the part that a timer is late, as it counts a grant from when it is
/// made.
#[test]
fn sliding_windows_are_used_up_but_for_a_slot_and_the_time_by_which_timers_are_late() {
    let rate = rate!(50 / 50 ms);
    for late in [0, 10_000] {
        let clock = ManualClock::new();
        let window = SlidingWindow::with_slots(rate, 2_000, &clock).unwrap();
        assert_used_up(&window, &clock, rate, 1, late);
    }
}

#[test]
fn a_log_behind_a_line_is_used_up_but_for_the_time_by_which_timers_are_late() {
    let rate = rate!(50 / 50 ms);
    for late in [0, 10_000] {
        let clock = ManualClock::new();
        let log = Queued::with_clock(SlidingLog::with_clock(rate, &clock).unwrap(), &clock);
        assert_used_up(&log, &clock, rate, 1, late);
    }
}

/// The bucket holds what is earned in ten seconds, so no thread is so late that anything is lost.
#[test]
fn all_that_is_earned_is_granted_to_threads_or_is_there() {
    const EACH: u64 = if cfg!(miri) { 20 } else { 1_500 };
    let clock = MonotonicClock::new();
    let quota = quota!(100_000 / second, burst 1_000_000);
    let began = clock.now_nanos();
    let bucket = TokenBucket::with_clock(quota, clock).starting_with(0).unwrap();
    let built = bucket.clock().now_nanos();
    let granted: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let mut random = StdRng::seed_from_u64(thread);
                let bucket = &bucket;
                let mut acquire = move || {
                    bucket.acquire_blocking(random.random_range(1..=LARGEST)).unwrap().permits()
                };
                scope.spawn(move || (0..EACH).map(|_| acquire()).sum::<u64>())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let before = bucket.clock().now_nanos();
    let all = granted + bucket.peek(0).unwrap().remaining();
    let after = bucket.clock().now_nanos();
    let earned = |nanos: u64| nanos / 10_000;
    assert!(all >= earned(before - built) && all <= earned(after - began) + 1, "{all}");
}
