//! Real threads on one limiter. What each was admitted is recorded with the very
//! reading of the clock that decided it, and then every window is checked. What
//! is checked:
//!
//! * no window of the clock holds more than the burst and what was earned in it,
//!   whatever mixture of verbs took it, on a clock that moves by hand, on the
//!   processor's, and on one that differs from thread to thread, stops and goes
//!   back;
//! * while the clock stands, the threads get exactly the burst between them;
//! * a change of quota neither adds tokens nor lets the old and the new be mixed,
//!   even if the threads that change it have clocks that differ;
//! * each reset, restore and healing is worth one burst at most.
//!
//! Under Miri and `ThreadSanitizer` the same tests run, under Miri for a few turns.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::Carry;
use sluicegate::*;

use crate::support::faults::Skewed;
use crate::support::history::{History, Log, Noted};

const THREADS: u64 = if cfg!(miri) { 2 } else { 4 };

/// Number of turns of each thread.
const TURNS: u64 = if cfg!(miri) {
    25
} else if cfg!(debug_assertions) {
    40_000
} else {
    400_000
};

const SECOND: u64 = 1_000_000_000;

/// The time by which a clock goes back, and on again.
const JUMP: Duration = Duration::from_millis(300);

/// Has `THREADS` threads do `each` turn, with random numbers of their own.
fn race(each: impl Fn(u64, &mut SmallRng, &mut Log) + Sync) -> History {
    let history = History::default();
    thread::scope(|scope| {
        for index in 0..THREADS {
            let (each, history) = (&each, &history);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(index);
                let mut log = Log::default();
                for _ in 0..TURNS {
                    each(index, &mut random, &mut log);
                }
                history.add(log);
            });
        }
    });
    history
}

/// Any verb that takes permits, by any thread.
fn take<C: Clock>(bucket: &TokenBucket<C>, random: &mut SmallRng, log: &mut Log) {
    let permits = random.random_range(1..=6);
    log.note(match random.random_range(0..8) {
        0 => Ok(bucket.drain()),
        1 | 2 => bucket.try_acquire_up_to(permits),
        3 => bucket.try_acquire(1 << 40),
        _ => bucket.try_acquire(permits),
    });
    // A look takes nothing.
    let _ = bucket.peek(permits);
}

fn quotas() -> [Quota; 5] {
    [
        quota!(1_000 / second, burst 20),
        quota!(3 / 2 ms, burst 7),
        quota!(1 / us, burst 1),
        quota!(10 / ms).with_refill(Refill::Interval),
        quota!(2_147_483_648 / second, burst 1_000),
    ]
}

#[test]
fn threads_on_a_standing_clock_get_exactly_the_burst() {
    for quota in quotas() {
        let bucket = TokenBucket::with_clock(quota, ManualClock::at(SECOND));
        let history = race(|_, _, log| {
            log.note(bucket.try_acquire(1));
        });
        assert_eq!(history.total(), quota.burst().min(THREADS * TURNS));
    }
}

#[test]
fn no_window_of_a_moving_clock_holds_more_than_burst_and_rate() {
    for quota in quotas() {
        let clock = Noted(ManualClock::at(SECOND));
        let bucket = TokenBucket::with_clock(quota, &clock);
        let history = race(|index, random, log| {
            if index == 0 {
                clock.0.advance_nanos(random.random_range(0..20_000));
            }
            take(&bucket, random, log);
        });
        history.assert_bounded(quota, quota.burst(), SECOND);
        assert_eq!(bucket.healed(), 0);
    }
}

#[test]
#[cfg(feature = "quanta")]
#[cfg_attr(miri, ignore = "Miri has no processor counter")]
fn no_window_of_the_processors_clock_holds_more_than_burst_and_rate() {
    for quota in quotas() {
        let clock = Noted(sluicegate::clock::QuantaClock::new());
        let bucket = TokenBucket::with_clock(quota, &clock);
        // The limiter's origin, for steps that are counted from it.
        let origin_nanos = crate::support::history::last_reading();
        let history = race(|_, random, log| take(&bucket, random, log));
        history.assert_bounded(quota, quota.burst(), origin_nanos);
        assert_eq!(bucket.healed(), 0);
    }
}

#[test]
fn forced_permits_stay_within_the_debt() {
    for quota in quotas() {
        let quota = quota.with_max_debt(9).unwrap();
        let clock = Noted(ManualClock::at(SECOND));
        let bucket = TokenBucket::with_clock(quota, &clock);
        let history = race(|index, random, log| {
            if index == 0 {
                clock.0.advance_nanos(random.random_range(0..20_000));
            }
            if random.random_bool(0.5) {
                log.note(bucket.force(random.random_range(1..=12)));
            } else {
                take(&bucket, random, log);
            }
        });
        history.assert_bounded(quota, quota.burst() + 9, SECOND);
    }
}

