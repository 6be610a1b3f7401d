//! Real threads on shards. A permit that is spent from a shard is spent without a reading
//! of the clock, so each thread reads it before and after a call, and where the two agree
//! the permit was admitted then.
//!
//! Under Miri the same tests run for a few turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::Carry;
use sluicegate::lease::Lease;
use sluicegate::*;

use super::sharded;
use crate::support::counted::Failing;
use crate::support::faults::Skewed;
use crate::support::history::{History, Log, Noted};

const SECOND: u64 = 1_000_000_000;

/// Numbers of threads, and of shards; 0 for as many as suit the machine.
const CROWDS: [(u64, usize); 4] = [(2, 2), (8, 2), (64, 2), (8, 0)];

/// Makes a limiter that starts with `initial` permits and has capacity for more than is ever
/// reserved. (A refill from a full root cuts off as much as another caller has reserved.)
fn beside_room<C: Clock>(initial: u64, shards: usize, clock: C) -> Sharded<C> {
    let quota = Quota::new(rate!(1_000 / second)).with_burst(5 * initial).unwrap();
    sharded(quota, shards, clock).starting_with(initial).unwrap()
}

/// Number of turns that each of `threads` takes.
fn turns(threads: u64) -> u64 {
    if cfg!(miri) { 10 } else { 32_000 / threads }
}

/// Has `threads` do `each` turn, with random numbers of their own.
fn race(threads: u64, each: impl Fn(u64, &mut SmallRng) + Sync) {
    let threads = if cfg!(miri) { 2 } else { threads };
    thread::scope(|scope| {
        for index in 0..threads {
            let each = &each;
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(index);
                for _ in 0..turns(threads) {
                    each(index, &mut random);
                }
            });
        }
    });
}

/// Takes permits in one way or another; those that were admitted in the end.
fn take<C: Clock + Sync>(limiter: &Sharded<C>, random: &mut SmallRng) -> u64 {
    let permits = random.random_range(1..=6);
    match random.random_range(0..16) {
        0 => limiter.try_acquire_up_to(permits).map_or(0, |grant| grant.permits()),
        1 => limiter.try_acquire(40 * permits).map_or(0, |grant| grant.permits()),
        2 => match limiter.lease(10 * permits) {
            Ok(mut lease) => {
                let spent = lease.left() * random.random_range(0..=2) / 2;
                assert!(lease.spend(spent));
                if random.random_bool(0.5) {
                    thread::yield_now();
                }
                spent
            }
            Err(_) => 0,
        },
        3 => match limiter.try_acquire_revocable(permits) {
            Ok(receipt) => {
                let is_back = random.random_bool(0.5) && receipt.give_back();
                if is_back { 0 } else { permits }
            }
            Err(_) => 0,
        },
        4 => {
            // A look takes nothing.
            let _ = limiter.peek(permits);
            0
        }
        5 => limiter.shard(random.random_range(0..9)).try_acquire(1).map_or(0, |_| 1),
        6 => {
            let reserve = 20 * permits;
            limiter.try_acquire_leaving(permits, reserve).map_or(0, |grant| grant.permits())
        }
        _ => limiter.try_acquire(1).map_or(0, |_| 1),
    }
}

/// Takes all that is left.
fn drain<C: Clock>(limiter: &Sharded<C>) -> u64 {
    let mut taken = 0;
    while let Ok(grant) = limiter.try_acquire_up_to(u64::MAX) {
        taken += grant.permits();
    }
    taken
}

#[test]
fn threads_on_a_standing_clock_get_the_burst_between_them_and_never_more() {
    for (threads, shards) in CROWDS {
        let bursts = [1, 30, 1_000, 20_000, 1_000_000];
        for (burst, is_full) in bursts.into_iter().flat_map(|burst| [(burst, true), (burst, false)])
        {
            let full = quota!(1 / second).with_burst(burst).unwrap();
            let limiter = if is_full {
                sharded(full, shards, ManualClock::new())
            } else {
                beside_room(burst, shards, ManualClock::new())
            };
            let admitted = AtomicU64::new(0);
            race(threads, |_, random| {
                admitted.fetch_add(take(&limiter, random), Relaxed);
            });
            let there = limiter.peek(0).unwrap().remaining();
            assert_eq!(drain(&limiter), there);
            let total = admitted.into_inner() + there;
            assert!(total <= burst, "{total} of {burst} by {threads} on {shards}");
            // A receipt or a lease of a permit that came back just then is not certain.
            assert!(is_full || total + turns(threads) >= burst, "{total} of {burst}");
        }
    }
}

#[test]
fn no_permit_is_lost_while_threads_take_and_steal_and_lease() {
    for (threads, shards) in CROWDS {
        let limiter = beside_room(20_000, shards, ManualClock::new());
        let admitted = AtomicU64::new(0);
        race(threads, |index, random| {
            let permits = match random.random_range(0..8) {
                0 => limiter.try_acquire_up_to(300).map_or(0, |grant| grant.permits()),
                1 if index % 2 == 0 => drop_half(limiter.lease(500)),
                _ => limiter.try_acquire(1).map_or(0, |_| 1),
            };
            admitted.fetch_add(permits, Relaxed);
        });
        assert_eq!(admitted.into_inner() + drain(&limiter), 20_000, "{threads} on {shards}");
    }
}

