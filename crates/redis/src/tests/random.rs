//! Each script against its slow reference and against the engine, by random steps.
//!
//! The reference answers for every instant, so waits are checked by it too: after the wait of an answer there is
//! what it promised, and a nanosecond earlier there was not. The engine must give the same answers in full, where
//! it is as exact: its buckets round to half a nanosecond.

mod buckets;
mod windows;

use std::time::Duration;

use rand::Rng;
use rand::rngs::SmallRng;
use sluicegate::{Grant, Limiter, ManualClock};

use super::oracle::Oracle;
use super::scripts::{Answer, Step, random, run, share_of};
use super::server::Server;
use crate::decision::Verb;
use crate::limit::RedisLimit;

/// Steps of a test; each of its limits gets a part of them.
const STEPS: usize = 100_000;

/// The middle of 2026, in microseconds.
const START: u64 = 1_782_864_000_000_000;

/// Time after which a step comes at the latest: all steps of a limit take less than 200 years.
const MOST_AT_ONCE: u64 = 200 * 86_400_000_000;

/// One limit, its reference, and the engine's limiter if it is as exact.
struct Case<'a> {
    limit: RedisLimit,
    oracle: Box<dyn Oracle>,
    engine: Option<Engine<'a>>,
    /// A time in which the answers change: that of a token, or of a slot.
    scale_micros: u64,
    /// Single permits only.
    is_single: bool,
}

/// The engine's limiter.
struct Engine<'a> {
    make: Box<dyn Fn() -> Box<dyn Limiter + 'a> + 'a>,
    limiter: Box<dyn Limiter + 'a>,
    /// Time by which its waits may differ.
    slack: Duration,
}

impl<'a> Engine<'a> {
    fn new<L: Limiter + 'a>(make: impl Fn() -> L + 'a) -> Engine<'a> {
        let make = Box::new(move || -> Box<dyn Limiter + 'a> { Box::new(make()) });
        Engine { limiter: make(), make, slack: Duration::ZERO }
    }

    /// Checks that the engine gives the same answer.
    fn check(&self, step: Step, answer: &Answer, shown: &dyn Fn() -> String) {
        let limiter = &*self.limiter;
        let other = match step.verb {
            Verb::Take => limiter.try_acquire(step.permits),
            Verb::UpTo => limiter.try_acquire_up_to(step.permits),
            Verb::Peek => limiter.peek(step.permits),
        };
        let (numbers, waits) = told(answer);
        let (other_numbers, other_waits) = told(&other);
        assert_eq!(numbers, other_numbers, "{}: the engine answers {other:?}", shown());
        for (wait, other_wait) in waits.into_iter().zip(other_waits) {
            assert!(
                wait.abs_diff(other_wait) <= self.slack,
                "{}: the engine answers {other:?}",
                shown()
            );
        }
    }
}

/// Returns the numbers and the waits of an answer that every limiter knows.
fn told(answer: &Answer) -> ([Option<u64>; 3], [Duration; 2]) {
    match answer {
        Ok(grant) => (
            [Some(grant.permits()), Some(grant.limit()), Some(grant.remaining())],
            [grant.reset_after(), Duration::ZERO],
        ),
        Err(denied) => (
            [None, denied.limit(), denied.remaining()],
            [denied.reset_after().unwrap(), denied.retry_after().unwrap()],
        ),
    }
}

