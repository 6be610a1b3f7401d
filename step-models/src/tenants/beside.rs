//! The model beside a divided line of the engine. Its callers are polled by hand.

use std::time::Duration;

use sluicegate::wait::{LineWeights, Queued, Tenant};
use sluicegate::{Limiter, ManualClock, Quota, Rate, TokenBucket};

use crate::drift::{self, Answer, Random, choose};
use crate::support::Caller;

use super::*;

/// The most permits that a caller asks for.
const MOST: i16 = 3;

/// Weights of the tenants, and the places for them. In the engine a tenant with a weight of its own has a place.
fn weights(random: &mut Random) -> ([i16; TENANTS], usize, LineWeights) {
    if random.below(2) == 0 {
        let places = random.below(TENANTS as u64) as usize;
        return ([1; TENANTS], places, LineWeights::new(places));
    }
    let weights = [(); TENANTS].map(|()| 1 + random.below(2) as i16);
    let named = weights.iter().enumerate();
    let named =
        named.fold(LineWeights::new(0), |named, (tenant, it)| named.weight(&tenant, *it as u32));
    (weights, TENANTS, named)
}

#[test]
fn a_divided_line_of_the_engine_answers_as_the_model_does() {
    drift::rows(true, |random| {
        let (weights, places, named) = weights(random);
        // All that anybody may ask for, which the bounds are stated by.
        let calls = (0..TENANTS).map(|tenant| Call { tenant, permits: MOST, may_leave: true });
        let calls = vec![calls.collect()];
        let model = Tenants { weights, places, run: u8::MAX, calls, mutant: None };

        let clock = ManualClock::new();
        let quota = Quota::new(Rate::per_second(1).unwrap()).with_burst(MOST as u64).unwrap();
        let bucket = TokenBucket::with_clock(quota, &clock);
        bucket.drain();
        let queued = Queued::with_clock(bucket, &clock).with_weights(named).unwrap();
        let tenants: [_; TENANTS] = std::array::from_fn(|tenant| queued.tenant(&tenant));
        row(random, &model, &clock, &tenants)
    });
}

/// Callers come and leave at random, and permits come one by one. A permit comes only while somebody waits, in the engine as in
/// the model.
fn row<L: Limiter>(
    random: &mut Random,
    model: &Tenants,
    clock: &ManualClock,
    tenants: &[Tenant<&Queued<L, &ManualClock>, L, &ManualClock>],
) -> Vec<Answer> {
    let mut state = model.start();
    let mut held = [const { None::<Caller<'_>> }; THREADS];
    let turns = (0..24).map(|_| {
        let mut next = state.clone();
        let mut answer = Answer::default();
        let who = random.below(THREADS as u64 + 2) as usize;
        match held.get_mut(who) {
            None if state.line.is_empty() => {}
            None => {
                clock.advance(Duration::from_secs(1));
                next.pool += 1;
            }
            Some(caller @ None) => {
                let (tenant, permits) =
                    (random.below(TENANTS as u64) as usize, 1 + random.below(MOST as u64) as i16);
                model.stand(&mut next, who, Call { tenant, permits, may_leave: true });
                *caller = Some(Caller::new(&tenants[tenant], permits as u64));
            }
            Some(caller) => {
                *caller = None;
                model.leave(&mut next, who);
                answer.given_back = true;
            }
        }
        let settled = choose(|found| model.settle(found, who, "settles", next), |_, _| true);
        let (after, _) = settled.expect("it goes on");
        // Whoever is polled serves the line for all.
        for caller in held.iter_mut().flatten() {
            _ = caller.poll();
        }
        for (who, held) in held.iter_mut().enumerate() {
            let Some(caller) = held else { continue };
            let waits = after.line.iter().any(|it| it.who == who);
            assert_eq!(caller.is_waiting(), waits, "{who} of {model:?}: {state:?}, then {after:?}");
            (answer.granted, answer.denied) = (answer.granted || !waits, answer.denied || waits);
            *held = held.take().filter(|_| waits);
        }
        state = after;
        answer
    });
    turns.collect()
}
