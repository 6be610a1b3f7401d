//! Random histories, against the reference and against the bound.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::share::{Share, Shares};
use sluicegate::*;

use super::reference::{Answer, Reference};
use crate::support::cases::cases;

const START: u64 = 1_700_000_000_000_000_000;
const MILLI: u64 = 1_000_000;

/// Tenants that ask, in each group: more than have places.
const TENANTS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Op {
    Ask { group: usize, who: usize, permits: u64 },
    Advance { millis: u64 },
    Change(Setup),
    Sweep,
}

/// The numbers of shares, to be made to fit.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// Indices of periods, and bursts, for each of two groups.
    groups: [(usize, u64, usize, u64); 2],
    more_rate: u64,
    more_burst: u64,
}

/// Whole numbers of milliseconds that divide 40: changes between them round nothing.
const PERIODS: [u64; 5] = [40, 20, 10, 8, 4];
const PLACES: [usize; 2] = [2, 3];

fn quota(permits: u64, period_millis: u64, burst: u64) -> Quota {
    let rate = Rate::new(permits, Duration::from_millis(period_millis)).unwrap();
    Quota::new(rate).with_burst(burst).unwrap()
}

impl Setup {
    /// The quota for all, and the shares; the second group has a ceiling.
    fn quotas(&self) -> (Quota, [Share; 2]) {
        let [one, two] = self.groups;
        let first = Share::new(quota(1, PERIODS[one.0], one.1)).with_tenants(PLACES[0]);
        let ceiling = quota(1, PERIODS[two.0.max(two.2)], two.1 + two.3);
        let second = Share::new(quota(1, PERIODS[two.0], two.1))
            .with_tenants(PLACES[1])
            .with_ceiling(ceiling);
        // Permits in 40 ms; a rate of one or two permits in a period is exact, and so this rounds nothing.
        let sum: u64 = [(one.0, PLACES[0]), (two.0, PLACES[1])]
            .iter()
            .map(|&(period, places)| 40 / PERIODS[period] * places as u64)
            .sum();
        let all = [10, 20, 40, 80, 160].into_iter().find(|&all| all >= sum + self.more_rate);
        let bursts = one.1 * PLACES[0] as u64 + two.1 * PLACES[1] as u64;
        (quota(all.unwrap_or(160), 40, bursts + self.more_burst), [first, second])
    }
}

fn setup() -> impl Strategy<Value = Setup> {
    let group = || (0..5_usize, 1..6_u64, 0..5_usize, 0..9_u64);
    ([group(), group()], 0..60_u64, 0..12_u64).prop_map(|(groups, more_rate, more_burst)| Setup {
        groups,
        more_rate,
        more_burst,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let permits = prop_oneof![20 => 0..8_u64, 1 => Just(u64::MAX)];
    prop_oneof![
        12 => (0..3_usize, 0..TENANTS, permits)
            .prop_map(|(group, who, permits)| Op::Ask { group, who, permits }),
        4 => (0..12_u64).prop_map(|millis| Op::Advance { millis }),
        1 => (0..300_u64).prop_map(|millis| Op::Advance { millis }),
        1 => setup().prop_map(Op::Change),
        1 => Just(Op::Sweep),
    ]
}

proptest! {
    #![proptest_config(cases(100_000))]

    #[test]
    fn every_answer_is_that_of_exact_buckets_of_which_none_is_removed(
        setup in setup(),
        ops in vec(op(), 1..40),
    ) {
        let clock = ManualClock::at(START);
        let (quota, shares) = setup.quotas();
        let engine = Shares::<usize, _>::with_clock(quota, shares, &clock).unwrap();
        let mut reference = Reference::new(quota, &shares, TENANTS, START);
        for op in ops {
            let now_nanos = clock.now_nanos();
            match op {
                Op::Ask { group, who, permits } => {
                    let looked = Answer::of(engine.peek(group, &who, permits));
                    let expected = reference.ask(group, who, permits, now_nanos);
                    let answer = Answer::of(engine.try_acquire(group, &who, permits));
                    // The wait for a place is known to the engine alone; a look does not see that there is none.
                    if expected == Answer::Full {
                        let soon = matches!(answer, Answer::Full | Answer::Refused(_));
                        prop_assert!(soon, "{answer:?} for {op:?}");
                        // The second time without a search.
                        let again = Answer::of(engine.try_acquire(group, &who, permits));
                        prop_assert_eq!(again, answer, "{:?} again", op);
                    } else {
                        prop_assert_eq!(answer, expected, "{:?}", op);
                        if !matches!(expected, Answer::Borrowed(_)) {
                            prop_assert_eq!(looked, expected, "a look: {:?}", op);
                        }
                    }
                }
                Op::Advance { millis } => clock.advance_nanos(millis * MILLI),
                Op::Change(setup) => {
                    let (quota, shares) = setup.quotas();
                    engine.reconfigure(quota, shares).unwrap();
                    reference.change(quota, &shares, now_nanos);
                    prop_assert_eq!((engine.quota(), engine.share(1)), (quota, Some(shares[1])));
                }
                Op::Sweep => {
                    engine.sweep();
                }
            }
            prop_assert!(engine.tenants(0) <= PLACES[0] && engine.tenants(1) <= PLACES[1]);
        }
        prop_assert_eq!(engine.healed(), 0);
    }
}
