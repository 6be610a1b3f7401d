//! Threads that race for a hot key and some cold ones: each gets its burst and what it earned
//! at most, and of a burst that is not refilled hardly less.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use sluicegate::clock::MonotonicClock;
use sluicegate::keyed::HotKeys;
use sluicegate::*;

use super::bound::Ledger;
use super::chosen::Chosen;
use super::subject::{Hot, Kind, take_all, with};
use super::{MS, SECOND};

const KINDS: [Kind; 3] = [Kind::Table, Kind::Keyed, Kind::Steps];

const COLD: u64 = 15;

fn often(times: u64) -> u64 {
    if cfg!(miri) { times.div_ceil(1_000) } else { times }
}

/// The grant of a call that began and ended at these readings.
struct Granted {
    key: u64,
    from_nanos: u64,
    to_nanos: u64,
    permits: u64,
}

/// Has `threads` ask so often each, all at places of their own or at those of others, and
/// `beside` after each call; what they were granted.
fn race(
    limiter: &dyn Hot,
    clock: &(impl Clock + Sync),
    (threads, times): (usize, u64),
    beside: &(impl Fn(usize, u64) + Sync),
) -> Vec<Granted> {
    let run = |thread: usize| {
        let mut granted = Vec::new();
        for turn in 0..times {
            let mixed = (turn ^ (thread as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let key = if mixed.is_multiple_of(8) { 1 + mixed / 8 % COLD } else { 0 };
            let permits = if mixed % 64 == 1 { 1 + mixed / 64 % 40 } else { 1 };
            let place = if mixed % 512 == 2 { (mixed / 512) as usize } else { thread };
            let from_nanos = clock.now_nanos();
            if let Ok(grant) = limiter.ask_at(place, key, permits) {
                let to_nanos = clock.now_nanos();
                assert_eq!(grant.permits(), permits);
                granted.push(Granted { key, from_nanos, to_nanos, permits });
            }
            beside(thread, turn);
        }
        granted
    };
    let run = &run;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|index| scope.spawn(move || run(index))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn total(granted: &[Granted], key: u64) -> u64 {
    granted.iter().filter(|one| one.key == key).map(|one| one.permits).sum()
}

/// Returns the most that `quota` earns between the readings, the first of which its steps count
/// from.
fn earned(kind: Kind, quota: Quota, origin_nanos: u64, until_nanos: u64) -> u64 {
    let period_nanos = quota.rate().period().as_nanos();
    let passed_nanos = u128::from(until_nanos - origin_nanos);
    let permits = match kind {
        Kind::Steps => passed_nanos / period_nanos * u128::from(quota.rate().permits()),
        _ => passed_nanos * u128::from(quota.rate().permits()) / period_nanos,
    };
    permits as u64
}

#[test]
fn on_a_standing_clock_threads_get_a_burst_of_each_key_between_them() {
    let quota = quota!(1 / hour, burst 60_000);
    for kind in KINDS {
        let clock = Chosen::at(SECOND);
        with(kind, quota, 4, &clock, |limiter| {
            let granted = race(limiter, &clock, (4, often(30_000)), &|_, _| ());
            assert!(cfg!(miri) || limiter.has_seat(0), "{kind:?}");
            for key in 0..=COLD {
                let all = total(&granted, key) + limiter.drain(key);
                let all = all + take_all(limiter, &[0, 1, 2, 3], key);
                assert!(all <= 60_000, "{kind:?} {key}: {all}");
                // Lost is what was passed over, and what was in a seat that another key got.
                assert!(cfg!(miri) || key > 0 || all >= 45_000, "{kind:?} {all}");
            }
        });
    }
}

#[test]
fn on_a_clock_that_goes_on_by_hand_no_key_gets_more_than_its_bound_in_any_span() {
    let quota = quota!(1_000_000 / second, burst 1_000);
    for kind in KINDS {
        let clock = Chosen::at(SECOND);
        with(kind, quota, 4, &clock, |limiter| {
            let beside = |thread: usize, turn: u64| match (thread, turn % 5_000) {
                // Long enough for some to be full again, now and then.
                (0, 4_999) => clock.pass(2 * MS),
                (0, _) => clock.pass(700),
                _ => {}
            };
            let granted = race(limiter, &clock, (3, often(50_000)), &beside);
            assert!(cfg!(miri) || limiter.has_seat(0), "{kind:?}");
            for key in 0..=COLD {
                let most = 1_000 + earned(kind, quota, SECOND, clock.next());
                assert!(total(&granted, key) <= most, "{kind:?} {key}");
            }
            // Calls that began and ended at one reading are certain to be of it.
            let mut ledger = Ledger::new(kind, quota, SECOND);
            let certain = granted.iter().filter(|one| one.from_nanos == one.to_nanos);
            let mut count = 0;
            for one in certain {
                ledger.add(one.key, one.to_nanos, one.permits);
                count += 1;
            }
            assert!(cfg!(miri) || count > 10_000, "{kind:?} {count} of {}", granted.len());
            ledger.check_all().unwrap();
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "nothing would be earned between two of Miri's steps")]
fn on_a_clock_that_goes_on_by_itself_no_key_gets_more_than_its_burst_and_the_rate() {
    for quota in [quota!(1_000_000 / second, burst 2_000), quota!(1_000 / second, burst 1_000)] {
        for kind in KINDS {
            let clock = MonotonicClock::new();
            let origin_nanos = clock.now_nanos();
            with(kind, quota, 2, &clock, |limiter| {
                let granted = race(limiter, &clock, (3, 60_000), &|_, _| ());
                let until_nanos = clock.now_nanos();
                assert!(limiter.has_seat(0), "{kind:?}");
                // A step may come just after the first reading.
                let more = earned(kind, quota, origin_nanos, until_nanos);
                let more = if kind == Kind::Steps { more + quota.rate().permits() } else { more };
                for key in 0..=COLD {
                    let all = total(&granted, key);
                    assert!(all <= quota.burst() + more, "{kind:?} {key}: {all}");
                }
                assert!(total(&granted, 0) >= 875, "{kind:?}");
            });
        }
    }
}

#[test]
fn each_reset_is_worth_one_burst_and_nothing_else() {
    let quota = quota!(1_000 / second, burst 500);
    for kind in KINDS {
        let clock = Chosen::at(SECOND);
        with(kind, quota, 4, &clock, |limiter| {
            let resets = AtomicU64::new(0);
            let is_over = AtomicBool::new(false);
            let granted = thread::scope(|scope| {
                let resetting = scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        if resets.load(Relaxed).is_multiple_of(2) {
                            limiter.reset_key(0);
                        } else {
                            limiter.remove(0);
                        }
                        // Counted when its end is fixed, so that a caller that then lets time
                        // pass has let enough pass.
                        let then_nanos = clock.next() + 2 * MS;
                        resets.fetch_add(1, Relaxed);
                        while clock.next() < then_nanos && !is_over.load(Relaxed) {
                            thread::yield_now();
                        }
                    }
                });
                // However seldom the resetting thread gets to run: one reset at least is done
                // between two of these, and the other one after it has begun.
                let wait_for_resets = || {
                    for _ in 0..2 {
                        let seen = resets.load(Relaxed);
                        clock.pass(4 * MS);
                        while resets.load(Relaxed) == seen {
                            thread::yield_now();
                        }
                    }
                };
                let beside = |thread: usize, turn: u64| {
                    if thread == 0 {
                        clock.pass(20_000);
                        if turn % 4_000 == 3_999 {
                            wait_for_resets();
                        }
                    }
                };
                let granted = race(limiter, &clock, (3, often(60_000)), &beside);
                is_over.store(true, Relaxed);
                resetting.join().unwrap();
                granted
            });
            let resets = resets.load(Relaxed);
            let earned = earned(kind, quota, SECOND, clock.next());
            let all = total(&granted, 0);
            assert!(all <= (resets + 1) * 500 + earned, "{kind:?} {all} with {resets} resets");
            assert!(cfg!(miri) || resets > 10 && all > 10 * 437, "{kind:?} {all} {resets}");
            for key in 1..=COLD {
                assert!(total(&granted, key) <= 500 + earned, "{kind:?} {key}");
            }
            // And when all is quiet, a burst, with nothing of what was prepaid before.
            limiter.reset_key(0);
            let after = take_all(limiter, &[0, 1, 2, 3], 0);
            assert!((437..=500).contains(&after), "{kind:?} {after}");
        });
    }
}

#[test]
fn threads_sit_at_the_places_of_their_numbers() {
    let table = KeyTable::<u64>::with_memory(quota!(1 / hour, burst 100_000), 1_024).unwrap();
    let limiter = HotKeys::with_places(table, 4).unwrap();
    let granted: u64 = thread::scope(|scope| {
        let run = || (0..often(100_000)).filter(|_| limiter.try_acquire(&7, 1).is_ok()).count();
        let threads = [0; 3].map(|_| scope.spawn(run));
        threads.into_iter().map(|thread| thread.join().unwrap() as u64).sum()
    });
    assert!(limiter.is_hot(&7));
    assert!(granted <= 100_000);
    assert!(cfg!(miri) || granted >= 87_000, "{granted}");
}