#[test]
fn no_window_holds_more_although_every_threads_clock_is_another_and_goes_back() {
    for quota in quotas() {
        let clock = Noted(Skewed(ManualClock::at(10 * SECOND)));
        let bucket = TokenBucket::with_clock(quota, &clock);
        let went_back = AtomicBool::new(false);
        let history = race(|index, random, log| {
            // 0.6 s between the first and the last thread, and 0.3 s to and fro:
            // still less than a second.
            Skewed::skew_this_thread(index as i64 * 200_000_000 - 300_000_000);
            let manual = &clock.0.0;
            if index == 0 {
                match random.random_range(0..1_000) {
                    0 if went_back.fetch_xor(true, Relaxed) => manual.advance(JUMP),
                    0 => manual.rewind(JUMP),
                    1..500 => {} // stands still
                    _ => manual.advance_nanos(random.random_range(0..20_000)),
                }
            }
            take(&bucket, random, log);
        });
        // Readings before the origin count as the origin.
        history.assert_bounded(quota, quota.burst(), 10 * SECOND);
        assert_eq!(bucket.healed(), 0);
    }
}

#[test]
fn a_change_of_quota_adds_nothing_while_the_clock_stands() {
    let quotas = [quota!(1_000 / second, burst 20), quota!(7 / hour, burst 50)];
    for carry in [Carry::Keep, Carry::Scale] {
        let bucket = TokenBucket::with_clock(quotas[0], Noted(ManualClock::at(SECOND)));
        let history = race(|index, random, log| match index {
            0 => bucket.reconfigure(quotas[random.random_range(0..2)], carry),
            _ => take(&bucket, random, log),
        });
        assert!(history.total() <= 50, "{} of 50", history.total());
        assert!(carry == Carry::Scale || history.total() <= 20);
    }
}

#[test]
fn a_change_of_quota_is_never_retroactive() {
    // The highest rate and burst of them bound any mixture of the two in time,
    // but none of the two at once: the one with the burst hardly earns.
    let quotas = [quota!(1_000_000 / second, burst 3), quota!(1 / day, burst 40)];
    let most = quota!(1_000_000 / second, burst 40);
    let clock = Noted(ManualClock::at(SECOND));
    let bucket = TokenBucket::with_clock(quotas[0], &clock);
    let history = race(|index, random, log| {
        if index == 0 {
            clock.0.advance_nanos(random.random_range(0..3_000));
            bucket.reconfigure(quotas[random.random_range(0..2)], Carry::Keep);
        }
        take(&bucket, random, log);
        let limit = bucket.peek(0).unwrap().limit();
        assert!(limit == 3 || limit == 40, "the burst of neither quota: {limit}");
    });
    history.assert_bounded(most, 40, SECOND);
    assert_eq!(bucket.healed(), 0);
}

#[test]
fn changes_by_threads_whose_clocks_differ_let_no_time_be_earned_twice() {
    let quota = quota!(1_000_000 / second, burst 1_000_000);
    let clock = Noted(Skewed(ManualClock::at(10 * SECOND)));
    let bucket = TokenBucket::with_clock(quota, &clock);
    let history = race(|index, random, log| {
        Skewed::skew_this_thread(index as i64 * 200_000_000);
        if random.random_bool(0.3) {
            bucket.reconfigure(quota, Carry::Keep);
        }
        log.note(bucket.try_acquire_up_to(10_000));
    });
    // The base stands still: there is the burst, and what the threads disagree by.
    let skew = (THREADS - 1) * 200_000;
    assert!(history.total() <= 1_000_000 + skew, "{}", history.total());
}

#[test]
fn each_reset_and_each_restore_is_worth_one_burst() {
    let quota = quota!(100 / second, burst 10);
    let bucket = TokenBucket::with_clock(quota, Noted(ManualClock::at(SECOND)));
    let full = bucket.snapshot();
    let fresh = AtomicU64::new(1);
    let history = race(|_, random, log| match random.random_range(0..20) {
        0 => {
            fresh.fetch_add(1, Relaxed);
            bucket.reset();
        }
        1 => {
            fresh.fetch_add(1, Relaxed);
            bucket.restore(&full, Duration::ZERO);
        }
        _ => take(&bucket, random, log),
    });
    assert!(history.total() <= 10 * fresh.load(Relaxed));
}

#[test]
fn each_healing_is_worth_one_burst() {
    let quota = quota!(1_000 / second, burst 10);
    let clock = Noted(ManualClock::at(100 * SECOND));
    let bucket = TokenBucket::with_clock(quota, &clock);
    let forward_nanos = AtomicU64::new(0);
    let history = race(|index, random, log| {
        if index == 0 {
            if random.random_bool(0.1) {
                clock.0.rewind(Duration::from_secs(3));
            } else {
                let step_nanos = random.random_range(0..SECOND / 2);
                forward_nanos.fetch_add(step_nanos, Relaxed);
                clock.0.advance_nanos(step_nanos);
            }
        }
        take(&bucket, random, log);
    });
    let bursts = 10 * (1 + bucket.healed());
    let earned = forward_nanos.load(Relaxed) / 1_000_000 + 1;
    assert!(history.total() <= bursts + earned, "{} of {bursts} + {earned}", history.total());
}
