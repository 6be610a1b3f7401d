//! A race is right if its outcome is that of the same calls in some order.
//!
//! [`assert_one_after_the_other`] makes all the orders that keep each thread's
//! own, runs each of them in one thread on a limiter of its own beside its reference (see
//! [`Reference`]), and then explores the race. Every answer of every call is compared, with all that is in it, and
//! so is what the limiter is left with.

use sluicegate::{Clock, Quota};

use crate::calls::{Answer, Op};
use crate::reference::Reference;
use crate::{Arc, Bucket, Subject, TestClock, check, once, race};

/// A place for the threads to meet: a limiter that was made at 0, then used by one thread at
/// another time.
pub trait Stage: Clone + Send + Sync + 'static {
    /// The limiter that they share.
    type Limiter: Subject;

    /// A new one, and what the clock shows from then on, and what was called
    /// before the race.
    fn make(&self) -> (Self::Limiter, u64, &[Op]);

    /// Returns the reference that a new limiter has to match.
    fn reference(&self, limiter: &Self::Limiter) -> Reference;

    /// The limiter as the threads find it.
    fn set(&self) -> Arc<Self::Limiter> {
        TestClock::run_ahead(0);
        let (limiter, now_nanos, before) = self.make();
        limiter.clock().set(now_nanos);
        for op in before {
            op.on(&limiter, &mut None);
        }
        Arc::new(limiter)
    }
}

/// A bucket made at 0 with `quota`, then used by one thread at `now_nanos`.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The quota at first.
    pub quota: Quota,
    /// The clock's reading from then on.
    pub now_nanos: u64,
    /// The calls made before the race.
    pub before: Vec<Op>,
}

impl Stage for Scene {
    type Limiter = Bucket;

    fn make(&self) -> (Bucket, u64, &[Op]) {
        (Bucket::with_clock(self.quota, TestClock::new()), self.now_nanos, &self.before)
    }

    fn reference(&self, limiter: &Bucket) -> Reference {
        Reference::of_bucket(self.quota, limiter.clock().shared_nanos())
    }
}

/// The same for a limiter of windows.
#[derive(Debug)]
pub struct Windows<L> {
    /// Makes it on a clock.
    pub new: fn(TestClock) -> L,
    /// For how many requests a log has places, if that is not its limit.
    pub capacity: Option<u64>,
    /// The clock's reading from then on.
    pub now_nanos: u64,
    /// The calls made before the race.
    pub before: Vec<Op>,
}

// Not derived: the limiter need not be `Clone`.
impl<L> Clone for Windows<L> {
    fn clone(&self) -> Windows<L> {
        Windows { before: self.before.clone(), ..*self }
    }
}

impl<L: Subject> Stage for Windows<L> {
    type Limiter = L;

    fn make(&self) -> (L, u64, &[Op]) {
        ((self.new)(TestClock::new()), self.now_nanos, &self.before)
    }

    fn reference(&self, limiter: &L) -> Reference {
        limiter.reference(self.capacity)
    }
}

/// The answers of each thread, and the limiter as it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    answers: Vec<Vec<Answer>>,
    left: Vec<Answer>,
}

impl Outcome {
    fn new(answers: Vec<Vec<Answer>>, limiter: &impl Subject, ahead_nanos: u64) -> Outcome {
        TestClock::run_ahead(ahead_nanos);
        Outcome { answers, left: limiter.left() }
    }
}

