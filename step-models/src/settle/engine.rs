//! The model beside the bucket of the engine.

use std::time::Duration;

use sluicegate::bucket::SettleableBucket;
use sluicegate::{ManualClock, Quota, Rate};

use crate::drift::{self, Answer, call, choose};
use crate::explore::Model;

use super::state::{Bucket, Receipt};
use super::*;

/// A permit is a unit, and a band; so there are four, as the engine has four lots for all that a bucket holds.
const MODEL: Settle = Settle {
    cap: 4,
    lots: 4,
    width: 1,
    run: 60,
    threads: 1,
    takes: 1,
    permits: &[1, 2, 3],
    settles: 1,
    forces: 0,
    changes: 0,
    lag: 0,
    debt: 0,
    excess: 0,
    rules: Rules { any_falls: false, may_move: false },
    mutant: None,
};

/// Changes are left out: the engine moves its axis by less than a unit of the model.
#[test]
fn the_bucket_of_the_engine_is_settled_as_that_of_the_model() {
    drift::rows(true, |random| {
        let clock = ManualClock::at(1_000_000_000_000);
        let quota = Quota::new(Rate::per_second(1).unwrap()).with_burst(MODEL.cap as u64).unwrap();
        let engine = SettleableBucket::with_clock(quota, &clock);
        let mut estimates = Vec::new();
        let mut state = Bucket { is_made: true, ..MODEL.start() };
        let mut answers = Vec::new();
        for _ in 0..20 {
            for _ in 0..random.below(6).saturating_sub(3) {
                clock.advance(Duration::from_secs(1));
                drift::tick(&MODEL, &mut state);
            }
            let before = Bucket { takes: 1, settles: 1, ..state.clone() };
            let mut answer = Answer::default();
            let settled;
            let had = engine.peek(0).unwrap().remaining();
            let permits = 1 + random.below(3);
            let begins = match random.below(7) {
                0..3 if !estimates.is_empty() => {
                    let place = random.below(estimates.len() as u64) as usize;
                    let (receipt, mut estimate): (Receipt, sluicegate::settle::Estimate<'_>) =
                        estimates.swap_remove(place);
                    let units = permits.min(estimate.permits());
                    estimate.give_back(units);
                    settled = (estimate.permits() > 0).then_some(estimate);
                    let units = units as i8;
                    let left = receipt.pieces.units() - units;
                    let others = without(&before.receipts, &receipt);
                    begin(&before, |what, next| {
                        let new = minus(&next.receipts, &others);
                        let sum = new.iter().map(|receipt| receipt.pieces.units()).sum::<i8>();
                        what == "begins to settle"
                            && new.len() < 2
                            && sum == left
                            && next.receipts.len() - new.len() == others.len()
                    })
                }
                _ => {
                    let estimate = engine.try_acquire_settleable(permits);
                    answer = Answer::of(&estimate);
                    settled = estimate.ok();
                    let n = permits as i8;
                    begin(&before, |_, next| next.threads.contains(&At::Word { n }))
                }
            };
            state = begins;
            let cut = state.clone();
            let steps = |state: &Bucket, found: &mut _| MODEL.steps(state, found);
            // The clock's step is the first.
            let mut expected = call(
                &mut state,
                |state, found| {
                    steps(state, found);
                    found.steps.retain(|(step, ..)| step.who != crate::explore::CLOCK);
                },
                |state| state.threads.contains(&At::Idle),
            );
            if let Some(estimate) = settled {
                let held: Vec<Receipt> = estimates.iter().map(|(receipt, _)| *receipt).collect();
                let new = minus(&state.receipts, &held);
                assert_eq!(new.len(), 1, "of {before:?}, then {cut:?}, then {state:?}");
                estimates.push((new[0], estimate));
            }
            // What is given back may be dead: then it is nowhere.
            let there = MODEL.there(&state);
            expected.given_back = there > MODEL.there(&before);
            let remaining = engine.peek(0).unwrap().remaining();
            answer.given_back = remaining > had;
            assert_eq!((answer, remaining), (expected, there as u64), "{before:?}, then {state:?}");
            answers.push(answer);
        }
        answers
    });
}

impl Settle {
    /// Returns how many units can be taken now.
    fn there(&self, state: &Bucket) -> i8 {
        let alive = |&lot: &(i8, i8)| self.alive(lot, state.clock, state.void);
        state.clock - state.word.max(state.clock - self.cap)
            + state.lots.iter().map(alive).sum::<i8>()
    }
}

/// Takes the first step of a call.
fn begin(state: &Bucket, chosen: impl Fn(&str, &Bucket) -> bool) -> Bucket {
    let next = choose(|found| MODEL.steps(state, found), |step, next| chosen(step.what, next));
    next.unwrap_or_else(|| panic!("no such call of {state:?}")).0
}

fn without(receipts: &[Receipt], receipt: &Receipt) -> Vec<Receipt> {
    let mut others = receipts.to_vec();
    others.remove(others.iter().position(|other| other == receipt).expect("it is held"));
    others
}

/// Returns the receipts that are not among the `others`.
fn minus(receipts: &[Receipt], others: &[Receipt]) -> Vec<Receipt> {
    let is_new = |receipt: &&Receipt| !others.contains(receipt);
    receipts.iter().filter(is_new).copied().collect()
}
