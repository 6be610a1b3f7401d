//! A line that is never empty, whose timers are late: all that is earned is granted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::{Clock, ManualClock, Quota, TokenBucket, quota};

use crate::support::Caller;

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
    fn new(bucket: &'a TokenBucket<&ManualClock>, random: &mut StdRng) -> Standing<'a> {
        let permits = random.random_range(1..=LARGEST);
        Standing { caller: Caller::new(bucket, permits), permits, woken: 0 }
    }

    /// Returns the permits that it was granted.
    fn granted(&mut self) -> Option<u64> {
        self.caller.is_granted().then_some(self.permits)
    }
}

/// Lets callers wait for a while, each of which is back in line as soon as it is served. Each looks
/// up to `late_nanos` after its timer, or after it was woken. Returns the permits granted to all.
fn granted(bucket: &TokenBucket<&ManualClock>, clock: &ManualClock, late_nanos: u64) -> u64 {
    let random = &mut StdRng::seed_from_u64(late_nanos);
    let mut callers: Vec<_> = (0..40).map(|_| Standing::new(bucket, random)).collect();
    let mut alarms: BinaryHeap<_> = (0..callers.len()).map(|place| Reverse((0, place))).collect();
    let mut granted = 0;
    for _ in 0..if cfg!(miri) { 100 } else { 20_000 } {
        let Reverse((at_nanos, place)) = alarms.pop().unwrap();
        clock.set_nanos(at_nanos.max(clock.now_nanos()));
        while let Some(permits) = callers[place].granted() {
            granted += permits;
            callers[place] = Standing::new(bucket, random);
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
        let granted = granted(&bucket, &clock, late * NANOS);
        let earned = BURST + clock.now_nanos() / NANOS;
        assert!(granted <= earned);
        // The first in line waits for the rest, and nothing else is left.
        assert!(granted + LARGEST > earned, "{granted} of {earned} are granted, {late} ms late");
    }
}
