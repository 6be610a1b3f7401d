//! A race is right if its outcome is that of the same calls in some order.
//!
//! [`assert_one_after_the_other`] makes all the orders that keep each thread's
//! own, runs each of them in one thread on a bucket of its own, and then explores
//! the race. Every answer of every call is compared, with all that is in it, and
//! so is what the bucket is left with.

use std::time::Duration;

use sluicegate::{Carry, Denied, Grant, Quota, Snapshot};

use crate::{Arc, Bucket, TestClock, bucket, check, once, race};

/// A call.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// `try_acquire`.
    TryAcquire(u64),
    /// `try_acquire_up_to`.
    TryAcquireUpTo(u64),
    /// `peek`.
    Peek(u64),
    /// `force`.
    Force(u64),
    /// `drain`.
    Drain,
    /// `reset`.
    Reset,
    /// `reconfigure`.
    Reconfigure(Quota, Carry),
    /// `snapshot`.
    Snapshot,
    /// `restore`.
    Restore(Snapshot, Duration),
    /// `quota`.
    Quota,
    /// No call: the thread's own clock is this many nanoseconds ahead from now on.
    RunAhead(u64),
}

impl Op {
    fn on(self, bucket: &Bucket) -> Answer {
        match self {
            Op::TryAcquire(permits) => return Answer::Decision(bucket.try_acquire(permits)),
            Op::TryAcquireUpTo(permits) => {
                return Answer::Decision(bucket.try_acquire_up_to(permits));
            }
            Op::Peek(permits) => return Answer::Decision(bucket.peek(permits)),
            Op::Force(permits) => return Answer::Decision(bucket.force(permits)),
            Op::Drain => return Answer::Decision(Ok(bucket.drain())),
            Op::Snapshot => return Answer::Snapshot(bucket.snapshot()),
            Op::Quota => return Answer::Quota(bucket.quota()),
            Op::Reset => bucket.reset(),
            Op::Reconfigure(quota, carry) => bucket.reconfigure(quota, carry),
            Op::Restore(snapshot, away) => bucket.restore(&snapshot, away),
            Op::RunAhead(nanos) => TestClock::run_ahead(nanos),
        }
        Answer::Nothing
    }
}

/// What a call answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Decision(Result<Grant, Denied>),
    Snapshot(Snapshot),
    Quota(Quota),
    Nothing,
}

/// The bucket that the threads meet: made at 0 with `quota`, then used by one
/// thread at `now_nanos`.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The quota at first.
    pub quota: Quota,
    /// What the clock shows from then on.
    pub now_nanos: u64,
    /// What was called before the race.
    pub before: Vec<Op>,
}

impl Scene {
    fn set(&self) -> Arc<Bucket> {
        TestClock::run_ahead(0);
        let bucket = bucket(self.quota);
        bucket.clock().set(self.now_nanos);
        for op in &self.before {
            op.on(&bucket);
        }
        bucket
    }
}

/// What each thread was answered, and the bucket as it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    answers: Vec<Vec<Answer>>,
    left: [Answer; 3],
    healed: u64,
}

impl Outcome {
    fn new(answers: Vec<Vec<Answer>>, bucket: &Bucket, ahead_nanos: u64) -> Outcome {
        TestClock::run_ahead(ahead_nanos);
        let left = [Op::Snapshot, Op::Quota, Op::Peek(1)].map(|op| op.on(bucket));
        Outcome { answers, left, healed: bucket.healed() }
    }
}

/// Checks that whatever `programs` do at the same time in `scene`, one thread
/// could have brought about too, by the same calls one after the other.
///
/// # Panics
///
/// If a race ends in a way that no order of the calls does.
pub fn assert_one_after_the_other<const N: usize>(
    preemptions: usize,
    scene: &Scene,
    programs: [&[Op]; N],
) {
    let programs = programs.map(<[Op]>::to_vec);
    let ahead_nanos = |op: &Op| if let Op::RunAhead(nanos) = op { *nanos } else { 0 };
    let last_nanos = programs.iter().flatten().map(ahead_nanos).max().unwrap_or(0);

    let mut expected = Vec::new();
    for order in orders(&programs) {
        let (scene, programs) = (scene.clone(), programs.clone());
        let outcome = once(move || alone(&scene, &programs, &order, last_nanos));
        if !expected.contains(&outcome) {
            expected.push(outcome);
        }
    }

    let scene = scene.clone();
    check(preemptions, move || {
        let bucket = scene.set();
        let answers = race(&bucket, programs.clone(), |bucket, program| {
            program.iter().map(|op| op.on(bucket)).collect()
        });
        let outcome = Outcome::new(answers.into(), &bucket, last_nanos);
        assert!(
            expected.contains(&outcome),
            "no order of the calls explains {programs:?} => {outcome:#?}\nbut only {expected:#?}",
        );
    });
}

/// The outcome if one thread makes the calls in `order`, a list of whose turn
/// it is.
fn alone(scene: &Scene, programs: &[Vec<Op>], order: &[usize], last_nanos: u64) -> Outcome {
    let bucket = scene.set();
    let mut ahead_nanos = vec![0; programs.len()];
    let mut answers = vec![Vec::new(); programs.len()];
    for &turn in order {
        let op = programs[turn][answers[turn].len()];
        if let Op::RunAhead(nanos) = op {
            ahead_nanos[turn] = nanos;
        }
        TestClock::run_ahead(ahead_nanos[turn]);
        answers[turn].push(op.on(&bucket));
    }
    Outcome::new(answers, &bucket, last_nanos)
}

/// All ways to take turns.
fn orders(programs: &[Vec<Op>]) -> Vec<Vec<usize>> {
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
