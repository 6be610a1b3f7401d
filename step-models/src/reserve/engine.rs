//! The model beside the reservations of a window of the engine.

use std::time::Duration;

use sluicegate::settle::Receipt as Given;
use sluicegate::wait::{Reservation, Reserve as _};
use sluicegate::{FixedWindow, ManualClock, Rate};

use crate::drift::{self, Answer, call, choose};

use super::*;

use Op::{Beyond, Receipt, Reset, Try};

/// A grant or a reservation of the engine.
enum Held<'a> {
    Receipt(Given<'a>),
    Reservation(Reservation<'a>),
}

/// Nothing is given back over a reset: a receipt may bring back a count from before it.
#[test]
fn the_windows_of_the_engine_are_reserved_as_those_of_the_model() {
    drift::rows(true, |random| {
        let ops = vec![Reset; THREADS];
        let mut model = Reserve { limit: 3, run: 5, ops, checks_counts: true, mutant: None };
        let clock = ManualClock::at(1_000_000_000_000);
        let rate = Rate::new(model.limit as u64, Duration::from_secs(1)).unwrap();
        let engine = FixedWindow::with_clock(rate, &clock).unwrap();
        let engine = engine.with_reservations(Duration::from_secs(AHEAD as u64));
        let mut state = State { threads: [At::Done; THREADS], ..model.start() };
        let mut held = [const { None }; THREADS - 1];
        let mut answers = Vec::new();
        for _ in 0..16 {
            if random.below(4) == 0 && state.clock < model.run {
                clock.advance(Duration::from_secs(1));
                drift::tick(&model, &mut state);
            }
            // The last thread resets.
            let who = random.below(THREADS as u64) as usize;
            let mut answer = Answer::default();
            let given = held.get_mut(who).and_then(Option::take);
            let is_back = given.is_some();
            if let Some(given) = given {
                answer.given_back = match given {
                    Held::Receipt(receipt) => receipt.give_back(),
                    Held::Reservation(reservation) => reservation.cancel(),
                };
            } else {
                let permits = 1 + random.below(3) as i8;
                let all = permits as u64;
                model.ops[who] = match random.below(6) {
                    _ if who == THREADS - 1 => Reset,
                    0 => Beyond(2 * permits),
                    1 | 2 => Receipt(permits),
                    3 => Try(permits),
                    _ => Op::Reserve(permits),
                };
                state.threads[who] = At::Idle;
                match model.ops[who] {
                    Try(_) => answer = Answer::of(&engine.try_acquire(all)),
                    Receipt(_) => {
                        let receipt = engine.try_acquire_revocable(all);
                        answer = Answer::of(&receipt);
                        held[who] = receipt.ok().map(Held::Receipt);
                    }
                    Op::Reserve(_) => {
                        let reservation = engine.reserve(all);
                        answer = Answer::of(&reservation);
                        held[who] = reservation.ok().map(Held::Reservation);
                    }
                    Beyond(permits) => {
                        let none = engine.try_acquire_settleable(0).unwrap();
                        let taken = match none.settle(permits as u64) {
                            Ok(settled) => settled.taken_beyond(),
                            Err(unpaid) => unpaid.settled().taken_beyond(),
                        };
                        answer = Answer { granted: taken > 0, denied: taken == 0, ..answer };
                    }
                    Reset => {
                        engine.reset();
                        held = [const { None }; THREADS - 1];
                    }
                }
            }
            let (before, op) = (state.clone(), model.ops[who]);
            let steps = |state: &State, found: &mut Found<State>| {
                model.step(state, who, found);
                found.steps.retain(|(step, ..)| step.what != "keeps it");
            };
            let has_returned = |state: &State| match state.threads[who] {
                At::Holds(_) => !is_back,
                at => at == At::Done,
            };
            if is_back {
                // Its first step.
                state = choose(|found| steps(&state, found), |_, _| true).expect("it is held").0;
            }
            let mut expected = call(&mut state, steps, has_returned);
            expected.given_back |= is_back && state.word != before.word;
            assert_eq!(answer, expected, "{op:?} of {before:?}");
            let now = engine.peek(0).map_or(0, |grant| grant.remaining());
            let there = match state.word.number - state.clock {
                0 => model.limit - state.word.count,
                ahead => {
                    if ahead < 0 {
                        model.limit
                    } else {
                        0
                    }
                }
            };
            assert_eq!(now, there.max(0) as u64, "{op:?} of {before:?}, then {state:?}");
            answers.push(answer);
        }
        answers
    });
}
