//! The answers that a limiter has to give: the references of the engine's own tests, which are slow
//! and share no line with it.
//!
//! A race is compared with the same calls one after the other, on the same code. So each of
//! these orders is compared with a reference first: else a fault that needs no race would be
//! in both, and no model would see it.

#[path = "../../tests/support/reference.rs"]
mod bucket;
#[path = "../../tests/windows/reference.rs"]
mod window;

use std::time::Duration;

use sluicegate::{Quota, Rate};

use crate::calls::{Answer, Op};

pub(crate) use self::window::{Fixed, FromFirst, Log, Ring, State};

/// Times at which the rest is looked at, in windows from now.
pub(crate) const LATER: [u64; 4] = [0, 1, 2, 3];

/// A limiter by definition.
#[derive(Debug)]
pub struct Reference {
    mirror: Mirror,
    /// The length of each window.
    lengths: Vec<u64>,
    /// The number of what a bucket holds; no number comes back but by giving back.
    version: u64,
    versions: u64,
}

#[derive(Clone, Debug)]
enum Mirror {
    Bucket(bucket::Mirror),
    Windows(window::Mirror),
}

/// The record by which a receipt is given back.
#[derive(Debug)]
pub(crate) enum Undo {
    /// The bucket's state before, its number, and the number of the state after.
    Bucket(Box<bucket::Mirror>, u64, u64),
    Windows(window::Undo),
}

impl Reference {
    pub(crate) fn of_bucket(quota: Quota, now_nanos: u64) -> Reference {
        let plan = bucket::Plan::of_quota(quota);
        let mirror = bucket::Mirror::new(plan, quota.burst(), now_nanos);
        Reference::new(Mirror::Bucket(mirror), Vec::new())
    }

    pub(crate) fn of_windows(windows: &[Rate], state: State) -> Reference {
        let limits = windows.iter().map(|window| window.permits()).collect();
        let lengths = windows.iter().map(|window| nanos(window.period())).collect();
        Reference::new(Mirror::Windows(window::Mirror::new(limits, state)), lengths)
    }

    fn new(mirror: Mirror, lengths: Vec<u64>) -> Reference {
        Reference { mirror, lengths, version: 0, versions: 0 }
    }

    /// Makes the change that a call makes on the way to its answer, as a step of its own.
    pub(crate) fn settle(&mut self, now_nanos: u64, permits: u64) {
        let Mirror::Windows(mirror) = &mut self.mirror else { return };
        mirror.peek(now_nanos, 0);
        if matches!(mirror.state, State::Ring(_)) {
            let (_, undo) = mirror.try_acquire_revocable(now_nanos, permits);
            mirror.give_back(undo);
        }
    }

    /// Makes the call, of which `held` is the receipt.
    ///
    /// # Panics
    ///
    /// If `answer` is another.
    pub(crate) fn assert_answers(
        &mut self,
        op: Op,
        now_nanos: u64,
        answer: Answer,
        held: &mut Option<Undo>,
    ) {
        let before = self.mirror.clone();
        let is_right = match &mut self.mirror {
            Mirror::Bucket(mirror) => {
                let was = Box::new(mirror.clone());
                let is_change = matches!(
                    op,
                    Op::Credit(1..) | Op::Reset | Op::Reconfigure(..) | Op::Restore(..)
                );
                if let Op::GiveBack = op {
                    let gave = held.take().map(|undo| match undo {
                        Undo::Bucket(before, number, written) if written == self.version => {
                            (*mirror, self.version) = (*before, number);
                            true
                        }
                        _ => false,
                    });
                    answer == Answer::GivenBack(gave)
                } else {
                    let is_right = is_of_bucket(mirror, op, now_nanos, answer);
                    let number = self.version;
                    if is_change || format!("{was:?}") != format!("{mirror:?}") {
                        self.versions += 1;
                        self.version = self.versions;
                    }
                    if let (Op::Revocable(_), Answer::Decision(Ok(_))) = (op, answer) {
                        *held = Some(Undo::Bucket(was, number, self.version));
                    }
                    is_right
                }
            }
            Mirror::Windows(mirror) => is_of_windows(mirror, op, now_nanos, answer, held),
        };
        assert!(is_right, "{op:?} => {answer:?} at {now_nanos} of {before:?}");
    }