/// Checks that whatever `programs` do at the same time in `scene`, one thread
/// could have brought about too, by the same calls one after the other.
///
/// # Panics
///
/// If a race ends in a way that no order of the calls does.
pub fn assert_one_after_the_other<S: Stage, const N: usize>(
    preemptions: usize,
    scene: &S,
    programs: [&[Op]; N],
) {
    let programs = programs.map(<[Op]>::to_vec);
    let ahead_nanos = |op: &Op| if let Op::RunAhead(nanos) = op { *nanos } else { 0 };
    let last_nanos = programs.iter().flatten().map(ahead_nanos).max().unwrap_or(0);
    let steps = programs.each_ref().map(|program| steps::<S::Limiter>(program));

    let mut expected = Vec::new();
    for order in orders(&steps) {
        let (scene, steps) = (scene.clone(), steps.clone());
        let outcome = once(move || alone(&scene, &steps, &order, last_nanos));
        if !expected.contains(&outcome) {
            expected.push(outcome);
        }
    }

    let scene = scene.clone();
    check(preemptions, move || {
        let limiter = scene.set();
        let answers = race(&limiter, programs.clone(), |limiter, program| {
            let mut held = None;
            program.iter().map(|op| op.on(limiter, &mut held)).collect()
        });
        let outcome = Outcome::new(answers.into(), &*limiter, last_nanos);
        assert!(
            expected.contains(&outcome),
            "no order of the calls explains {programs:?} => {outcome:#?}\nbut only {expected:#?}",
        );
    });
}

/// A part of a program that happens at one moment.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A call on the way to which the limiter comes to its caller's time, which
    /// others may see before they see the call.
    Settle(u64),
    Call(Op),
}

fn steps<L: Subject>(program: &[Op]) -> Vec<Step> {
    let mut steps = Vec::new();
    for &op in program {
        match op {
            Op::TryAcquire(permits) | Op::Revocable(permits) if L::SETTLES => {
                steps.push(Step::Settle(permits));
            }
            Op::TryAcquireUpTo(_) if L::SETTLES => steps.push(Step::Settle(1)),
            _ => {}
        }
        steps.push(Step::Call(op));
    }
    steps
}

/// The outcome if one thread makes the calls in `order`, a list of whose turn
/// it is.
fn alone<S: Stage>(scene: &S, programs: &[Vec<Step>], order: &[usize], last_nanos: u64) -> Outcome {
    TestClock::run_ahead(0);
    let (limiter, now_nanos, before) = scene.make();
    let mut reference = scene.reference(&limiter);
    limiter.clock().set(now_nanos);
    for op in before {
        let answer = op.on(&limiter, &mut None);
        reference.assert_answers(*op, limiter.clock().now_nanos(), answer, &mut None);
    }
    let mut ahead_nanos = vec![0; programs.len()];
    let mut next = vec![0; programs.len()];
    let mut held: Vec<_> = programs.iter().map(|_| (None, None)).collect();
    let mut answers = vec![Vec::new(); programs.len()];
    for &turn in order {
        let step = programs[turn][next[turn]];
        next[turn] += 1;
        if let Step::Call(Op::RunAhead(nanos)) = step {
            ahead_nanos[turn] = nanos;
        }
        TestClock::run_ahead(ahead_nanos[turn]);
        let now_nanos = limiter.clock().now_nanos();
        match step {
            Step::Settle(permits) => {
                limiter.settle(permits);
                reference.settle(now_nanos, permits);
            }
            Step::Call(op) => {
                let (receipt, undo) = &mut held[turn];
                let answer = op.on(&limiter, receipt);
                reference.assert_answers(op, now_nanos, answer, undo);
                answers[turn].push(answer);
            }
        }
    }
    let outcome = Outcome::new(answers, &limiter, last_nanos);
    reference.assert_left(limiter.clock().now_nanos(), &outcome.left);
    outcome
}

/// All ways to take turns.
fn orders(programs: &[Vec<Step>]) -> Vec<Vec<usize>> {
    fn add(rest: &mut [usize], order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if rest.iter().all(|&calls| calls == 0) {
            all.push(order.clone());
        }
        for turn in 0..rest.len() {
            if rest[turn] > 0 {
                rest[turn] -= 1;
                order.push(turn);
                add(rest, order, all);
                order.pop();
                rest[turn] += 1;
            }
        }
    }
    let mut all = Vec::new();
    let mut calls: Vec<usize> = programs.iter().map(Vec::len).collect();
    add(&mut calls, &mut Vec::new(), &mut all);
    all
}
