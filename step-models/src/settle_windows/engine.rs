//! The model beside the windows of one word of the engine.

use std::time::Duration;

use sluicegate::settle::{Estimate as Given, Receipt as Revocable, Settle as Engine};
use sluicegate::{FixedWindow, ManualClock, Rate, SlidingCounter};

use crate::drift::{self, Answer, Random, call, choose};

use super::*;

use Op::{Estimate, Receipt, Reset, Try};

enum Held<'a> {
    Estimate(Given<'a>),
    Receipt(Revocable<'a>),
}

const LIMIT: i8 = 4;

fn rate() -> Rate {
    Rate::new(LIMIT as u64, Duration::from_secs(1)).unwrap()
}

#[test]
fn the_windows_of_the_engine_are_settled_as_those_of_the_model() {
    drift::rows(true, |random| {
        let clock = ManualClock::at(1_000_000_000_000);
        beside_the_engine(random, &clock, &FixedWindow::with_clock(rate(), &clock).unwrap(), false)
    });
    // At the instant at which a window begins, the one before counts in full.
    drift::rows(true, |random| {
        let clock = ManualClock::at(1_000_000_000_000);
        beside_the_engine(
            random,
            &clock,
            &SlidingCounter::with_clock(rate(), &clock).unwrap(),
            true,
        )
    });
}

/// Receipts are not given back over a reset, and clocks are right.
fn beside_the_engine(
    random: &mut Random,
    clock: &ManualClock,
    engine: &dyn Engine,
    is_sliding: bool,
) -> Vec<Answer> {
    let ops = vec![Reset; THREADS];
    let mut model = Settle {
        limit: LIMIT,
        is_sliding,
        most_beyond: 3,
        run: 7,
        ops,
        checks_counts: true,
        mutant: None,
    };
    let mut state = Counter { threads: [At::Done; THREADS], ..Counter::new() };
    let mut held = [const { None }; THREADS];
    let mut answers = Vec::new();
    for _ in 0..16 {
        if random.below(4) == 0 && state.clock < model.run {
            clock.advance(Duration::from_secs(1));
            drift::tick(&model, &mut state);
        }
        let who = random.below(THREADS as u64) as usize;
        let (before, mut answer) = (state.clone(), Answer::default());
        let permits = 1 + random.below(3);
        // The first step of what is done with a grant.
        let mut first = None;
        match held[who].take() {
            Some(Held::Receipt(receipt)) => {
                answer.given_back = receipt.give_back();
                first = Some(("gives its receipt back", 0));
            }
            Some(Held::Estimate(estimate)) if random.below(3) == 0 => {
                let all = estimate.permits() + permits;
                let settled = estimate.settle(all).expect("there is no end to it");
                assert_eq!(settled.taken_beyond(), permits);
                first = Some(("has used more", permits));
            }
            Some(Held::Estimate(mut estimate)) if estimate.permits() > 0 => {
                let permits = permits.min(estimate.permits());
                let is_last = matches!(state.threads[who], At::Holds(Hold { parts: 0, .. }));
                if !is_last {
                    answer.given_back = estimate.give_back(permits) > 0;
                    first = Some(("gives some back", permits));
                    held[who] = Some(Held::Estimate(estimate));
                }
            }
            _ => {}
        }
        if let Some((what, permits)) = first {
            let mut nth = permits.max(1);
            let next = choose(
                |found| model.step(&state, who, found),
                |step, _| {
                    nth -= u64::from(step.what == what && nth > 0);
                    step.what == what && nth == 0
                },
            );
            state = next.unwrap_or_else(|| panic!("{what} from {before:?}")).0;
        } else {
            model.ops[who] = match random.below(7) {
                0 => Reset,
                1 | 2 => Try(permits as i8),
                3 => Receipt(permits as i8),
                _ => Estimate(permits as i8),
            };
            state.threads[who] = At::Idle;
            match model.ops[who] {
                Try(_) => answer = Answer::of(&engine.try_acquire(permits)),
                Receipt(_) => {
                    let receipt = engine.try_acquire_revocable(permits);
                    answer = Answer::of(&receipt);
                    held[who] = receipt.ok().map(Held::Receipt);
                }
                Estimate(_) => {
                    let estimate = engine.try_acquire_settleable(permits);
                    answer = Answer::of(&estimate);
                    held[who] = estimate.ok().map(Held::Estimate);
                }
                _ => {
                    engine.reset();
                    for held in &mut held {
                        held.take_if(|held| matches!(held, Held::Receipt(_)));
                    }
                }
            }
        }
        let has_returned = |state: &Counter| {
            matches!(state.threads[who], At::Done | At::Holds(_) | At::Reverts { .. })
        };
        let mut expected =
            call(&mut state, |state, found| model.step(state, who, found), has_returned);
        expected.given_back |=
            first.is_some_and(|(what, _)| what != "has used more") && state.word != before.word;
        assert_eq!(answer, expected, "{:?} of {before:?}", model.ops[who]);
        let there = model.at(state.word, state.clock).expect("clocks are right");
        let there = (LIMIT - there.current - there.previous).max(0);
        let now = engine.peek(0).map_or(0, |grant| grant.remaining());
        assert_eq!(now, there as u64, "{:?} of {before:?}, then {state:?}", model.ops[who]);
        answers.push(answer);
    }
    answers
}