    /// Looks at all that can be seen, as [`Subject::left`](crate::Subject::left) does.
    ///
    /// # Panics
    ///
    /// If it is not what is `left`.
    pub(crate) fn assert_left(&mut self, now_nanos: u64, left: &[Answer]) {
        let before = self.mirror.clone();
        let (&Answer::Count(healed), left) = left.split_last().expect("something is seen") else {
            unreachable!("the last is how often it was healed");
        };
        let mut left = left.iter().copied();
        let mut next = || left.next().expect("as much is seen");
        let is_right = match &mut self.mirror {
            Mirror::Bucket(mirror) => {
                [Op::Snapshot, Op::Quota, Op::Peek(1)]
                    .into_iter()
                    .all(|op| is_of_bucket(mirror, op, now_nanos, next()))
                    && mirror.healed() == healed
            }
            Mirror::Windows(mirror) => {
                self.lengths.iter().enumerate().all(|(which, length)| {
                    LATER.into_iter().all(|windows| {
                        let now_nanos = now_nanos + windows * length;
                        mirror.heal(now_nanos);
                        next() == Answer::Count(mirror.used(which, now_nanos))
                    })
                }) && is_of_windows(mirror, Op::Peek(1), now_nanos, next(), &mut None)
                    && mirror.healed() == healed
            }
        };
        assert!(is_right, "{left:?} and {healed} healed at {now_nanos} of {before:?}");
    }
}

/// Makes the call of a bucket; whether the answer is right.
fn is_of_bucket(mirror: &mut bucket::Mirror, op: Op, now_nanos: u64, answer: Answer) -> bool {
    let said = match op {
        Op::TryAcquire(permits) | Op::Revocable(permits) => mirror.try_acquire(now_nanos, permits),
        Op::TryAcquireUpTo(permits) => mirror.try_acquire_up_to(now_nanos, permits),
        Op::Peek(permits) => mirror.peek(now_nanos, permits),
        Op::Force(permits) => mirror.force(now_nanos, permits),
        Op::Drain => mirror.drain(now_nanos),
        Op::Quota => {
            return matches!(answer, Answer::Quota(quota)
                if bucket::Plan::of_quota(quota) == *mirror.plan());
        }
        Op::Snapshot => {
            let held = mirror.snapshot(now_nanos);
            return matches!(answer, Answer::Snapshot(snapshot) if held == snapshot.into());
        }
        Op::Credit(permits) => {
            mirror.credit(now_nanos, permits);
            return answer == Answer::Nothing;
        }
        Op::Reset => {
            mirror.reset(now_nanos);
            return answer == Answer::Nothing;
        }
        Op::Reconfigure(quota, carry) => {
            mirror.reconfigure(now_nanos, bucket::Plan::of_quota(quota), carry);
            return answer == Answer::Nothing;
        }
        Op::Restore(snapshot, away) => {
            mirror.restore(now_nanos, snapshot.into(), away);
            return answer == Answer::Nothing;
        }
        _ => return answer == Answer::Nothing,
    };
    matches!(answer, Answer::Decision(decision) if said == decision.into())
}

/// Makes the call of windows; whether the answer is right.
fn is_of_windows(
    mirror: &mut window::Mirror,
    op: Op,
    now_nanos: u64,
    answer: Answer,
    held: &mut Option<Undo>,
) -> bool {
    let said = match op {
        Op::TryAcquire(permits) => mirror.try_acquire(now_nanos, permits),
        Op::TryAcquireUpTo(permits) => mirror.try_acquire_up_to(now_nanos, permits),
        Op::Peek(permits) => mirror.peek(now_nanos, permits),
        Op::Revocable(permits) => {
            let (said, undo) = mirror.try_acquire_revocable(now_nanos, permits);
            let is_granted = matches!(answer, Answer::Decision(Ok(_)));
            *held = is_granted.then_some(Undo::Windows(undo));
            said
        }
        Op::GiveBack => {
            let gave = held.take().map(|undo| match undo {
                Undo::Windows(undo) => mirror.give_back(undo),
                Undo::Bucket(..) => unreachable!("a receipt of windows"),
            });
            return answer == Answer::GivenBack(gave);
        }
        Op::Count => {
            mirror.heal(now_nanos);
            return answer == Answer::Count(mirror.used(0, now_nanos));
        }
        Op::Limit(limit) => {
            mirror.limits[0] = limit;
            return answer == Answer::Nothing;
        }
        Op::Reset => {
            mirror.reset(now_nanos);
            return answer == Answer::Nothing;
        }
        _ => return answer == Answer::Nothing,
    };
    matches!(answer, Answer::Decision(decision) if said == decision.into())
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("a window of at most 146 years")
}
