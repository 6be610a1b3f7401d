//! The engine's shares beside the model.

use std::time::Duration;

use sluicegate::share::{Share, Shares as Engine};
use sluicegate::{ManualClock, Quota as EngineQuota, Rate};

use crate::drift::{self, Answer, Random};

use super::*;

/// The most calls of a row.
const CALLS: u64 = 10;

fn numbers(random: &mut Random) -> Numbers {
    let mut up_to = |most: u64| 1 + random.below(most) as i8;
    let own = [(up_to(2), up_to(3)), (up_to(2), up_to(3))];
    let rates = own.iter().map(|quota| quota.0).sum::<i8>();
    let bursts = own.iter().map(|quota| quota.1).sum::<i8>();
    Numbers { common: (rates - 1 + up_to(2), bursts - 1 + up_to(4)), own }
}

fn quota((rate, burst): Quota) -> EngineQuota {
    let rate = Rate::new(rate as u64, Duration::from_secs(1)).unwrap();
    EngineQuota::new(rate).with_burst(burst as u64).unwrap()
}

/// A tick is a second, and a place is a group of one tenant. Rows have changes or several tenants of a place: in the engine, a
/// change gives a place up whose tenant is full before it, and in the model only one whose tenant is full after it.
#[test]
fn shares_of_the_engine_answer_as_the_model_does() {
    drift::rows(false, |random| {
        let (first, has_changes) = (numbers(random), random.below(2) == 0);
        let ops: &[Op] = random.program(CALLS, |random| match random.below(6) {
            0 if has_changes => Op::Change(numbers(random)),
            _ => Op::Ask {
                place: random.below(2) as usize,
                tenant: if has_changes { 0 } else { random.below(2) as i8 },
                permits: 1 + random.below(3) as i8,
            },
        });
        let model =
            Shares { numbers: first, run: 2 * CALLS as i8, ops: vec![ops.to_vec()], mutant: None };
        let moves: Vec<u64> = ops.iter().map(|_| random.below(3)).collect();
        let clock = ManualClock::new();
        let groups = |numbers: Numbers| numbers.own.map(|own| Share::new(quota(own)));
        let shares = Engine::with_clock(quota(first.common), groups(first), &clock).unwrap();
        let has_returned = |state: &State, call: usize| usize::from(state.calls[0]) > call;
        drift::beside(
            &model,
            ops.len(),
            |call| moves[call],
            has_returned,
            |call, ticks| {
                clock.advance(Duration::from_secs(ticks));
                match ops[call] {
                    Op::Ask { place, tenant, permits } => {
                        Answer::of(&shares.try_acquire(place, &tenant, permits as u64))
                    }
                    Op::Change(numbers) => {
                        shares.reconfigure(quota(numbers.common), groups(numbers)).unwrap();
                        Answer::default()
                    }
                }
            },
        )
    });
}
