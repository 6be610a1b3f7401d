//! The model beside the balance of the engine.

use std::time::Duration;

use sluicegate::compose::TopUp as Engine;
use sluicegate::{Limiter, ManualClock, Quota, Rate, TokenBucket};

use crate::drift::{self, Answer, call};

use super::*;

use Op::{Add, Receipt, Reset, Take, UpTo, Withdraw};

/// In the model the limiter takes any permits back, so those are given back that the engine's takes as well:
/// of its last grant, if it was not reset since. No more is added than fits the smaller balance of the model.
#[test]
fn the_balance_of_the_engine_answers_as_the_model_does() {
    drift::rows(true, |random| {
        let ops = vec![Reset; THREADS];
        let mut model = TopUp { first: 2, run: 60, ops, checks_denials: false, mutant: None };
        let clock = ManualClock::at(1_000_000_000_000);
        let bucket =
            TokenBucket::with_clock(Quota::new(Rate::per_second(CAP as u64).unwrap()), &clock);
        let engine = Engine::with_balance(bucket, model.first as u64);
        let mut state = State { threads: [At::Done; THREADS], ..model.start() };
        let mut receipts = [const { None }; THREADS];
        let mut answers = Vec::new();
        for _ in 0..16 {
            if random.below(3) == 0 {
                clock.advance(Duration::from_secs(1));
                drift::tick(&model, &mut state);
            }
            let who = random.below(THREADS as u64) as usize;
            let mut answer = Answer::default();
            if let Some(receipt) = receipts[who].take() {
                answer.given_back = sluicegate::settle::Receipt::give_back(receipt);
            } else {
                let permits = 1 + random.below(3) as i8;
                model.ops[who] = match random.below(8) {
                    0 => Reset,
                    1 => Withdraw(permits),
                    2 if state.balance == 0 && receipts.iter().all(Option::is_none) => Add(permits),
                    3 | 4 => Receipt(permits),
                    5 => UpTo(permits),
                    _ => Take(permits),
                };
                state.threads[who] = At::Idle;
                match model.ops[who] {
                    Take(permits) => answer = Answer::of(&engine.try_acquire(permits as u64)),
                    UpTo(permits) => answer = Answer::of(&engine.try_acquire_up_to(permits as u64)),
                    Receipt(permits) => {
                        let receipt = engine.try_acquire_revocable(permits as u64);
                        answer = Answer::of(&receipt);
                        receipts[who] = receipt.ok();
                    }
                    Add(permits) => drop(engine.add(permits as u64)),
                    Withdraw(permits) => drop(engine.withdraw(permits as u64)),
                    Reset => engine.reset(),
                }
            }
            let is_over = |state: &State| match state.threads[who] {
                At::Granted { .. } => !answer.given_back,
                at => at == At::Done,
            };
            let (before, op) = (state.clone(), model.ops[who]);
            let expected = call(&mut state, |state, found| model.step(state, who, found), is_over);
            assert_eq!(answer, expected, "{op:?} of {before:?}");
            let there = engine.limiter().peek(0).map_or(0, |grant| grant.remaining());
            let (limiter, balance) = (state.limiter as u64, state.balance as u64);
            assert_eq!((there, engine.balance()), (limiter, balance), "{op:?} of {before:?}");
            // Those that cannot be given back any more.
            let is_new = state.by_limiter > before.by_limiter;
            for (other, receipt) in receipts.iter_mut().enumerate() {
                let is_limiters =
                    matches!(state.threads[other], At::Granted { payer: Payer::Limiter, .. });
                if is_limiters && (op == Reset || is_new && other != who) {
                    *receipt = None;
                }
            }
            answers.push(answer);
        }
        answers
    });
}
