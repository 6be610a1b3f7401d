//! Random calls on random quotas: no key gets more than its burst and what it earned, in any
//! span of the clock, wherever callers ask.

use std::cell::Cell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate::*;

use super::bound::Ledger;
use super::chosen::Chosen;
use super::subject::{Hot, Kind, rivals, take_all, with};
use super::{MS, Open, SECOND};
use crate::support::cases::cases;

/// By how much a reading may be behind the latest: the skew of a table.
const SKEW_NANOS: u64 = MS;

/// One grant in so many is looked at closely.
const SAMPLE: u64 = 16;

#[derive(Clone, Copy, Debug)]
enum Amount {
    One,
    Some(u64),
    /// So many thousandths of the burst.
    Part(u64),
}

#[derive(Clone, Copy, Debug)]
enum Key {
    First,
    Second,
    Other(u64),
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Asks so often, by a clock that is so far behind, with a pause after each call, in
    /// thousandths of what a permit takes to earn.
    Ask {
        place: usize,
        key: Key,
        amount: Amount,
        times: u64,
        behind_nanos: u64,
        pause: u64,
    },
    /// Lets time pass, in thousandths of what the burst takes to earn.
    Pass(u64),
    /// Waits until the store has all but so many, and then takes all of that, and all in the
    /// seats.
    Fill(Key, u64),
    /// Takes from the store itself.
    Drain(Key),
    Reset(Key),
    Remove(Key),
}

fn amounts() -> impl Strategy<Value = Amount> {
    prop_oneof![
        6 => Just(Amount::One),
        2 => (1..40_u64).prop_map(Amount::Some),
        1 => (0..=1_000_u64).prop_map(Amount::Part),
    ]
}

fn keys() -> impl Strategy<Value = Key> {
    prop_oneof![10 => Just(Key::First), 2 => Just(Key::Second), 2 => (2..4_u64).prop_map(Key::Other)]
}

fn ops() -> impl Strategy<Value = Op> {
    let behind = prop_oneof![4 => Just(0), 1 => 0..=SKEW_NANOS];
    let pause = prop_oneof![3 => Just(0), 2 => 0..2_500_u64];
    let times = prop_oneof![1 => 1..8_u64, 3 => 1..200_u64];
    let ask = (0..4_usize, keys(), amounts(), times, behind, pause).prop_map(
        |(place, key, amount, times, behind_nanos, pause)| {
            // Large amounts are soon refused.
            let times = if matches!(amount, Amount::One) { times } else { times.min(12) };
            Op::Ask { place, key, amount, times, behind_nanos, pause }
        },
    );
    prop_oneof![
        24 => ask,
        4 => (0..150_u64).prop_map(Op::Pass),
        1 => (0..2_500_u64).prop_map(Op::Pass),
        3 => (keys(), 0..60_u64).prop_map(|(key, less)| Op::Fill(key, less)),
        1 => keys().prop_map(Op::Drain),
        1 => keys().prop_map(Op::Reset),
        1 => keys().prop_map(Op::Remove),
    ]
}

fn quotas() -> impl Strategy<Value = Quota> {
    let rate = prop::sample::select(vec![
        (7, 3 * SECOND),
        (1, SECOND),
        (1_000, SECOND),
        (3, 7 * MS),
        (999_983, SECOND),
        (100, 86_400 * SECOND),
        (13, 1_001),
        (50_000, 997 * MS),
    ]);
    let burst = prop_oneof![1 => 1..40_u64, 5 => 40..2_000_u64];
    (rate, burst).prop_map(|((permits, nanos), burst)| {
        let rate = Rate::new(permits, Duration::from_nanos(nanos)).unwrap();
        Quota::new(rate).with_burst(burst).unwrap()
    })
}

/// Counts of what happened in a run.
#[derive(Default)]
struct Tally {
    granted: Cell<u64>,
    seated: Cell<u64>,
    hot: Cell<u64>,
    calls: Cell<u64>,
}

fn add(cell: &Cell<u64>, count: u64) {
    cell.set(cell.get() + count);
}

/// A case: a limiter that has been used.
struct Case<'a> {
    limiter: &'a dyn Hot,
    clock: &'a Chosen,
    /// The latest reading.
    now_nanos: u64,
    origin_nanos: u64,
    quota: Quota,
    second: u64,
    ledger: Ledger,
    tally: &'a Tally,
}

