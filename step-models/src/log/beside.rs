//! The engine's logs beside the model.

use std::time::Duration;

use sluicegate::window::WeightedLog;
use sluicegate::{Limiter, ManualClock, Rate, SlidingLog};

use crate::drift::{self, Answer, Random};

use super::*;

/// Runs a program in `model` and in the engine's `log`, whose limit `set_limit` changes. A tick is a second. A date may be a
/// tick ahead after a reset, in the engine some nanoseconds: so the clock goes on.
fn row<L: Limiter>(
    random: &mut Random,
    ops: &'static [Op],
    model: Log,
    clock: &ManualClock,
    log: &L,
    set_limit: impl Fn(&L, u8),
) -> Vec<Answer> {
    let model = Log { programs: [ops, &[], &[]], ..model };
    let after_reset = |call: usize| u64::from(call > 0 && ops[call - 1] == Reset);
    let moves: Vec<u64> = ops.iter().map(|_| random.below(3)).collect();
    let ticks = |call: usize| moves[call].max(after_reset(call));
    let has_returned = |state: &State, call: usize| usize::from(state.threads[0].next) > call;
    drift::beside(&model, ops.len(), ticks, has_returned, |call, ticks| {
        clock.advance(Duration::from_secs(ticks));
        match ops[call] {
            Take(permits) => return Answer::of(&log.try_acquire(permits.into())),
            Reset => log.reset(),
            Limit(limit) => set_limit(log, limit),
        }
        Answer::default()
    })
}

/// The window is a little shorter than in the model, as a request counts for some nanoseconds more.
#[test]
fn the_weighted_log_of_the_engine_answers_as_the_model_does() {
    drift::rows(false, |random| {
        let ops = random.program(12, |random| match random.below(9) {
            0 => Reset,
            permits => Take(permits.div_ceil(2) as u8),
        });
        let model = Log { capacity: 2, ..log(3, 2, 60, [&[]; THREADS]) };
        let (clock, rate) = (ManualClock::new(), Rate::new(3, Duration::from_millis(1_900)));
        let log = WeightedLog::with_capacity(rate.unwrap(), 2, &clock).unwrap();
        row(random, ops, model, &clock, &log, |log, limit| log.reconfigure(limit.into()).unwrap())
    });
}

#[test]
fn the_log_of_single_permits_of_the_engine_answers_as_the_model_does() {
    drift::rows(false, |random| {
        let ops = random.program(14, |random| match random.below(9) {
            0 => Reset,
            1 => Limit(1 + random.below(3) as u8),
            _ => Take(1),
        });
        let model = single::log(3, 2, 2, 60, [&[]; THREADS]);
        let (clock, rate) = (ManualClock::new(), Rate::new(2, Duration::from_secs(2)));
        let log = SlidingLog::with_clock(rate.unwrap(), &clock).unwrap().with_max_limit(3).unwrap();
        row(random, ops, model, &clock, &log, |log, limit| log.reconfigure(limit.into()).unwrap())
    });
}
