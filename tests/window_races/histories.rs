//! Short histories, each explained by some order of the calls one after another.
//!
//! Left out are changes of a limit, which is a word of its own: a caller that was
//! under way may be granted by the old limit after another was refused by the new.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::settle::Receipt;
use sluicegate::*;

use super::small_setups;
use crate::support::explained::{self, Recorder, Sequential, is_explained};
use crate::support::faults::Dawdling;
use crate::support::history::{Noted, last_reading};
use crate::windows::reference::{Mirror, Said, Undo};
use crate::windows::setup::{Kind, Setup, Subject};

/// The number of histories of each limiter.
const HISTORIES: u64 = if cfg!(miri) { 2 } else { 400 };

const START_NANOS: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
enum Verb {
    TryAcquire(u64),
    UpTo(u64),
    Peek(u64),
    Count,
    Revocable(u64),
    /// The last receipt of the thread, if it has one.
    GiveBack,
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Said(Said),
    Count(u64),
    Gave(Option<bool>),
    Done,
}

/// A call, and the reading of the clock that it was decided by.
type Call = explained::Call<(Verb, u64), Answer>;

fn any_verb(random: &mut SmallRng, kind: Kind) -> Verb {
    let permits = random.random_range(0..4);
    // A log takes one after the other, and forgets what it held when a reset began.
    let is_log = matches!(kind, Kind::Log | Kind::Weighted);
    match random.random_range(0..13) {
        5 | 6 if kind != Kind::Log => Verb::UpTo(permits),
        7 => Verb::Peek(permits),
        8 => Verb::Count,
        9 | 10 => Verb::Revocable(permits.min(2)),
        11 => Verb::GiveBack,
        12 if !is_log => Verb::Reset,
        _ => Verb::TryAcquire(permits),
    }
}

fn call<'a, C: Clock + Send + Sync>(
    subject: &'a Subject<C>,
    held: &mut Vec<Receipt<'a>>,
    verb: Verb,
) -> ((Verb, u64), Answer) {
    let limiter = subject.limiter();
    let answer = match verb {
        Verb::TryAcquire(permits) => Answer::Said(limiter.try_acquire(permits).into()),
        Verb::UpTo(permits) => Answer::Said(limiter.try_acquire_up_to(permits).into()),
        Verb::Peek(permits) => Answer::Said(limiter.peek(permits).into()),
        Verb::Count => Answer::Count(subject.count(0)),
        Verb::Revocable(permits) => {
            let answer = limiter.try_acquire_revocable(permits);
            let said = answer.as_ref().map(Receipt::grant).map_err(|denied| *denied);
            held.extend(answer);
            Answer::Said(said.into())
        }
        Verb::GiveBack => Answer::Gave(held.pop().map(Receipt::give_back)),
        Verb::Reset => {
            limiter.reset();
            Answer::Done
        }
    };
    ((verb, last_reading()), answer)
}

/// A limiter by its definition, and what the threads can give back.
#[derive(Clone)]
struct Model {
    mirror: Mirror,
    held: Vec<Vec<Undo>>,
}

impl Sequential for Model {
    type Verb = (Verb, u64);
    type Answer = Answer;

    fn expected(&mut self, thread: usize, &(verb, now): &(Verb, u64)) -> Answer {
        let mirror = &mut self.mirror;
        Answer::Said(match verb {
            Verb::TryAcquire(permits) => mirror.try_acquire(now, permits),
            Verb::UpTo(permits) => mirror.try_acquire_up_to(now, permits),
            Verb::Peek(permits) => mirror.peek(now, permits),
            Verb::Count => return Answer::Count(mirror.used(0, now)),
            Verb::Revocable(permits) => {
                let (said, undo) = mirror.try_acquire_revocable(now, permits);
                if matches!(said, Said::Granted { .. }) {
                    self.held[thread].push(undo);
                }
                said
            }
            Verb::GiveBack => {
                let undo = self.held[thread].pop();
                return Answer::Gave(undo.map(|undo| mirror.give_back(undo)));
            }
            Verb::Reset => {
                mirror.reset(now);
                return Answer::Done;
            }
        })
    }

    /// A call may begin a new slot, and then be refused because of a grant that came
    /// in between.
    fn begin(&mut self, &(verb, now): &(Verb, u64)) -> bool {
        match verb {
            Verb::TryAcquire(1..) | Verb::UpTo(1..) | Verb::Revocable(1..) => self.mirror.turn(now),
            _ => false,
        }
    }
}

/// Has threads make calls at once; the first of them moves the clock. The model as it
/// was before, and the calls.
fn record(setup: &Setup, threads: usize, calls: usize, seed: u64) -> (Model, Vec<Vec<Call>>) {
    let mut random = SmallRng::seed_from_u64(seed);
    let clock = Noted(Dawdling(ManualClock::at(START_NANOS)));
    let (subject, mut mirror) = (setup.subject(&clock), setup.mirror(START_NANOS));
    // Something of the past.
    for _ in 0..random.random_range(0..4) {
        let now = clock.0.0.now_nanos();
        assert_eq!(Said::from(subject.limiter().try_acquire(1)), mirror.try_acquire(now, 1));
        clock.0.0.advance_nanos(random.random_range(0..30));
    }
    // Too much now and then to take in the same window.
    let step_nanos = [0, 3, 15, 60][random.random_range(0..4)];

    let recorder = Recorder::default();
    let history = explained::record(threads, |thread, all_are_there| {
        let mut random = SmallRng::seed_from_u64(seed << 8 | thread as u64);
        let verbs: Vec<_> = (0..calls).map(|_| any_verb(&mut random, setup.kind)).collect();
        Dawdling::begin_this_thread_at(random.random_range(0..3));
        let mut held = Vec::new();
        all_are_there();
        let made = verbs.into_iter().map(|verb| {
            if thread == 0 {
                clock.0.0.advance_nanos(random.random_range(0..=step_nanos));
            }
            recorder.call(|| call(&subject, &mut held, verb))
        });
        made.collect()
    });
    (Model { mirror, held: vec![Vec::new(); threads] }, history)
}

#[test]
fn every_history_is_explained_by_some_order_of_its_calls() {
    for setup in small_setups() {
        for seed in 0..HISTORIES {
            let (threads, calls) = [(2, 5), (3, 3), (3, 4), (4, 3)][seed as usize % 4];
            let (model, history) = record(&setup, threads, calls, seed);
            assert!(is_explained(&model, &history), "{setup:?}: {:?} {history:#?}", model.mirror);
        }
    }
}

/// A call with the answer that it gets from the limiter as it was.
fn answered_at_first(model: &Model, verb: Verb, began: u64, ended: u64) -> Call {
    let verb = (verb, START_NANOS);
    Call { began, ended, verb, answer: model.clone().expected(0, &verb) }
}

#[test]
fn a_history_in_which_two_callers_get_the_same_permits_is_rejected() {
    for setup in small_setups().into_iter().filter(|setup| setup.kind != Kind::Log) {
        let model = Model { mirror: setup.mirror(START_NANOS), held: vec![Vec::new(); 2] };
        let take = |permits| answered_at_first(&model, Verb::TryAcquire(permits), 0, 3);
        assert!(!is_explained(&model, &[vec![take(3)], vec![take(3)]]));
        assert!(!is_explained(&model, &[vec![take(1)], vec![take(1)]]));
        assert!(is_explained(&model, &[vec![take(3)], vec![take(0)]]));
    }
}
