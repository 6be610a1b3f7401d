//! Changes of a table's quotas: every answer after them, and the bound across them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::keyed::{HotKeys, KeyTableBuilder};
use sluicegate::*;

use super::exact::{Exact, Said};
use super::{Open, Table, builder, often, one_line, table};
use crate::support::cases::cases;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64, u64),
    UpTo(u64, u64),
    Peek(u64, u64),
    Revoke(u64, u64),
    Batch(Vec<u64>, u64),
    Remove(u64),
    Sweep,
    /// The tier at one index gets the quota at another, of those that there is room for.
    Change(usize, usize),
    /// So many 64ths of the longest fill.
    Pass(u16),
    Nanos(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let key = 1..8_u64;
    let permits = prop_oneof![4 => 0..6_u64, 2 => 0..120_u64, 1 => Just(u64::MAX)];
    prop_oneof![
        8 => (key.clone(), permits.clone()).prop_map(|(key, permits)| Op::Acquire(key, permits)),
        4 => (key.clone(), permits.clone()).prop_map(|(key, permits)| Op::UpTo(key, permits)),
        2 => (key.clone(), permits.clone()).prop_map(|(key, permits)| Op::Peek(key, permits)),
        2 => (key.clone(), permits).prop_map(|(key, permits)| Op::Revoke(key, permits)),
        2 => (vec(key.clone(), 0..20), 0..4_u64).prop_map(|(keys, permits)| Op::Batch(keys, permits)),
        1 => key.prop_map(Op::Remove),
        1 => Just(Op::Sweep),
        5 => (any::<usize>(), any::<usize>()).prop_map(|(tier, to)| Op::Change(tier, to)),
        4 => (0..80_u16).prop_map(Op::Pass),
        2 => (0..5_000_000_u64).prop_map(Op::Nanos),
    ]
}

/// Quotas whose rates differ by small factors, so that they have a tick in common.
fn quotas() -> impl Strategy<Value = Vec<Quota>> {
    let factors = vec((1..=6_u64, 1..=4_u64, 1..=100_u64), 2..6);
    let first = (1..=50_u64, prop::sample::select(vec![1, 60, 86_400_u64]));
    (first, factors).prop_map(|((permits, period), factors)| {
        let quota = |(more, longer, burst)| {
            let rate = Rate::new(permits * more, Duration::from_secs(period * longer)).unwrap();
            Quota::new(rate).with_burst(burst).unwrap()
        };
        factors.into_iter().map(quota).collect()
    })
}

/// Returns the permits of one rate in the periods of both, to compare with `scaled(other, one)`.
fn scaled(one: Rate, other: Rate) -> u128 {
    u128::from(one.permits()) * other.period().as_nanos()
}

/// A grant: the key, the ticks at its reading, its cost, and the capacity of its quota.
struct Granted(u64, i128, i128, i128);

