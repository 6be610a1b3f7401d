//! Random calls, each answered as one exact bucket for each key would.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sluicegate::settle::Receipt;
use sluicegate::*;

use super::exact::{Exact, Said};
use super::{SECOND, builder};
use crate::support::cases::cases;

#[derive(Clone, Copy, Debug)]
enum Permits {
    Exactly(u64),
    /// All permits that are there, and so many more.
    There(i8),
}

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64, Permits),
    UpTo(u64, Permits),
    Peek(u64, Permits),
    Revocable(u64, Permits),
    GiveBack,
    Remove(u64),
    Sweep,
    Batch(Vec<u64>, u64),
    /// Parts in 64 of the time that the first tier takes to fill.
    Pass(u16),
    Nanos(u64),
    /// The wait that was told last, less one, just, or and one more.
    Wait(i8),
}

fn op() -> impl Strategy<Value = Op> {
    let key = 1..20_u64;
    let permits = prop_oneof![
        3 => (0..4_u64).prop_map(Permits::Exactly),
        1 => (0..1_u64 << 27).prop_map(Permits::Exactly),
        1 => Just(Permits::Exactly(u64::MAX)),
        3 => (-1..=1_i8).prop_map(Permits::There),
    ];
    prop_oneof![
        8 => (key.clone(), permits.clone()).prop_map(|(key, permits)| Op::Acquire(key, permits)),
        3 => (key.clone(), permits.clone()).prop_map(|(key, permits)| Op::UpTo(key, permits)),
        2 => (key.clone(), permits.clone()).prop_map(|(key, permits)| Op::Peek(key, permits)),
        2 => (key.clone(), permits).prop_map(|(key, permits)| Op::Revocable(key, permits)),
        2 => Just(Op::GiveBack),
        1 => key.clone().prop_map(Op::Remove),
        1 => Just(Op::Sweep),
        2 => (vec(key, 0..40), 0..4_u64).prop_map(|(keys, permits)| Op::Batch(keys, permits)),
        5 => (0..160_u16).prop_map(Op::Pass),
        2 => (0..5_000_u64).prop_map(Op::Nanos),
        4 => (-1..=1_i8).prop_map(Op::Wait),
    ]
}

fn burst() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 1..=4_u64, 4 => 1..=100_u64, 1 => 1..=1_u64 << 25, 1 => Just(1_u64 << 25)]
}

fn quota() -> impl Strategy<Value = Quota> {
    let period = select(vec![1, 3, 60, 7_919, 86_400]);
    let permits = prop_oneof![3 => 1..=20_u64, 1 => 1..=1_000_000_u64, 1 => Just(1_u64 << 27)];
    (permits, period, burst(), any::<bool>()).prop_map(|(permits, period, burst, odd)| {
        let nanos = period * SECOND + u64::from(odd);
        let rate = Rate::new(permits, std::time::Duration::from_nanos(nanos)).unwrap();
        Quota::new(rate).with_burst(burst).unwrap()
    })
}