impl Case<'_> {
    fn each_nanos(&self, count: u64, thousandths: u64) -> u64 {
        let period_nanos = self.quota.rate().period().as_nanos();
        let nanos = u128::from(count) * period_nanos * u128::from(thousandths)
            / u128::from(1_000 * self.quota.rate().permits());
        nanos as u64
    }

    fn key(&self, key: Key) -> u64 {
        match key {
            Key::First => 0,
            Key::Second => self.second,
            // Of a number of its own.
            Key::Other(number) => self.second + number,
        }
    }

    fn run(&mut self, op: Op) -> Result<(), String> {
        self.clock.set(self.now_nanos);
        match op {
            Op::Ask { place, key, amount, times, behind_nanos, pause } => {
                let (key, burst) = (self.key(key), self.quota.burst());
                let permits = match amount {
                    Amount::One => 1,
                    Amount::Some(count) => count,
                    Amount::Part(thousandths) => burst * thousandths / 1_000,
                };
                let pause_nanos = self.each_nanos(1, pause);
                for _ in 0..times {
                    let behind_nanos = behind_nanos.min(self.now_nanos - self.origin_nanos);
                    let at_nanos = self.now_nanos - behind_nanos;
                    self.clock.set(at_nanos);
                    let is_hot = self.limiter.has_seat(key);
                    let (answer, readings) =
                        self.clock.readings(|| self.limiter.ask_at(place, key, permits));
                    add(&self.tally.calls, 1);
                    if let Ok(grant) = answer {
                        if grant.permits() != permits {
                            return Err(format!("{grant:?} for {permits}"));
                        }
                        self.ledger.add(key, at_nanos, permits);
                        add(&self.tally.granted, 1);
                        add(&self.tally.hot, u64::from(is_hot));
                        // How the store or a seat has answered is not told, but shown; to show
                        // it takes long.
                        if self.tally.granted.get().is_multiple_of(SAMPLE) {
                            let is_seated =
                                readings == 1 && format!("{grant:#?}").contains("Known");
                            add(&self.tally.seated, SAMPLE * u64::from(is_seated));
                        }
                    }
                    self.now_nanos += pause_nanos;
                }
            }
            Op::Pass(thousandths) => {
                self.now_nanos += self.each_nanos(self.quota.burst(), thousandths);
            }
            Op::Fill(key, less) => {
                let key = self.key(key);
                let missing = self.quota.burst() - self.limiter.has(key);
                self.now_nanos += self.each_nanos(missing.saturating_sub(less), 1_000);
                self.clock.set(self.now_nanos);
                let permits = self.limiter.drain(key) + take_all(self.limiter, &[0, 1, 2, 3], key);
                self.ledger.add(key, self.now_nanos, permits);
            }
            Op::Drain(key) => {
                let key = self.key(key);
                let permits = self.limiter.drain(key);
                self.ledger.add(key, self.now_nanos, permits);
            }
            Op::Reset(key) => {
                let key = self.key(key);
                self.limiter.reset_key(key);
                self.ledger.reset(key)?;
            }
            Op::Remove(key) => {
                let key = self.key(key);
                self.limiter.remove(key);
                self.ledger.reset(key)?;
            }
        }
        Ok(())
    }
}

/// Tries so many cases of a kind; says what they were like.
fn try_cases(kind: Kind, few: u32) -> Tally {
    let tally = Tally::default();
    let strategy = (quotas(), 0..5_u32, prop::collection::vec(ops(), 10..60));
    let config = Config { source_file: Some(file!()), ..cases(few) };
    // The second wants the seat of the first.
    let second = rivals(&Open::default(), 0, 2)[1];
    TestRunner::new(config)
        .run(&strategy, |(quota, places, ops)| {
            let places = 1 << places.min(2);
            let origin_nanos = 10_000 * SECOND;
            let clock = Chosen::at(origin_nanos);
            with(kind, quota, places, &clock, |limiter| {
                let mut case = Case {
                    limiter,
                    clock: &clock,
                    now_nanos: origin_nanos,
                    origin_nanos,
                    quota,
                    second,
                    ledger: Ledger::new(kind, quota, origin_nanos),
                    tally: &tally,
                };
                ops.iter()
                    .try_for_each(|&op| case.run(op))
                    .and_then(|()| case.ledger.check_all())
                    .map_err(TestCaseError::fail)
            })
        })
        .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    tally
}

/// Most of what was granted in the cases was granted to hot keys, and much of it from seats.
fn assert_hot(kind: Kind, tally: &Tally) {
    let Tally { granted, seated, hot, calls } = tally;
    let (granted, seated, hot) = (granted.get(), seated.get(), hot.get());
    println!("{kind:?}: {} calls, {granted} granted, {hot} hot, {seated} seated", calls.get());
    assert!(2 * hot > granted, "{hot} of {granted}");
    assert!(3 * seated > granted, "{seated} of {granted}");
}

#[test]
fn no_key_of_a_table_gets_more_than_its_bound_in_any_span() {
    assert_hot(Kind::Table, &try_cases(Kind::Table, 800));
}

#[test]
fn no_key_of_a_tier_gets_more_than_its_bound_in_any_span() {
    assert_hot(Kind::Tier, &try_cases(Kind::Tier, 250));
}

#[test]
fn no_key_of_a_keyed_store_gets_more_than_its_bound_in_any_span() {
    assert_hot(Kind::Keyed, &try_cases(Kind::Keyed, 800));
}

#[test]
fn no_key_of_tiered_buckets_gets_more_than_its_bound_in_any_span() {
    assert_hot(Kind::Tiered, &try_cases(Kind::Tiered, 250));
}

#[test]
fn no_key_that_is_refilled_in_steps_gets_more_than_its_bound_in_any_span() {
    assert_hot(Kind::Steps, &try_cases(Kind::Steps, 600));
}
