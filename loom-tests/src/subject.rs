//! The limiters that a race can be about.

use std::time::Duration;

use sluicegate::window::{Compact, MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{FixedWindow, Limiter, Rate, SlidingCounter, SlidingLog, SlidingWindow};

use crate::calls::{Answer, Op};
use crate::reference::{Fixed, FromFirst, LATER, Log, Reference, Ring, State};
use crate::{Bucket, TestClock};

/// A limiter, and what only its kind can do.
pub trait Subject: Limiter + Send + Sync + 'static {
    /// Its clock.
    fn clock(&self) -> &TestClock;

    /// The answer to a call that not every limiter knows.
    fn call(&self, op: Op) -> Answer;

    /// Returns the reference that it has to match from now on; `capacity` is the number of requests
    /// that a log has places for, if that is not its limit.
    fn reference(&self, capacity: Option<u64>) -> Reference;

    /// All that can be seen of it.
    fn left(&self) -> Vec<Answer>;

    /// True if it comes to its caller's time at another moment than it grants.
    const SETTLES: bool = false;

    /// Makes the change that a call for `permits` makes before it is decided.
    fn settle(&self, _permits: u64) {}
}

impl Subject for Bucket {
    fn clock(&self) -> &TestClock {
        self.clock()
    }

    fn reference(&self, _: Option<u64>) -> Reference {
        Reference::of_bucket(self.quota(), self.clock().shared_nanos())
    }

    fn call(&self, op: Op) -> Answer {
        match op {
            Op::Force(permits) => return Answer::Decision(self.force(permits)),
            Op::Drain => return Answer::Decision(Ok(self.drain())),
            Op::Snapshot => return Answer::Snapshot(self.snapshot()),
            Op::Quota => return Answer::Quota(self.quota()),
            Op::Credit(permits) => self.credit(permits),
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

/// Returns the count now and for three windows on, which is all that can still matter.
fn counts(clock: &TestClock, window: Duration, count: impl Fn() -> u64) -> Vec<Answer> {
    let now_nanos = clock.shared_nanos();
    let later = LATER.map(|windows| {
        clock.set(now_nanos + windows * window.as_nanos() as u64);
        Answer::Count(count())
    });
    clock.set(now_nanos);
    later.into()
}

/// `$state` is what it has to be that was made at a time, for a limit and the length of its
/// window, with so many places. `$settle` is how to come to the caller's time, if that is a step of its own.
macro_rules! subjects {
    ($($Limiter:ty => $state:expr $(, settles $settle:expr)?;)*) => {
        $(
            impl Subject for $Limiter {
                fn clock(&self) -> &TestClock {
                    self.clock()
                }

                fn reference(&self, capacity: Option<u64>) -> Reference {
                    let state: fn(u64, u64, u64, u64) -> State = $state;
                    let (limit, window) = (self.limit(), self.window());
                    let now_nanos = self.clock().shared_nanos();
                    let places = capacity.unwrap_or(limit);
                    let state = state(now_nanos, limit, window.as_nanos() as u64, places);
                    Reference::of_windows(&[Rate::new(limit, window).unwrap()], state)
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
    FixedWindow<TestClock> => |now, _, length, _| State::Fixed(Fixed::new(now, length, false)),
        settles |window, _| _ = window.peek(0);
    SlidingCounter<TestClock> => |now, _, length, _| State::Fixed(Fixed::new(now, length, true));
    WindowFromFirst<TestClock> => |now, limit, length, _| State::FromFirst(FromFirst::new(now, length, limit));
    SlidingWindow<TestClock> => |now, _, length, _| ring(now, &[length]),
        settles |window, permits| turn(window, permits);
    SlidingWindow<TestClock, Compact> => |now, _, length, _| ring(now, &[length]),
        settles |window, permits| turn(window, permits);
    SlidingLog<TestClock> => |now, _, length, places| State::Log(Log::unit(now, length, places)),
        settles |log, _| _ = log.peek(0);
    WeightedLog<TestClock> => |now, limit, length, places| State::Log(Log::weighted(now, length, places, limit));
}

/// Windows as the models have them: of one slot.
fn ring(now_nanos: u64, lengths: &[u64]) -> State {
    State::Ring(Ring::new(now_nanos, lengths, 1))
}

impl Subject for MultiWindow<TestClock> {
    fn clock(&self) -> &TestClock {
        self.clock()
    }

    fn reference(&self, _: Option<u64>) -> Reference {
        let windows: Vec<_> =
            self.windows().map(|(limit, window)| Rate::new(limit, window).unwrap()).collect();
        let lengths: Vec<_> =
            windows.iter().map(|window| window.period().as_nanos() as u64).collect();
        Reference::of_windows(&windows, ring(self.clock().shared_nanos(), &lengths))
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