/// Checks every answer, and the bound of every span; in a table of one line, new keys take the
/// slots of others, and tombstones.
fn check(quotas: &[Quota], tiers: usize, ops: &[Op], is_one_line: bool) {
    let clock = ManualClock::at(77);
    let (first, rest) = quotas.split_first().unwrap();
    let (others, rooms) = rest.split_at(tiers - 1);
    let start = others.iter().fold(builder(*first, &clock), |builder, &quota| builder.tier(quota));
    let start = rooms.iter().fold(start, |builder, &quota| builder.room_for(quota));
    let table = if is_one_line { start.memory(64) } else { start.keys(200) }.unwrap();
    let mut exact = Exact::with_room(quotas, tiers, clock.now_nanos());
    let fill = exact.longest_fill();
    let mut granted = Vec::new();
    let mut unswept = 0_u128;
    for (step, op) in ops.iter().enumerate() {
        exact.at(clock.now_nanos());
        let which = step % tiers;
        let (tier, part, now) = (table.tier(which).unwrap(), exact.parts[which], exact.now());
        let mut noted = |key, said: Said| {
            if let Said::Granted { permits, .. } = said {
                let cost = part.cost * i128::from(permits);
                granted.push(Granted(key, now, cost, part.capacity()));
            }
        };
        match op {
            &Op::Acquire(key, permits) => {
                let said = tier.try_acquire(&key, permits).into();
                noted(key, said);
                assert_eq!(said, exact.acquire(which, key, permits), "{op:?} of {quotas:?}");
            }
            &Op::UpTo(key, permits) => {
                let said = tier.try_acquire_up_to(&key, permits).into();
                noted(key, said);
                assert_eq!(said, exact.up_to(which, key, permits), "{op:?} of {quotas:?}");
            }
            &Op::Peek(key, permits) => {
                let said = Said::from(tier.peek(&key, permits));
                assert_eq!(said, exact.peek(which, key, permits), "{op:?} of {quotas:?}");
            }
            &Op::Revoke(key, permits) => {
                // Given back at once, but under another quota.
                let before = exact.level(key);
                let said = exact.acquire(which, key, permits);
                let answer = tier.try_acquire_revocable(&key, permits);
                assert_eq!(answer.is_ok(), matches!(said, Said::Granted { .. }));
                let last = quotas[(step + 1) % quotas.len()];
                tier.reconfigure(last).unwrap();
                exact.reconfigure(which, last);
                if let Ok(receipt) = answer {
                    assert!(receipt.give_back());
                    exact.put_back(key, before);
                }
            }
            Op::Batch(keys, permits) => {
                for (key, answer) in keys.iter().zip(tier.try_acquire_batch(keys, *permits)) {
                    noted(*key, answer.into());
                    let expected = exact.acquire(which, *key, *permits);
                    assert_eq!(Said::from(answer), expected, "{op:?} of {quotas:?}");
                }
            }
            Op::Remove(key) => {
                table.remove(key);
                exact.remove(*key);
                granted.retain(|Granted(of, ..)| of != key);
            }
            Op::Sweep => drop(table.sweep()),
            &Op::Change(tier, to) => {
                let (tier, quota) = (tier % tiers, quotas[to % quotas.len()]);
                table.tier(tier).unwrap().reconfigure(quota).unwrap();
                exact.reconfigure(tier, quota);
                let told = table.tier(tier).unwrap().quota();
                assert_eq!(told.burst(), quota.burst());
                let (one, other) = (told.rate(), quota.rate());
                assert_eq!(scaled(one, other), scaled(other, one), "{told:?} for {quota:?}");
            }
            &(Op::Pass(_) | Op::Nanos(_)) => {
                let nanos = match *op {
                    Op::Pass(parts) => fill.as_nanos() / 64 * u128::from(parts),
                    Op::Nanos(nanos) => nanos.into(),
                    _ => unreachable!("time passes"),
                };
                unswept += nanos;
                if unswept > table.wrap_period().as_nanos() / 4 {
                    table.sweep();
                    unswept = nanos;
                }
                clock.advance_nanos(u64::try_from(nanos).unwrap());
            }
        }
        exact.at(clock.now_nanos());
        assert_eq!(table.occupancy().live, exact.live(), "{op:?} of {quotas:?}");
    }
    assert_bound(&granted, quotas);
}