/// Several tiers, whose rates differ by small factors: those have a tick in common.
fn tiers() -> impl Strategy<Value = Vec<Quota>> {
    let factors = vec((1..=6_u64, 1..=4_u64, 1..=100_u64), 1..4);
    let first = (1..=50_u64, select(vec![1, 60, 86_400_u64]));
    (first, factors).prop_map(|((permits, period), factors)| {
        let tier = |(more, longer, burst)| {
            let period = std::time::Duration::from_secs(period * longer);
            Quota::new(Rate::new(permits * more, period).unwrap()).with_burst(burst).unwrap()
        };
        factors.into_iter().map(tier).collect()
    })
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
fn check(quotas: &[Quota], tier_of: impl Fn(u64) -> usize, ops: &[Op]) {
    let clock = ManualClock::at(77);
    let first = builder(quotas[0], &clock);
    let builder = quotas[1..].iter().fold(first, |builder, &quota| builder.tier(quota));
    let table = builder.keys(200).unwrap();
    let mut exact = Exact::new(quotas, clock.now_nanos());
    let quarter = u64::try_from(table.wrap_period().as_nanos() / 4).unwrap_or(u64::MAX);
    let (mut last_wait, mut unswept) = (0, 0_u64);
    let mut open: Option<(u64, Receipt<'_>, Option<i128>, Option<i128>)> = None;
    let mut noted = |said: Said, expected: Said, op: &Op| {
        assert_eq!(said, expected, "{op:?} of {quotas:?}");
        if let Said::Wait { retry_after, .. } = said {
            last_wait = u64::try_from(retry_after.as_nanos()).unwrap_or(0);
        }
        last_wait
    };
    let mut wait = 0;
    for (step, op) in ops.iter().enumerate() {
        exact.at(clock.now_nanos());
        let which = tier_of(step as u64) % quotas.len();
        let tier = table.tier(which).unwrap();
        let amount = |key, permits| match permits {
            Permits::Exactly(permits) => permits,
            Permits::There(more) => {
                let there = tier.peek(&key, 0).unwrap().remaining();
                there.saturating_add_signed(more.into())
            }
        };
        match op {
            &Op::Acquire(key, permits) => {
                let permits = amount(key, permits);
                let said = tier.try_acquire(&key, permits).into();
                wait = noted(said, exact.acquire(which, key, permits), op);
            }
            &Op::UpTo(key, permits) => {
                let permits = amount(key, permits);
                let said = tier.try_acquire_up_to(&key, permits).into();
                wait = noted(said, exact.up_to(which, key, permits), op);
            }
            &Op::Peek(key, permits) => {
                let permits = amount(key, permits);
                noted(tier.peek(&key, permits).into(), exact.peek(which, key, permits), op);
            }
            &Op::Revocable(key, permits) => {
                let (permits, before) = (amount(key, permits), exact.level(key));
                let receipt = tier.try_acquire_revocable(&key, permits);
                let said = match &receipt {
                    Ok(receipt) => Said::from(Ok(receipt.grant())),
                    Err(denied) => Said::from(Err(*denied)),
                };
                wait = noted(said, exact.acquire(which, key, permits), op);
                let after = exact.level(key);
                open = receipt.ok().map(|receipt| (key, receipt, before, after));
            }
            Op::GiveBack => {
                if let Some((key, receipt, before, after)) = open.take() {
                    let is_nothing = receipt.grant().permits() == 0;
                    let is_so_still = exact.level(key) == after;
                    let is_back = receipt.give_back();
                    // A key that has become full may have been forgotten.
                    let is_full = exact.is_full(key);
                    assert!(is_back || !is_so_still || is_full, "nothing has happened since");
                    if is_back && !is_nothing {
                        exact.put_back(key, before);
                    }
                }
            }
            Op::Remove(key) => {
                table.remove(key);
                exact.remove(*key);
            }
            Op::Sweep => drop(table.sweep()),
            Op::Batch(keys, permits) => {
                let answers = tier.try_acquire_batch(keys, *permits);
                for (key, answer) in std::iter::zip(keys, answers) {
                    noted(answer.into(), exact.acquire(which, *key, *permits), op);
                }
            }
            &(Op::Pass(_) | Op::Nanos(_) | Op::Wait(_)) => {
                let fill = exact.peek(0, 0, quotas[0].burst());
                let Said::Granted { reset_after, .. } = fill else { unreachable!("it is full") };
                let nanos = match *op {
                    Op::Pass(parts) => {
                        let nanos = reset_after.as_nanos() / 64 * u128::from(parts);
                        u64::try_from(nanos).unwrap_or(u64::MAX)
                    }
                    Op::Nanos(nanos) => nanos,
                    Op::Wait(more) => wait.saturating_add_signed(more.into()),
                    _ => unreachable!("time passes"),
                };
                // As long as a table counts the time.
                let nanos = nanos.min((1 << 61) - clock.now_nanos());
                unswept = unswept.saturating_add(nanos);
                if unswept > quarter {
                    table.sweep();
                    unswept = nanos;
                }
                if nanos < quarter {
                    clock.advance_nanos(nanos);
                }
            }
        }
        exact.at(clock.now_nanos());
        assert_eq!(table.occupancy().live, exact.live(), "{op:?} of {quotas:?}");
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn every_answer_is_that_of_an_exact_bucket_for_the_key(
        quota in quota(),
        ops in vec(op(), 1..80),
    ) {
        check(&[quota], |_| 0, &ops);
    }

    #[test]
    fn tiers_of_one_key_share_its_level_in_time(
        quotas in tiers(),
        turns in any::<[u8; 16]>(),
        ops in vec(op(), 1..80),
    ) {
        check(&quotas, |step| usize::from(turns[step as usize % 16]), &ops);
    }
}