/// One thread spends by way of its shard, and moves permits by leases. What it was granted before a call began counts
/// beside what that call leaves.
#[test]
fn who_leaves_a_reserve_never_touches_it_while_others_fill_their_shards() {
    const PERMITS: u64 = 20_000;
    const RESERVE: u64 = 3_000;

    for (_, shards) in CROWDS {
        for round in 0..if cfg!(miri) { 1 } else { 20 } {
            let limiter = beside_room(PERMITS, shards, ManualClock::new());
            let leaving = |permits| {
                limiter.try_acquire_leaving(permits, RESERVE).map_or(0, |grant| grant.permits())
            };
            let spent = AtomicU64::new(0);
            let mut left = thread::scope(|scope| {
                let spender = scope.spawn(|| {
                    let random = &mut SmallRng::seed_from_u64(round);
                    for _ in 0..turns(8) {
                        let permits = match random.random_range(0..16) {
                            0 => drop_half(limiter.lease(random.random_range(1..200))),
                            _ => limiter.try_acquire(1).map_or(0, |_| 1),
                        };
                        spent.fetch_add(permits, Release);
                    }
                });
                let random = &mut SmallRng::seed_from_u64(round + 100);
                let mut left = 0;
                while !spender.is_finished() {
                    let before = spent.load(Acquire);
                    let granted = leaving(random.random_range(1..=5));
                    left += granted;
                    assert!(granted == 0 || before + left + RESERVE <= PERMITS, "{before} {left}");
                }
                left
            });
            let rest = std::iter::repeat_with(|| leaving(1)).take_while(|granted| *granted > 0);
            left += rest.sum::<u64>();
            let there = PERMITS - spent.into_inner() - left;
            assert!(there <= RESERVE, "{there} are there, and were refused");
            assert_eq!(drain(&limiter), there);
        }
    }
}

/// Spends half of a lease, if it can be given back.
fn drop_half(lease: Result<Lease<'_>, Denied>) -> u64 {
    lease.map_or(0, |mut lease| {
        let half = lease.left().div_ceil(2);
        assert!(lease.spend(half));
        half
    })
}

#[test]
fn no_span_of_a_moving_clock_holds_more_than_burst_and_rate() {
    let quotas = [
        quota!(1_000 / second, burst 20),
        quota!(1_000_000 / second, burst 5_000),
        quota!(3 / 2 ms, burst 300),
        quota!(10 / ms, burst 1_000).with_refill(Refill::Interval),
    ];
    for (threads, shards) in CROWDS {
        for quota in quotas {
            let clock = Noted(ManualClock::at(SECOND));
            let limiter = sharded(quota, shards, &clock);
            let (history, total) = (History::default(), AtomicU64::new(0));
            race(threads, |index, random| {
                if index == 0 {
                    clock.0.advance_nanos(random.random_range(0..20_000));
                }
                let before = clock.now_nanos();
                let permits = take(&limiter, random);
                total.fetch_add(permits, Relaxed);
                if clock.now_nanos() == before && permits > 0 {
                    let mut log = Log::default();
                    log.add(permits);
                    history.add(log);
                }
            });
            history.assert_bounded(quota, quota.burst(), SECOND);
            let passed = u128::from(clock.0.now_nanos() - SECOND);
            let earned =
                passed * u128::from(quota.rate().permits()) / quota.rate().period().as_nanos();
            let total = u128::from(total.into_inner());
            assert!(total <= u128::from(quota.burst()) + earned, "{total}, {earned} earned");
            assert_eq!(limiter.healed(), 0);
        }
    }
}

#[test]
fn clocks_that_are_apart_add_what_is_earned_in_between_and_no_more() {
    // A permit in a microsecond: threads are up to 70 permits apart.
    let quota = quota!(1_000_000 / second, burst 2_000);
    for (threads, shards) in CROWDS {
        let clock = Skewed(ManualClock::at(SECOND));
        let limiter = sharded(quota, shards, &clock);
        let total = AtomicU64::new(0);
        race(threads, |index, random| {
            Skewed::skew_this_thread((index % 8 * 10_000) as i64);
            if index == 0 {
                clock.0.advance_nanos(random.random_range(0..2_000));
            }
            total.fetch_add(take(&limiter, random), Relaxed);
        });
        let earned = (clock.0.now_nanos() - SECOND) / 1_000;
        let total = total.into_inner();
        assert!(total <= 2_000 + earned + 70, "{total} of 2000 + {earned}");
        assert_eq!(limiter.healed(), 0);
    }
}

