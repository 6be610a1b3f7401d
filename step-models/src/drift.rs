//! A model beside the engine that it describes. The models are the protocols written out, and use nothing
//! of the crate, so one could change without the other: here both do the same calls, one after the
//! other, and must give the same answers. What a row leaves out, it says.

use std::fmt::Debug;

use crate::explore::{CLOCK, Counts, Found, Model, Step};

/// Random numbers, the same ones each time.
pub(crate) struct Random(u64);

impl Random {
    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) % limit
    }

    /// Returns a program of `length` calls. It is leaked, as a model's programs are there for good.
    pub(crate) fn program<O>(
        &mut self,
        length: u64,
        op: impl Fn(&mut Random) -> O,
    ) -> &'static [O] {
        Vec::leak((0..length).map(|_| op(self)).collect())
    }
}

/// Grants, denials, and permits given back, of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) granted: bool,
    pub(crate) denied: bool,
    pub(crate) given_back: bool,
}

impl Answer {
    pub(crate) fn of<T, E>(result: &Result<T, E>) -> Answer {
        Answer { granted: result.is_ok(), denied: result.is_err(), given_back: false }
    }

    fn and(self, counts: Counts) -> Answer {
        Answer {
            granted: self.granted || counts.grants > 0,
            denied: self.denied || counts.denials > 0,
            given_back: self.given_back || counts.given_back > 0,
        }
    }
}

/// Runs a call of the one thread that makes any in the model, and in the engine, many times: the clock goes on by
/// `ticks(call)` before each call, `has_returned` tells when the model is done with it, and `engine` does
/// the same. Returns the answers.
pub(crate) fn beside<M: Model>(
    model: &M,
    calls: usize,
    ticks: impl Fn(usize) -> u64,
    has_returned: impl Fn(&M::State, usize) -> bool,
    mut engine: impl FnMut(usize, u64) -> Answer,
) -> Vec<Answer> {
    let mut state = model.start();
    let answers = (0..calls).map(|call| {
        for _ in 0..ticks(call) {
            state = step(model, &state, |who| who == CLOCK).0;
        }
        let mut answer = Answer::default();
        while !has_returned(&state, call) {
            let (next, counts) = step(model, &state, |who| who != CLOCK);
            (state, answer) = (next, answer.and(counts));
        }
        assert_eq!(engine(call, ticks(call)), answer, "call {call}, after which {state:?}");
        answer
    });
    answers.collect()
}

/// Takes a step of the clock or the thread, and returns what it counted. Where a model has a choice, which is a guess that
/// is checked later, this takes the first.
fn step<M: Model>(model: &M, state: &M::State, is_its: fn(usize) -> bool) -> (M::State, Counts)
where
    M::State: Debug,
{
    let chosen = choose(|found| model.steps(state, found), |step, _| is_its(step.who));
    chosen.unwrap_or_else(|| panic!("no step from {state:?}"))
}

/// Returns the first of the steps that is `chosen`, by the state that it leads to, and what all of them
/// count; `None` if there is none.
pub(crate) fn choose<S: Debug>(
    steps: impl FnOnce(&mut Found<S>),
    mut chosen: impl FnMut(Step, &S) -> bool,
) -> Option<(S, Counts)> {
    let mut found = Found::new();
    steps(&mut found);
    let (_, next, fault) = found.steps.into_iter().find(|(step, next, _)| chosen(*step, next))?;
    assert_eq!(fault, None, "of {next:?}");
    Some((next, found.counts))
}

/// Lets the clock of a model go on by an instant.
pub(crate) fn tick<M: Model>(model: &M, state: &mut M::State) {
    *state = step(model, state, |who| who == CLOCK).0;
}

/// Takes the first of the `steps` again and again until the call `has_returned`, in a model whose threads
/// each make one call. Returns its answer.
pub(crate) fn call<S: Debug>(
    state: &mut S,
    steps: impl Fn(&S, &mut Found<S>),
    has_returned: impl Fn(&S) -> bool,
) -> Answer {
    let mut answer = Answer::default();
    while !has_returned(state) {
        let (next, counts) = choose(|found| steps(state, found), |_, _| true).expect("it goes on");
        (*state, answer) = (next, answer.and(counts));
    }
    answer
}

/// Calls `row` many times. Checks that there were grants, denials, and permits given back if it
/// `gives_back`.
pub(crate) fn rows(gives_back: bool, row: impl Fn(&mut Random) -> Vec<Answer>) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let answers: Vec<Answer> = (0..2_000).flat_map(|_| row(&mut random)).collect();
    assert!(answers.iter().any(|answer| answer.granted));
    assert!(answers.iter().any(|answer| answer.denied));
    assert_eq!(answers.iter().any(|answer| answer.given_back), gives_back);
}
