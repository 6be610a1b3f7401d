//! Short histories of two and three threads, each explained by some order of the
//! calls one after another. What is checked:
//!
//! * for every recorded history there is an order of its calls, in which no call
//!   comes before one that had returned when it began, such that the sequential
//!   model gives every answer, to the unit and to the nanosecond;
//! * the checker rejects a history in which permits were granted twice, and one in
//!   which a caller saw a state that was past.
//!
//! The clock stands still, with a part of a token there; but to read it takes a
//! while, in which the other threads go on.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::Carry;
use sluicegate::*;

use crate::support::explained::{self, Recorder, Sequential, is_explained};
use crate::support::faults::Dawdling;
use crate::support::reference::{Held, Mirror, Plan, Said};

const HISTORIES: u64 = if cfg!(miri) { 4 } else { 1_000 };

const START_NANOS: u64 = 5_000_000_000;
const NOW_NANOS: u64 = 6_900_000_000;

fn quotas() -> [Quota; 3] {
    [
        quota!(3 / 2 seconds, burst 5),
        quota!(1 / second, burst 8).with_max_debt(2).unwrap(),
        quota!(2 / second, burst 3).with_refill(Refill::Interval),
    ]
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    TryAcquire(u64),
    UpTo(u64),
    Peek(u64),
    Force(u64),
    Drain,
    Reset,
    Reconfigure(usize, Carry),
    Snapshot,
    Restore(Held),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Said(Said),
    Held(Held),
    Done,
}

type Call = explained::Call<Verb, Answer>;

fn any_verb(random: &mut SmallRng) -> Verb {
    let permits = random.random_range(0..4);
    match random.random_range(0..14) {
        0..4 => Verb::TryAcquire(permits),
        4 | 5 => Verb::UpTo(permits),
        6 => Verb::Peek(permits),
        7 | 8 => Verb::Force(permits),
        9 => Verb::Drain,
        10 => Verb::Reset,
        11 => {
            let carry =
                [Carry::Keep, Carry::Scale, Carry::Reset, Carry::Empty][random.random_range(0..4)];
            Verb::Reconfigure(random.random_range(0..3), carry)
        }
        12 => Verb::Snapshot,
        _ => Verb::Restore(Held {
            balance: 5 << 28,
            token: 1 << 29,
            phase_nanos: 300_000_000,
            part: 1 << 27,
        }),
    }
}

fn call(bucket: &TokenBucket<&Dawdling>, verb: Verb) -> Answer {
    Answer::Said(match verb {
        Verb::TryAcquire(permits) => bucket.try_acquire(permits).into(),
        Verb::UpTo(permits) => bucket.try_acquire_up_to(permits).into(),
        Verb::Peek(permits) => bucket.peek(permits).into(),
        Verb::Force(permits) => bucket.force(permits).into(),
        Verb::Drain => bucket.drain().into(),
        Verb::Reset => {
            bucket.reset();
            return Answer::Done;
        }
        Verb::Reconfigure(index, carry) => {
            bucket.reconfigure(quotas()[index], carry);
            return Answer::Done;
        }
        Verb::Snapshot => return Answer::Held(bucket.snapshot().into()),
        Verb::Restore(held) => {
            bucket.restore(&held.into(), Duration::ZERO);
            return Answer::Done;
        }
    })
}

impl Sequential for Mirror {
    type Verb = Verb;
    type Answer = Answer;

    fn expected(&mut self, _: usize, &verb: &Verb) -> Answer {
        expected(self, verb)
    }
}

/// The same call of the model.
fn expected(mirror: &mut Mirror, verb: Verb) -> Answer {
    Answer::Said(match verb {
        Verb::TryAcquire(permits) => mirror.try_acquire(NOW_NANOS, permits),
        Verb::UpTo(permits) => mirror.try_acquire_up_to(NOW_NANOS, permits),
        Verb::Peek(permits) => mirror.peek(NOW_NANOS, permits),
        Verb::Force(permits) => mirror.force(NOW_NANOS, permits),
        Verb::Drain => mirror.drain(NOW_NANOS),
        Verb::Reset => {
            mirror.reset(NOW_NANOS);
            return Answer::Done;
        }
        Verb::Reconfigure(index, carry) => {
            mirror.reconfigure(NOW_NANOS, Plan::of_quota(quotas()[index]), carry);
            return Answer::Done;
        }
        Verb::Snapshot => return Answer::Held(mirror.snapshot(NOW_NANOS)),
        Verb::Restore(held) => {
            mirror.restore(NOW_NANOS, held, Duration::ZERO);
            return Answer::Done;
        }
    })
}

/// A limiter's model, empty but for a part of a token.
fn start(index: usize) -> Mirror {
    let mut mirror = Mirror::new(Plan::of_quota(quotas()[index]), u64::MAX, START_NANOS);
    mirror.drain(START_NANOS);
    mirror
}

/// Has `threads` threads make `calls` calls each, all at once.
fn record(index: usize, threads: usize, calls: usize, seed: u64) -> Vec<Vec<Call>> {
    let clock = Dawdling(ManualClock::at(START_NANOS));
    let bucket = TokenBucket::with_clock(quotas()[index], &clock);
    bucket.drain();
    clock.0.set_nanos(NOW_NANOS);

    let recorder = Recorder::default();
    explained::record(threads, |thread, all_are_there| {
        let mut random = SmallRng::seed_from_u64(seed << 8 | thread as u64);
        let verbs: Vec<Verb> = (0..calls).map(|_| any_verb(&mut random)).collect();
        Dawdling::begin_this_thread_at(random.random_range(0..3));
        all_are_there();
        let made = verbs.into_iter().map(|verb| recorder.call(|| (verb, call(&bucket, verb))));
        made.collect()
    })
}

#[test]
fn every_history_is_explained_by_some_order_of_its_calls() {
    for seed in 0..HISTORIES {
        let index = seed as usize % 3;
        let (threads, calls) = if seed % 2 == 0 { (3, 3) } else { (2, 4) };
        let history = record(index, threads, calls, seed);
        assert!(is_explained(&start(index), &history), "{history:#?}");
    }
}

/// A bucket that holds five, as the model.
fn full() -> Mirror {
    Mirror::new(Plan::of_quota(quotas()[0]), u64::MAX, NOW_NANOS)
}

/// A call with the answer that it gets from a full bucket.
fn answered_as_if_full(verb: Verb, began: u64, ended: u64) -> Call {
    Call { began, ended, verb, answer: expected(&mut full(), verb) }
}

#[test]
fn a_history_in_which_two_callers_get_the_same_permits_is_rejected() {
    let take = |permits| answered_as_if_full(Verb::TryAcquire(permits), 0, 3);
    // The two overlap, so either may have been the first; but not both.
    assert!(!is_explained(&full(), &[vec![take(5)], vec![take(5)]]));
    assert!(!is_explained(&full(), &[vec![take(1)], vec![take(1)]]));
    assert!(is_explained(&full(), &[vec![take(5)], vec![take(0)]]));
}

#[test]
fn a_history_in_which_a_caller_sees_what_had_been_taken_is_rejected() {
    let first = answered_as_if_full(Verb::Drain, 0, 1);
    // A peek that sees the limiter full may overlap the drain, or be before it.
    let peek = |began, ended| answered_as_if_full(Verb::Peek(5), began, ended);
    assert!(is_explained(&full(), &[vec![first], vec![peek(0, 2)]]));
    assert!(!is_explained(&full(), &[vec![first], vec![peek(2, 3)]]));
}