#[test]
fn leases_that_are_forgotten_are_missing_and_nothing_else_is() {
    let limiter = beside_room(100_000, 2, ManualClock::new());
    let (admitted, forgotten) = (AtomicU64::new(0), AtomicU64::new(0));
    race(8, |_, random| {
        if random.random_range(0..500) == 0
            && let Ok(lease) = limiter.lease(100)
        {
            forgotten.fetch_add(lease.left(), Relaxed);
            std::mem::forget(lease);
        }
        admitted.fetch_add(limiter.try_acquire(1).map_or(0, |_| 1), Relaxed);
    });
    let forgotten = forgotten.into_inner();
    assert_eq!(admitted.into_inner() + drain(&limiter), 100_000 - forgotten);
    limiter.clock().advance(Duration::from_secs(1_000));
    assert_eq!(drain(&limiter), 500_000 - forgotten);
}

#[test]
fn a_clock_that_panics_costs_what_its_call_had_asked_for_and_no_more() {
    let limiter = beside_room(50_000, 2, Failing::at(SECOND));
    let (admitted, lost) = (AtomicU64::new(0), AtomicU64::new(0));
    race(8, |index, random| {
        if random.random_range(0..20) == 0 {
            limiter.clock().fail_after(random.random_range(0..4));
        }
        let permits = random.random_range(1..=30);
        let call = AssertUnwindSafe(|| match index % 4 {
            0 => limiter.try_acquire_up_to(permits).map_or(0, |grant| grant.permits()),
            1 => drop_half(limiter.lease(permits)),
            _ => limiter.try_acquire(permits).map_or(0, |_| permits),
        });
        match catch_unwind(call) {
            Ok(permits) => admitted.fetch_add(permits, Relaxed),
            Err(_) => lost.fetch_add(permits, Relaxed),
        };
    });
    limiter.clock().fail_after(i64::MAX);
    let total = admitted.into_inner() + drain(&limiter);
    assert!(total <= 50_000 && total + lost.into_inner() >= 50_000, "{total}");
    // And no capacity is lost.
    limiter.clock().manual.advance(Duration::from_secs(1_000));
    assert_eq!(drain(&limiter), 250_000);
}

/// A denial that is remembered releases no capacity, so it must be forgotten when some is left.
#[test]
fn the_room_of_a_lease_whose_end_panics_is_closed_by_the_next_denial() {
    let limiter = sharded(quota!(1_000 / second), 2, Failing::at(SECOND));
    let mut lease = limiter.lease(300).unwrap();
    assert!(lease.spend(300) && drain(&limiter) == 700);
    limiter.clock().fail_after(0);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(lease))).is_err());
    assert!(limiter.try_acquire(1).is_err());
    limiter.clock().manual.advance(Duration::from_secs(1));
    assert_eq!(drain(&limiter), 1_000);
}

#[test]
fn what_thousands_of_threads_have_drawn_is_there_when_they_are_gone() {
    let limiter = beside_room(100_000, 0, ManualClock::new());
    let (batches, threads) = if cfg!(miri) { (3, 2) } else { (100, 50) };
    for _ in 0..batches {
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| limiter.try_acquire(2).unwrap());
            }
        });
    }
    let left = 100_000 - 2 * batches * threads;
    assert_eq!(limiter.peek(0).unwrap().remaining(), left);
    assert_eq!(
        limiter.try_acquire(left + 1).unwrap_err().retry_after(),
        Some(Duration::from_millis(1))
    );
    assert!(limiter.try_acquire(left).is_ok());
    assert!(limiter.try_acquire(1).is_err());
}

#[test]
fn each_reset_in_a_storm_of_changes_is_worth_one_burst() {
    let quotas = [quota!(1 / second, burst 500), quota!(1 / second, burst 2_000)];
    for (threads, shards) in CROWDS {
        let limiter = sharded(quotas[1], shards, ManualClock::new());
        let (admitted, fresh) = (AtomicU64::new(0), AtomicU64::new(1));
        race(threads, |_, random| {
            match random.random_range(0..200) {
                0 => {
                    fresh.fetch_add(1, Relaxed);
                    limiter.reset();
                }
                1..4 => limiter.reconfigure(quotas[random.random_range(0..2)], Carry::Keep),
                _ => {}
            }
            admitted.fetch_add(take(&limiter, random), Relaxed);
        });
        let total = admitted.into_inner() + drain(&limiter);
        let most = 2_000 * fresh.into_inner();
        assert!(total <= most, "{total} of {most} by {threads} on {shards}");
    }
}

#[test]
fn changes_that_keep_the_tokens_add_none() {
    let quotas = [quota!(1 / second, burst 500), quota!(1 / second, burst 20_000)];
    for (threads, shards) in CROWDS {
        let limiter = sharded(quotas[1], shards, ManualClock::new());
        let admitted = AtomicU64::new(0);
        race(threads, |_, random| {
            if random.random_range(0..100) == 0 {
                limiter.reconfigure(quotas[random.random_range(0..2)], Carry::Keep);
            }
            admitted.fetch_add(take(&limiter, random), Relaxed);
        });
        let total = admitted.into_inner() + drain(&limiter);
        assert!(total <= 20_000, "{total} of 20,000 by {threads} on {shards}");
    }
}
