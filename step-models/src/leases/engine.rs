//! The model beside the shards of the engine.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::{ManualClock, Quota, Rate, Sharded, lease};

use crate::drift::{self, Answer, call, choose};
use crate::explore::Model;

use super::scenes::full;
use super::*;

const CAP: i8 = 4;

fn quota(cap: i8) -> Quota {
    Quota::new(Rate::per_second(1).unwrap()).with_burst(cap as u64).unwrap()
}

/// So few permits that a shard of the engine draws none ahead: then shards have what leases have left there. When
/// the engine denies a call, it closes its shards, and looks again; but not if there can never be enough. Left out are calls that rob another shard: the
/// model takes all of it, the engine what is lacking; and leases of shards with empty capacity: the model reserves all of
/// the lease, the engine what it can fill.
#[test]
fn the_shards_of_the_engine_answer_as_the_model_does() {
    drift::rows(false, |random| {
        let model = full(CAP, [0, 0], INSTANTS as i8 - 1, [&[Change(CAP)], &[], &[]]);
        let model = Leases { asks: false, ..model };
        let clock = ManualClock::at(1_000_000_000_000);
        let engine = Sharded::builder(quota(CAP)).shards(SHARDS).clock(&clock).build().unwrap();
        let mut state = model.start();
        let mut leases: [Option<(Op, lease::Lease<'_>)>; THREADS] = [const { None }; THREADS];
        let mut answers = Vec::new();
        for _ in 0..16 {
            if random.below(4) == 0 && state.clock < model.run {
                clock.advance(Duration::from_secs(1));
                drift::tick(&model, &mut state);
            }
            let who = random.below(THREADS as u64) as usize;
            let (before, mut answer) = (state.clone(), Answer::default());
            if let Some((op, mut held)) = leases[who].take() {
                let spends = held.left() > 0 && random.below(2) == 0;
                let what = if spends { "spends of its lease" } else { "drops its lease" };
                let steps = |found: &mut Found<State>| model.step(&before, who, op, found);
                state = choose(steps, |step, _| step.what == what).expect("it is held").0;
                if spends {
                    assert!(held.spend(1));
                    leases[who] = Some((op, held));
                } else {
                    drop(held);
                    if state.threads[who].at != At::Idle {
                        model.run(&mut state, who, op);
                    }
                }
            } else {
                let shard = random.below(SHARDS as u64) as u8;
                let permits = 1 + random.below(3) as i8;
                let op = match random.below(6) {
                    0 => Change(2 + random.below(3) as i8),
                    1 | 2 => Lease(shard, permits),
                    _ => Spend(shard, permits, 0),
                };
                let (own, other) =
                    (state.shards[usize::from(shard)], state.shards[1 - usize::from(shard)]);
                let robs = own.tokens + model.visible(&state) < op.permits() && other.tokens > 0;
                if robs || matches!(op, Lease(..)) && own.empty() > 0 {
                    continue;
                }

                let here = engine.shard(shard.into());
                match op {
                    Change(cap) => engine.reconfigure(quota(cap), Carry::Keep),
                    Lease(..) => {
                        let lease = here.lease(permits as u64);
                        answer = Answer::of(&lease);
                        leases[who] = lease.ok().map(|lease| (op, lease));
                    }
                    _ => answer = Answer::of(&here.try_acquire(permits as u64)),
                }
                let mut expected = model.run(&mut state, who, op);
                if op.permits() > before.root.cap {
                    state = before.clone();
                } else if expected.denied {
                    model.run(&mut state, who, Close(shard));
                    expected = model.run(&mut state, who, op);
                }
                assert_eq!(answer, expected, "{op:?} of {before:?}");
            }
            if let Some((_, held)) = &leases[who] {
                assert_eq!(held.left(), state.threads[who].hand.tokens as u64, "{before:?}");
            }
            let there =
                model.visible(&state) + state.shards.iter().map(|hold| hold.tokens).sum::<i8>();
            assert_eq!(
                engine.peek(0).unwrap().remaining(),
                there as u64,
                "{before:?}, then {state:?}"
            );
            answers.push(answer);
        }
        answers
    });
}

impl Leases {
    /// Runs a call until it has returned, or holds its lease.
    fn run(&self, state: &mut State, who: usize, op: Op) -> Answer {
        let before = state.threads[who].next;
        let is_over =
            |state: &State| state.threads[who].next > before || state.threads[who].at == At::Held;
        let answer = call(state, |state, found| self.step(state, who, op, found), is_over);
        // What it releases are not permits.
        Answer { given_back: false, ..answer }
    }
}
