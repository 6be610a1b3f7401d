//! The model beside the table of the engine.

use std::time::Duration;

use sluicegate::settle::Receipt as Revocable;
use sluicegate::{KeyTable, ManualClock, Quota, Rate};

use crate::drift::{self, Answer};

use super::*;

const CAP: i8 = 3;
/// A second, and more than the ticks of the engine, to which its levels are rounded up.
const TICK: Duration = Duration::from_millis(1_030);

/// Returns how many calls come after this plan, with its own.
fn calls_from(scene: &Scene, plan: u8) -> usize {
    let next = |plan: &u8| Some(scene.plans[usize::from(*plan)].then);
    std::iter::successors(Some(plan), next).take_while(|&plan| plan != 0).count()
}

#[test]
fn the_table_of_the_engine_answers_as_the_model_does() {
    drift::rows(true, |random| {
        // A sweep of the engine spares full keys for less than an instant, so nothing is given back after it.
        let mut is_swept = false;
        let ops: Vec<Op> = (0..8)
            .map(|_| {
                let print = 1 + random.below(3) as u8;
                match random.below(10) {
                    0 => Op::Reset(key(print)),
                    1 => {
                        is_swept = true;
                        Op::Sweep(key(print))
                    }
                    2 | 3 if !is_swept => Op::GiveBack,
                    _ => take(print, 1 + random.below(3) as i8),
                }
            })
            .collect();
        let ticks: Vec<u64> = ops.iter().map(|_| random.below(6).saturating_sub(3)).collect();
        let scene = Scene::new(4, CAP, 40, &[]).thread(&ops);
        let clock = ManualClock::at(1_000_000_000_000);
        let quota = Quota::new(Rate::per_second(1).unwrap()).with_burst(CAP as u64).unwrap();
        let table = KeyTable::<u8>::builder(quota).clock(&clock).keys(64).unwrap();
        let mut held: Option<Revocable<'_>> = None;
        let has_returned = |state: &State, call: usize| {
            let plans = state.threads.iter().map(Thread::unpack);
            let left = plans
                .map(|thread| (calls_from(&scene, thread.todo), thread.at))
                .max_by_key(|plan| plan.0);
            let (left, at) = left.expect("there are threads");
            left < ops.len() - call && at == At::Idle
        };
        drift::beside(
            &scene,
            ops.len(),
            |call| ticks[call],
            has_returned,
            |call, ticks| {
                clock.advance(ticks as u32 * TICK);
                match ops[call] {
                    Op::Take(key, permits) => {
                        let receipt = table.try_acquire_revocable(&key.print, permits as u64);
                        let answer = Answer::of(&receipt);
                        held = receipt.ok().or(held.take());
                        answer
                    }
                    Op::GiveBack => {
                        let given_back = held.take().is_some_and(Revocable::give_back);
                        Answer { given_back, ..Answer::default() }
                    }
                    Op::Reset(key) => {
                        table.reset(&key.print);
                        Answer::default()
                    }
                    _ => {
                        table.sweep();
                        Answer::default()
                    }
                }
            },
        )
    });
}
