//! The bound of what is kept, over random calls by one thread and by several.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::bucket::SettleableBucket;
use sluicegate::settle::Estimate;
use sluicegate::*;

use super::remaining;
use crate::support::cases::cases;

/// A reading of the clock, and the permits that were kept at it.
#[derive(Clone, Copy, Debug)]
struct Kept {
    at_nanos: u64,
    permits: u64,
}

/// Checks that no span has more than burst, debt, and what is earned in it.
fn assert_bounded(quota: Quota, debt: u64, mut kept: Vec<Kept>) {
    kept.retain(|kept| kept.permits > 0);
    kept.sort_by_key(|kept| kept.at_nanos);
    let (permits, period) = (u128::from(quota.rate().permits()), quota.rate().period().as_nanos());
    // As a level: the most that any span that ends here has beyond what it earned.
    for (place, from) in kept.iter().enumerate() {
        let mut all = 0;
        for to in &kept[place..] {
            all += to.permits;
            let earned = match quota.refill() {
                Refill::Interval => {
                    // The limiter began at the end of a period.
                    let periods = |kept: &Kept| u128::from(kept.at_nanos) / period;
                    (periods(to) - periods(from)) * permits
                }
                Refill::Smooth => u128::from(to.at_nanos - from.at_nanos) * permits / period,
            };
            let bound = quota.burst() + debt + earned as u64;
            assert!(all <= bound, "{all} of {bound} from {} to {}", from.at_nanos, to.at_nanos);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Take(u64),
    UpTo(u64),
    Estimate(u64),
    GiveBack(usize, u64),
    Settle(usize, u64),
    Receipt(u64),
    Advance(u64),
    Rewind(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (1..=8_u64).prop_map(Op::Take),
        1 => (1..=8_u64).prop_map(Op::UpTo),
        4 => (0..=8_u64).prop_map(Op::Estimate),
        3 => (0..8_usize, 0..=8_u64).prop_map(|(which, permits)| Op::GiveBack(which, permits)),
        2 => (0..8_usize, 0..=12_u64).prop_map(|(which, permits)| Op::Settle(which, permits)),
        1 => (1..=8_u64).prop_map(Op::Receipt),
        4 => (0..400_000_000_u64).prop_map(Op::Advance),
        1 => (0..300_000_000_u64).prop_map(Op::Rewind),
    ]
}

const QUOTAS: [Quota; 4] = [
    quota!(10 / second, burst 8),
    quota!(10 / second, burst 8, max_debt 3),
    quota!(7 / 3 seconds, burst 5, max_debt 0),
    quota!(10 / second, burst 12, refill interval, max_debt 0),
];

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn no_span_keeps_more_than_the_bound(
        quota in prop::sample::select(&QUOTAS[..]), ops in vec(op(), 1..if cfg!(miri) { 12 } else { 80 }), goes_back: bool,
    ) {
        let clock = ManualClock::at(10_000_000_000);
        let bucket = SettleableBucket::with_clock(quota, &clock);
        let mut kept = Vec::new();
        let mut open = Vec::new();
        let mut newest = 0;
        for op in ops {
            let at_nanos = clock.now_nanos();
            newest = newest.max(at_nanos);
            let before = remaining(&bucket);
            match op {
                Op::Take(permits) => {
                    let permits = permits.min(quota.burst());
                    let answer = bucket.try_acquire(permits);
                    // What is said to remain is there.
                    prop_assert_eq!(answer.is_ok(), permits <= before);
                    let permits = answer.map_or(0, |grant| grant.permits());
                    kept.push(Kept { at_nanos, permits });
                }
                Op::UpTo(permits) => {
                    let permits = permits.min(quota.burst());
                    let granted = bucket.try_acquire_up_to(permits).map_or(0, |grant| grant.permits());
                    prop_assert_eq!(granted, permits.min(before));
                    kept.push(Kept { at_nanos, permits: granted });
                }
                Op::Estimate(permits) => {
                    if let Ok(estimate) = bucket.try_acquire_settleable(permits) {
                        open.push((kept.len(), estimate));
                        kept.push(Kept { at_nanos, permits });
                    }
                }
                Op::GiveBack(which, permits) if !open.is_empty() => {
                    let count = open.len();
                    let (place, estimate) = &mut open[which % count];
                    let held = estimate.permits();
                    estimate.give_back(permits);
                    kept[*place].permits -= held - estimate.permits();
                    prop_assert!(remaining(&bucket) >= before);
                    // By a clock that was set back to before the level, what lies in the lots is not there until the
                    // gift lowers the level.
                    prop_assert!(goes_back || remaining(&bucket) <= before + permits.min(held));
                }
                Op::Settle(which, actual) if !open.is_empty() => {
                    let (place, estimate) = open.swap_remove(which % open.len());
                    let held = estimate.permits();
                    let unpaid = estimate.settle(actual).map_or_else(|unpaid| unpaid.permits(), |_| 0);
                    if actual <= held {
                        kept[place].permits = actual;
                        prop_assert_eq!(unpaid, 0);
                    } else {
                        kept.push(Kept { at_nanos, permits: actual - held - unpaid });
                    }
                }
                Op::Receipt(permits) => {
                    let limiter: &dyn Limiter = &bucket;
                    if let Ok(receipt) = limiter.try_acquire_revocable(permits.min(quota.burst())) {
                        prop_assert!(receipt.give_back());
                        // Nobody has taken anything since.
                        prop_assert_eq!(remaining(&bucket), before);
                    }
                }
                Op::Advance(nanos) => clock.advance_nanos(nanos),
                Op::Rewind(nanos) if goes_back => {
                    // By more than a second in all, the limiter would begin anew.
                    let nanos = nanos.min((at_nanos + 1_000_000_000).saturating_sub(newest));
                    clock.rewind(std::time::Duration::from_nanos(nanos));
                }
                Op::GiveBack(..) | Op::Settle(..) | Op::Rewind(_) => {}
            }
            prop_assert_eq!(bucket.healed(), 0);
        }
        assert_bounded(quota, quota.max_debt(), kept);
    }
}

/// Each thread reads the time as it is, or as it was a moment ago.
struct Ticks(AtomicU64);

impl Clock for &Ticks {
    fn now_nanos(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

const THREADS: u64 = 4;

/// One thread moves the clock on; all of them take, settle, and keep.
#[test]
fn no_span_keeps_more_than_the_bound_whatever_threads_do() {
    const QUOTA: Quota = quota!(1_000 / second, burst 64, max_debt 0);
    let rounds = if cfg!(miri) { 15 } else { 20_000 };
    for seed in 1..=3_u64 {
        let clock = Ticks(AtomicU64::new(1_000_000_000));
        let bucket = SettleableBucket::with_clock(QUOTA, &clock);
        let barrier = Barrier::new(THREADS as usize);
        let worker = |number: u64| {
            let mut state = seed * 1_000 + number + 1;
            let mut random = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let (mut kept, mut open): (Vec<Kept>, Vec<(usize, Estimate<'_>)>) =
                (Vec::new(), Vec::new());
            barrier.wait();
            for _ in 0..rounds {
                let choice = random();
                if number == 0 && choice % 16 == 0 {
                    clock.0.fetch_add((choice >> 8) % 40_000_000, Relaxed);
                }
                let some = 1 + (choice >> 16) % 32;
                match choice % 4 {
                    0 | 1 if open.len() < 64 => {
                        let before = clock.0.load(Relaxed);
                        if let Ok(estimate) = bucket.try_acquire_settleable(some) {
                            // The reading was between these two; the bound holds for either end if
                            // no time has passed between them.
                            if clock.0.load(Relaxed) == before {
                                open.push((kept.len(), estimate));
                                kept.push(Kept { at_nanos: before, permits: some });
                            }
                        }
                    }
                    2 if !open.is_empty() => {
                        let which = (choice >> 32) as usize % open.len();
                        let (place, estimate) = open.swap_remove(which);
                        let actual = some % (estimate.permits() + 1);
                        estimate.settle(actual).unwrap();
                        kept[place].permits = actual;
                    }
                    _ if !open.is_empty() => {
                        let which = (choice >> 32) as usize % open.len();
                        let (place, estimate) = &mut open[which];
                        estimate.give_back(some);
                        kept[*place].permits = estimate.permits();
                    }
                    _ => {}
                }
            }
            kept
        };
        let kept: Vec<Kept> = thread::scope(|scope| {
            let workers: Vec<_> =
                (0..THREADS).map(|number| scope.spawn(move || worker(number))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        assert!(kept.iter().any(|kept| kept.permits > 0));
        // By a level, because there are too many spans.
        let mut kept = kept;
        kept.sort_by_key(|kept| kept.at_nanos);
        let (mut level, mut last) = (0_i128, 0);
        for Kept { at_nanos, permits } in kept {
            level = (level - i128::from(at_nanos - last)).max(0) + i128::from(permits) * 1_000_000;
            last = at_nanos;
            assert!(level <= 64 * 1_000_000, "{level} at {at_nanos}");
        }
    }
}
