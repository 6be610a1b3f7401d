//! The set-up of a limiter of windows, as data; the limiter, and its mirror.

use std::time::Duration;

use sluicegate::window::*;
use sluicegate::*;

use super::reference::{Fixed, FromFirst, Log, Mirror, Ring, State};
use crate::support::limiters::windows;

#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) kind: Kind,
    /// Permits, and nanoseconds. All but `Multi` have the first only.
    pub(crate) limits: Vec<(u64, u64)>,
    pub(crate) slots: u32,
    /// The entries of a log.
    pub(crate) capacity: u64,
}

/// Defines the kinds: those of the list, and two of the ring with another set-up.
macro_rules! kinds {
    ($((
        $Kind:ident, $name:literal, $Window:ident,
        |$limit:ident, $slots:ident, $entries:ident, $clock:ident| $make:block,
        |$now:ident, $most:ident, $length:ident, $parts:ident, $places:ident| $state:block,
        $facts:tt
    ))*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($Kind,)*
            Compact,
            Multi,
        }

        impl Kind {
            pub(crate) const ALL: &'static [Kind] = &[$(Kind::$Kind,)* Kind::Compact, Kind::Multi];
        }

        pub(crate) enum Subject<C: Clock> {
            $($Kind($Window<C>),)*
            Compact(SlidingWindow<C, Compact>),
            Multi(MultiWindow<C>),
        }

        macro_rules! each_of_one_limit {
            ($subject:expr, $multi:ident => $other:expr, $limiter:ident => $call:expr) => {
                match $subject {
                    Subject::Multi($multi) => $other,
                    $(Subject::$Kind($limiter) => $call,)*
                    Subject::Compact($limiter) => $call,
                }
            };
        }

        impl Setup {
            /// The limiter that is made so.
            pub(crate) fn subject<C: Clock>(&self, clock: C) -> Subject<C> {
                let (rate, slots) = (self.rate(), self.slots);
                match self.kind {
                    $(Kind::$Kind => {
                        let ($limit, $slots, $entries, $clock) = (rate, slots, self.capacity, clock);
                        $make.map(Subject::$Kind)
                    })*
                    Kind::Compact => SlidingWindow::compact(rate, slots, clock).map(Subject::Compact),
                    Kind::Multi => {
                        let limits = self.limits.iter().map(|&limit| self::rate(limit));
                        MultiWindow::with_slots(limits, slots, clock).map(Subject::Multi)
                    }
                }
                .expect("a setup that is allowed")
            }

            /// Returns the mirror of the limiter, made at `now`.
            pub(crate) fn mirror(&self, now: u64) -> Mirror {
                let (limit, length) = self.limits[0];
                let state = match self.kind {
                    $(Kind::$Kind => {
                        let ($now, $most, $length) = (now, limit, length);
                        let ($parts, $places) = (self.slots, self.capacity);
                        $state
                    })*
                    Kind::Compact | Kind::Multi => {
                        let lengths: Vec<u64> = self.limits.iter().map(|limit| limit.1).collect();
                        State::Ring(Ring::new(now, &lengths, self.slots))
                    }
                };
                Mirror::new(self.limits.iter().map(|&(permits, _)| permits).collect(), state)
            }
        }
    };
}

windows!(kinds);

macro_rules! each {
    ($subject:expr, $limiter:ident => $call:expr) => {
        each_of_one_limit!($subject, $limiter => $call, $limiter => $call)
    };
}

impl Setup {
    /// The first limit.
    pub(crate) fn rate(&self) -> Rate {
        rate(self.limits[0])
    }

    /// The length of the first window.
    pub(crate) fn window_nanos(&self) -> u64 {
        self.limits[0].1
    }
}

fn rate((permits, period_nanos): (u64, u64)) -> Rate {
    Rate::new(permits, Duration::from_nanos(period_nanos)).expect("a rate that is allowed")
}

impl<C: Clock + Send + Sync> Subject<C> {
    /// The verbs.
    pub(crate) fn limiter(&self) -> &dyn Limiter {
        each!(self, limiter => limiter)
    }

    pub(crate) fn healed(&self) -> u64 {
        each!(self, limiter => limiter.healed())
    }

    pub(crate) fn snapshot(&self) -> History {
        each!(self, limiter => limiter.snapshot())
    }

    pub(crate) fn restore(&mut self, history: &History, away: Duration) {
        each!(self, limiter => limiter.restore(history, away));
    }

    pub(crate) fn count(&self, which: usize) -> u64 {
        each_of_one_limit!(self, multi => multi.count(which), limiter => limiter.count())
    }

    pub(crate) fn reconfigure(&self, which: usize, limit: u64) -> Result<(), ConfigError> {
        each_of_one_limit!(
            self,
            multi => multi.reconfigure(which, limit),
            limiter => limiter.reconfigure(limit)
        )
    }

    /// Each limit, and the length of its window.
    pub(crate) fn windows(&self) -> Vec<(u64, Duration)> {
        each_of_one_limit!(
            self,
            multi => multi.windows().collect(),
            limiter => vec![(limiter.limit(), limiter.window())]
        )
    }
}