/// Returns random steps forward in time.
fn steps(case: &Case<'_>, count: usize, random: &mut SmallRng) -> Vec<Step> {
    let limit = case.limit.limit();
    let mut micros = START + random.random_range(0..1_000_000_000);
    (0..count)
        .map(|_| {
            let scale = case.scale_micros;
            micros += match random.random_range(0..20) {
                0..5 => 0,
                5..7 => 1,
                7..13 => random.random_range(0..=scale),
                13..16 => scale,
                16..19 => random.random_range(0..=4 * scale),
                // Long enough for all to come back, unless many single permits are to be gone first.
                _ if case.is_single => random.random_range(0..=scale * 20),
                _ => random.random_range(0..=(scale * limit.min(1_000) * 2).min(MOST_AT_ONCE)),
            };
            let permits = match random.random_range(0..10) {
                _ if case.is_single => 1,
                0..6 => random.random_range(1..=limit.min(3)),
                6..9 => random.random_range(1..=limit),
                _ => limit,
            };
            let verb = [Verb::Take, Verb::Take, Verb::Take, Verb::UpTo, Verb::Peek];
            Step { micros, verb: verb[random.random_range(0..verb.len())], permits }
        })
        .collect()
}

/// Checks that `answer` is what the reference says, and takes what was granted.
fn check(
    oracle: &mut dyn Oracle,
    limit: u64,
    step: Step,
    answer: &Answer,
    shown: &dyn Fn() -> String,
) {
    let now = i128::from(step.micros) * 1_000;
    let room = oracle.room(now);
    let needed = if step.verb == Verb::UpTo { 1 } else { step.permits };
    let expected = (room >= i128::from(needed)).then(|| step.permits.min(room.max(0) as u64));
    assert_eq!(answer.as_ref().ok().map(Grant::permits), expected, "{}", shown());
    // A look describes what the grant would leave.
    let is_peek = step.verb == Verb::Peek;
    if !is_peek && let Some(granted) = expected {
        oracle.take(now, granted);
    }
    let (remaining, reset_after, of_limit) = match answer {
        Ok(grant) => (grant.remaining(), grant.reset_after(), grant.limit()),
        Err(denied) => {
            (denied.remaining().unwrap(), denied.reset_after().unwrap(), denied.limit().unwrap())
        }
    };
    assert_eq!(of_limit, limit, "{}", shown());
    if is_peek && expected.is_some() {
        assert_eq!(remaining, room as u64 - step.permits, "{}", shown());
        return;
    }
    assert_eq!(remaining, oracle.room(now).max(0) as u64, "{}", shown());
    let reset = now + reset_after.as_nanos() as i128;
    assert!(oracle.is_full(reset), "{}: not full after {reset_after:?}", shown());
    assert!(reset == now || !oracle.is_full(reset - 1), "{}: full before {reset_after:?}", shown());
    if let Err(denied) = answer {
        let retry = now + denied.retry_after().unwrap().as_nanos() as i128;
        assert!(oracle.room(retry) >= i128::from(needed), "{}: waits too short", shown());
        assert!(
            retry > now && oracle.room(retry - 1) < i128::from(needed),
            "{}: too long",
            shown()
        );
    }
}

/// Runs the cases, each for its share of the steps.
fn check_all<'a>(clock: &'a ManualClock, cases: Vec<Case<'a>>) {
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    let count = share_of(STEPS).div_ceil(cases.len());
    for (index, mut case) in cases.into_iter().enumerate() {
        let steps = steps(&case, count, &mut random);
        let answers = run(&mut connection, &case.limit, &format!("case {index}"), &steps);
        let mut granted = 0;
        for (number, (step, answer)) in steps.into_iter().zip(&answers).enumerate() {
            let shown = || format!("{:?}, step {number}: {step:?}: {answer:?}", case.limit);
            if let Some(engine) = &mut case.engine {
                clock.set_nanos(step.micros * 1_000);
                if case.oracle.is_forgotten(i128::from(step.micros) * 1_000) {
                    engine.limiter = (engine.make)();
                }
                engine.check(step, answer, &shown);
            }
            check(&mut *case.oracle, case.limit.limit(), step, answer, &shown);
            granted += usize::from(answer.is_ok());
        }
        // Neither a limiter that grants everything is tested, nor one that grants nothing.
        assert!((count / 50..count - count / 50).contains(&granted), "{:?}: {granted}", case.limit);
    }
}
