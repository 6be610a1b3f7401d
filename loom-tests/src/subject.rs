//! The limiters that a race can be about.

use std::time::Duration;

use sluicegate::{
    FixedWindow, Limiter, MultiWindow, SlidingCounter, SlidingLog, SlidingWindow, WeightedLog,
    WindowFromFirst,
};

use crate::orders::{Answer, Op};
use crate::{Bucket, TestClock};

/// A limiter, and what only its kind can do.
pub trait Subject: Limiter + Send + Sync + 'static {
    /// Its clock.
    fn clock(&self) -> &TestClock;

    /// The answer to a call that not every limiter knows.
    fn call(&self, op: Op) -> Answer;

    /// All that can be seen of it.
    fn left(&self) -> Vec<Answer>;

    /// Whether it comes to its caller's time at another moment than it grants.
    const SETTLES: bool = false;

    /// What a call for `permits` does before it is decided.
    fn settle(&self, _permits: u64) {}
}

impl Subject for Bucket {
    fn clock(&self) -> &TestClock {
        self.clock()
    }

    fn call(&self, op: Op) -> Answer {
        match op {
            Op::Force(permits) => return Answer::Decision(self.force(permits)),
            Op::Drain => return Answer::Decision(Ok(self.drain())),
            Op::Snapshot => return Answer::Snapshot(self.snapshot()),
            Op::Quota => return Answer::Quota(self.quota()),
            Op::Reconfigure(quota, carry) => self.reconfigure(quota, carry),
            Op::Restore(snapshot, away) => self.restore(&snapshot, away),
            other => unreachable!("a bucket has no {other:?}"),
        }
        Answer::Nothing
    }

    fn left(&self) -> Vec<Answer> {
        let look = [Op::Snapshot, Op::Quota].map(|op| self.call(op));
        let rest = [Answer::Decision(self.peek(1)), Answer::Count(self.healed())];
        look.into_iter().chain(rest).collect()
    }
}

/// What is counted now, and for three windows on: all that can still matter.
fn counts(clock: &TestClock, window: Duration, count: impl Fn() -> u64) -> Vec<Answer> {
    let now_nanos = clock.shared_nanos();
    let later = [0, 1, 2, 3].map(|windows| {
        clock.set(now_nanos + windows * window.as_nanos() as u64);
        Answer::Count(count())
    });
    clock.set(now_nanos);
    later.into()
}

/// `$settle` is how to come to the caller's time, if that is a step of its own.
macro_rules! subjects {
    ($($Limiter:ident $(settles $settle:expr)?;)*) => {
        $(
            impl Subject for $Limiter<TestClock> {
                fn clock(&self) -> &TestClock {
                    self.clock()
                }

                fn call(&self, op: Op) -> Answer {
                    match op {
                        Op::Count => Answer::Count(self.count()),
                        Op::Limit(limit) => {
                            self.reconfigure(limit).unwrap();
                            Answer::Nothing
                        }
                        other => unreachable!("a window has no {other:?}"),
                    }
                }

                fn left(&self) -> Vec<Answer> {
                    let mut left = counts(self.clock(), self.window(), || self.count());
                    left.push(Answer::Decision(self.peek(1)));
                    left.push(Answer::Count(self.healed()));
                    left
                }

                $(
                    const SETTLES: bool = true;

                    fn settle(&self, permits: u64) {
                        let settle: fn(&Self, u64) = $settle;
                        settle(self, permits);
                    }
                )?
            }
        )*
    };
}

/// A ring is turned, and healed, before it grants. Whoever gives back leaves the
/// turn behind.
fn turn(ring: &impl Limiter, permits: u64) {
    _ = ring.peek(0);
    if let Ok(receipt) = ring.try_acquire_revocable(permits) {
        assert!(receipt.give_back());
    }
}

subjects! {
    FixedWindow settles |window, _| _ = window.peek(0);
    SlidingCounter;
    WindowFromFirst;
    SlidingWindow settles |window, permits| turn(window, permits);
    SlidingLog settles |log, _| _ = log.peek(0);
    WeightedLog;
}

impl Subject for MultiWindow<TestClock> {
    fn clock(&self) -> &TestClock {
        self.clock()
    }

    fn call(&self, op: Op) -> Answer {
        match op {
            Op::Count => Answer::Count(self.count(0)),
            other => unreachable!("windows have no {other:?}"),
        }
    }

    fn left(&self) -> Vec<Answer> {
        let windows = self.windows().enumerate();
        let counts = windows.flat_map(|(which, (_, window))| {
            counts(self.clock(), window, move || self.count(which))
        });
        counts.chain([Answer::Decision(self.peek(1)), Answer::Count(self.healed())]).collect()
    }

    const SETTLES: bool = true;

    fn settle(&self, permits: u64) {
        turn(self, permits);
    }
}