/// Checks that in every span the grants of a key take at most the span and the longest of their
/// fills.
fn assert_bound(granted: &[Granted], quotas: &[Quota]) {
    for (index, Granted(key, since, ..)) in granted.iter().enumerate() {
        let (mut spent, mut most) = (0, 0);
        for Granted(_, at, cost, capacity) in granted[index..].iter().filter(|one| one.0 == *key) {
            spent += cost;
            most = *capacity.max(&most);
            assert!(spent <= most + at - since, "{spent} of {most} and {at} - {since}, {quotas:?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn after_any_changes_every_answer_is_that_of_an_exact_bucket(
        quotas in quotas(),
        tiers in 1..3_usize,
        ops in vec(op(), 1..80),
        is_one_line: bool,
    ) {
        check(&quotas, tiers, &ops, is_one_line);
    }

    #[test]
    fn the_highest_rate_up_to_another_can_be_put_in_force_and_is_near(
        (permits, seconds, burst) in (1..1_000_000_u64, 1..100_u64, 1..1_000_u64),
        (wanted, within) in (1..10_000_000_u64, 1..1_000_u64),
    ) {
        let rate = |permits, seconds| Rate::new(permits, Duration::from_secs(seconds)).unwrap();
        let clock = ManualClock::new();
        let quota = Quota::new(rate(permits, seconds)).with_burst(burst).unwrap();
        let table = table(quota, &clock);
        let wanted = rate(wanted, within);
        if let Some(near) = table.rate_up_to(wanted) {
            assert!(scaled(near, wanted) <= scaled(wanted, near));
            table.reconfigure(Quota::new(near).with_burst(1).unwrap()).unwrap();
            let told = table.quota().rate();
            assert_eq!(scaled(told, near), scaled(near, told));
            // A permit takes 16 ticks at least.
            let missing = scaled(wanted, near) - scaled(near, wanted);
            let is_highest = table.rate_up_to(rate(1 << 31, 1)) == Some(near);
            let is_near = missing * 15 <= scaled(near, wanted);
            assert!(is_highest || is_near, "{near:?} for {wanted:?}");
        } else {
            let slow = Quota::new(wanted).with_burst(1).unwrap();
            assert!(table.reconfigure(slow).is_err());
        }
    }
}

#[test]
fn a_key_keeps_the_time_that_it_has_saved() {
    let clock = ManualClock::new();
    let table = table(quota!(100 / hour), &clock);
    assert!(table.try_acquire(&1, 40).is_ok());
    let has = |key| table.peek(&key, 0).unwrap().remaining();
    table.reconfigure(quota!(200 / hour)).unwrap();
    assert_eq!((has(1), has(2)), (120, 200));
    table.reconfigure(quota!(200 / hour, burst 50)).unwrap();
    assert_eq!((has(1), has(2)), (50, 50));
    // A smaller burst hides the rest of that time, and cuts none of it off if it is not spent.
    table.reconfigure(quota!(25 / hour)).unwrap();
    assert_eq!((has(1), has(2)), (15, 25));
    clock.advance(Duration::from_secs(24 * 60));
    assert_eq!((has(1), has(2)), (25, 25));
}

#[test]
fn no_key_loses_its_slot_before_it_would_be_full_under_a_quota_with_room() {
    let clock = ManualClock::new();
    let (small, large) = (quota!(1 / second, burst 10), quota!(1 / second, burst 100));
    let fill = |builder: KeyTableBuilder<u64, Open, _>| -> Table<'_> {
        let table = builder.memory(64).unwrap();
        clock.advance(Duration::from_secs(200));
        assert!(table.try_acquire(&1, 10).is_ok());
        clock.advance(Duration::from_secs(50));
        for key in 2..10 {
            let _ = table.try_acquire(&key, 1);
        }
        table
    };
    let table = fill(builder(small, &clock).room_for(large));
    assert_eq!(table.full_events(), 1);
    table.reconfigure(large).unwrap();
    assert_eq!(table.peek(&1, 0).unwrap().remaining(), 50);
    // Without room the slot is reused, and the change is refused.
    let table = fill(builder(small, &clock));
    assert_eq!(table.full_events(), 0);
    assert!(table.reconfigure(large).is_err());
}

#[test]
fn what_a_table_has_no_room_for_is_named_and_changes_nothing() {
    let clock = ManualClock::new();
    let table = one_line(quota!(100 / second), &clock);
    assert!(table.try_acquire(&1, 50).is_ok());
    let most = "the table was made";
    let ticks =
        "must be such that a permit takes a whole number, 16 at least, of this table's ticks";
    let rows = [
        (quota!(101 / second), "rate", format!("rate is 101 per 1s: {ticks}")),
        (quota!(102_400 / second), "rate", format!("rate is 102400 per 1s: {ticks}")),
        (
            quota!(100 / second, burst 101),
            "fill",
            format!("fill is 1.01s: must be at most 1s, as {most}"),
        ),
        (quota!(1 / second, burst 2), "fill", format!("fill is 2s: must be at most 1s, as {most}")),
        (
            quota!(100 / second).with_refill(Refill::Interval),
            "refill",
            "refill is Interval: must be smooth in a table".into(),
        ),
        (
            quota!(100 / second, burst 33_554_433),
            "burst",
            "burst is 33554433: must be from 1 to 2^25 in a table".into(),
        ),
    ];
    for (quota, field, text) in rows {
        let error = table.reconfigure(quota).unwrap_err();
        assert_eq!((error.field(), error.to_string()), (field, text));
        assert_eq!(table.tier(0).unwrap().reconfigure(quota), Err(error));
        assert_eq!(table.quota().to_string(), quota!(100 / second).to_string());
        assert_eq!(table.peek(&1, 0).unwrap().remaining(), 50);
    }
    // At the ends of what there is room for.
    table.reconfigure(quota!(12_800 / second, burst 1)).unwrap();
    table.reconfigure(quota!(100 / second, burst 100)).unwrap();
    // No rate of the table is so low.
    assert_eq!(table.rate_up_to(rate!(1 / 36525 days)), None);
}

#[test]
fn a_tier_that_is_held_sees_the_change() {
    let clock = ManualClock::new();
    let table = builder(quota!(10 / second), &clock).tier(quota!(20 / second)).keys(9).unwrap();
    let (first, second) = (table.tier(0).unwrap(), table.tier(1).unwrap());
    table.tier(1).unwrap().reconfigure(quota!(5 / second)).unwrap();
    assert_eq!((first.quota().burst(), second.quota().burst()), (10, 5));
    assert_eq!(second.try_acquire(&7, 6), Err(Denied::TooLarge { limit: 5, which: 0 }));
    first.reconfigure(quota!(2 / second)).unwrap();
    assert_eq!(table.try_acquire(&8, 3), Err(Denied::TooLarge { limit: 2, which: 0 }));
    assert_eq!(second.peek(&8, 0).unwrap().remaining(), 5);
}

#[test]
fn prepaid_permits_do_not_come_on_top_of_a_smaller_burst() {
    let clock = ManualClock::new();
    let table = table(quota!(1_000 / second), &clock);
    let limiter = HotKeys::with_places(table, 1).unwrap();
    while !limiter.is_hot(&1) {
        assert!(limiter.try_acquire(&1, 0).is_ok());
    }
    for _ in 0..3 {
        assert!(limiter.try_acquire(&1, 1).is_ok());
    }
    let prepaid = limiter.update(|table| {
        let prepaid = 997 - table.peek(&1, 0).unwrap().remaining();
        table.reconfigure(quota!(1_000 / second, burst 10)).unwrap();
        prepaid
    });
    assert!(prepaid > 10, "{prepaid}");
    let mut after = 0;
    while limiter.try_acquire(&1, 1).is_ok() {
        after += 1;
    }
    assert_eq!(after, 10);
}

/// Both quotas have the same rate, so the larger burst bounds all that is granted.
#[test]
fn callers_that_race_with_changes_are_granted_no_more_than_the_larger_burst() {
    for round in 0..often(200) {
        let clock = ManualClock::new();
        let (small, large) = (quota!(1 / hour, burst 20), quota!(1 / hour, burst 60));
        let table = builder(small, &clock).room_for(large).keys(64).unwrap();
        let (granted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let call = || {
                while !is_over.load(SeqCst) {
                    let answer = table.try_acquire_up_to(&round, 1 + round % 7);
                    granted.fetch_add(answer.map_or(0, |grant| grant.permits()), SeqCst);
                }
            };
            scope.spawn(call);
            scope.spawn(call);
            for turn in 0..50 {
                table.reconfigure(if turn % 2 == 0 { large } else { small }).unwrap();
            }
            table.reconfigure(large).unwrap();
            is_over.store(true, SeqCst);
        });
        while let Ok(grant) = table.try_acquire_up_to(&round, 1 + round % 7) {
            granted.fetch_add(grant.permits(), SeqCst);
        }
        // The time that was spent under the smaller burst is missing under the larger one.
        let granted = granted.into_inner();
        assert!((20..=60).contains(&granted), "{granted}");
    }
}
