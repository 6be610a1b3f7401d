//! The model beside the buckets of the engine.

use std::time::Duration;

use sluicegate::compose::All;
use sluicegate::{Limiter as _, ManualClock, Quota, Rate, TokenBucket};

use crate::drift::{self, Answer, Random, choose};

use super::*;

/// A bucket that earns a permit a second.
fn bucket(cap: i8, clock: &ManualClock) -> TokenBucket<&ManualClock> {
    let quota = Quota::new(Rate::per_second(1).unwrap());
    TokenBucket::with_clock(quota.with_burst(cap as u64).unwrap(), clock)
}

#[test]
fn the_bucket_of_the_engine_gives_back_as_the_model_does() {
    drift::rows(true, |random| {
        let model = Histories { rule: Rule::Last, cap: 3, steps: u8::MAX };
        let clock = ManualClock::at(1_000_000_000_000);
        let engine = bucket(model.cap, &clock);
        let mut receipts = Vec::new();
        let mut state = model.start();
        let answers = (0..20).map(|call| {
            let before = state.clone();
            let mut answer = Answer::default();
            let next = match random.below(5) {
                0 | 1 => {
                    let earned = 1 + random.below(2);
                    clock.advance(Duration::from_secs(earned));
                    let next = |_, next: &Bucket| next.clock == before.clock + earned as i8;
                    choose(|found| model.steps(&before, found), next)
                }
                2 if !receipts.is_empty() => {
                    let (taken, receipt) =
                        receipts.swap_remove(random.below(receipts.len() as u64) as usize);
                    let place = before.taken.iter().position(|other| *other == taken);
                    let nth = give_backs(place.expect("it is held"));
                    let next = choose(|found| model.steps(&before, found), nth);
                    answer.given_back = sluicegate::settle::Receipt::give_back(receipt);
                    let (after, _) = next.as_ref().expect("any grant can be given back");
                    assert_eq!(answer.given_back, after.word < before.word, "call {call}");
                    next
                }
                _ => {
                    let permits = 1 + random.below(3);
                    let is_so = |taken: &&Taken| u64::from(taken.permits) == permits;
                    let count = |state: &Bucket| state.taken.iter().filter(is_so).count();
                    let next = choose(
                        |found| model.steps(&before, found),
                        |step, next| step.what == "takes" && count(next) > count(&before),
                    );
                    let receipt = engine.try_acquire_revocable(permits);
                    answer = Answer::of(&receipt);
                    assert_eq!(answer.granted, next.is_some(), "call {call} of {before:?}");
                    if let (Ok(receipt), Some((next, _))) = (receipt, &next) {
                        let mut new = next.taken.clone();
                        for old in &before.taken {
                            new.swap_remove(new.iter().position(|other| other == old).unwrap());
                        }
                        receipts.push((new[0], receipt));
                    }
                    next
                }
            };
            state = next.map_or(before, |(next, _)| next);
            answer
        });
        answers.collect()
    });
}

/// Chooses the step that gives back the grant at this place.
fn give_backs(place: usize) -> impl FnMut(crate::explore::Step, &Bucket) -> bool {
    let mut seen = 0;
    move |step, _| {
        seen += usize::from(step.what == "gives back");
        seen == place + 1 && step.what == "gives back"
    }
}

#[test]
fn two_buckets_of_the_engine_answer_as_the_model_does() {
    drift::rows(false, |random| {
        let permits = random.program(12, |random: &mut Random| 1 + random.below(3) as u8);
        let ticks: Vec<u64> = permits.iter().map(|_| random.below(3)).collect();
        let model = Both { rule: Rule::Last, caps: [3, 2], run: 60, programs: [permits, &[], &[]] };
        let clock = ManualClock::at(1_000_000_000_000);
        let engine = All::new(model.caps.map(|cap| bucket(cap, &clock))).unwrap();
        let has_returned = |state: &Pair, call: usize| usize::from(state.threads[0].0) > call;
        drift::beside(
            &model,
            permits.len(),
            |call| ticks[call],
            has_returned,
            |call, ticks| {
                clock.advance(Duration::from_secs(ticks));
                Answer::of(&engine.try_acquire(permits[call].into()))
            },
        )
    });
}
