//! The set-up of a limiter of windows, as data; the limiter, and its mirror.

use std::time::Duration;

use sluicegate::window::{Compact, History, MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::*;

use super::reference::{self, Mirror, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fixed,
    FromFirst,
    Counter,
    Sliding,
    Compact,
    Multi,
    Log,
    Weighted,
}

#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) kind: Kind,
    /// Permits, and nanoseconds. All but `Multi` have the first only.
    pub(crate) limits: Vec<(u64, u64)>,
    pub(crate) slots: u32,
    /// The entries of a log.
    pub(crate) capacity: u64,
}

pub(crate) enum Subject<C: Clock> {
    Fixed(FixedWindow<C>),
    FromFirst(WindowFromFirst<C>),
    Counter(SlidingCounter<C>),
    Sliding(SlidingWindow<C>),
    Compact(SlidingWindow<C, Compact>),
    Multi(MultiWindow<C>),
    Log(SlidingLog<C>),
    Weighted(WeightedLog<C>),
}

macro_rules! each {
    ($subject:expr, $limiter:ident => $call:expr) => {
        match $subject {
            Subject::Fixed($limiter) => $call,
            Subject::FromFirst($limiter) => $call,
            Subject::Counter($limiter) => $call,
            Subject::Sliding($limiter) => $call,
            Subject::Compact($limiter) => $call,
            Subject::Multi($limiter) => $call,
            Subject::Log($limiter) => $call,
            Subject::Weighted($limiter) => $call,
        }
    };
}

macro_rules! each_of_one_limit {
    ($subject:expr, $multi:ident => $other:expr, $limiter:ident => $call:expr) => {
        match $subject {
            Subject::Multi($multi) => $other,
            Subject::Fixed($limiter) => $call,
            Subject::FromFirst($limiter) => $call,
            Subject::Counter($limiter) => $call,
            Subject::Sliding($limiter) => $call,
            Subject::Compact($limiter) => $call,
            Subject::Log($limiter) => $call,
            Subject::Weighted($limiter) => $call,
        }
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

    /// The limiter that is made so.
    pub(crate) fn subject<C: Clock>(&self, clock: C) -> Subject<C> {
        let (rate, slots) = (self.rate(), self.slots);
        match self.kind {
            Kind::Fixed => FixedWindow::with_clock(rate, clock).map(Subject::Fixed),
            Kind::FromFirst => WindowFromFirst::with_clock(rate, clock).map(Subject::FromFirst),
            Kind::Counter => SlidingCounter::with_clock(rate, clock).map(Subject::Counter),
            Kind::Sliding => SlidingWindow::with_clock(rate, slots, clock).map(Subject::Sliding),
            Kind::Compact => SlidingWindow::compact(rate, slots, clock).map(Subject::Compact),
            Kind::Multi => {
                let limits = self.limits.iter().map(|&limit| self::rate(limit));
                MultiWindow::with_clock(limits, slots, clock).map(Subject::Multi)
            }
            Kind::Log => SlidingLog::with_capacity(rate, self.capacity, clock).map(Subject::Log),
            Kind::Weighted => {
                WeightedLog::with_capacity(rate, self.capacity, clock).map(Subject::Weighted)
            }
        }
        .expect("a setup that is allowed")
    }

    /// Returns the mirror of the limiter, made at `now`.
    pub(crate) fn mirror(&self, now: u64) -> Mirror {
        let (limit, length) = self.limits[0];
        let lengths: Vec<u64> = self.limits.iter().map(|&(_, length)| length).collect();
        let state = match self.kind {
            Kind::Fixed => State::Fixed(reference::Fixed::new(now, length, false)),
            Kind::Counter => State::Fixed(reference::Fixed::new(now, length, true)),
            Kind::FromFirst => State::FromFirst(reference::FromFirst::new(now, length, limit)),
            Kind::Sliding | Kind::Compact | Kind::Multi => {
                State::Ring(reference::Ring::new(now, &lengths, self.slots))
            }
            Kind::Log => State::Log(reference::Log::unit(now, length, self.capacity)),
            Kind::Weighted => {
                State::Log(reference::Log::weighted(now, length, self.capacity, limit))
            }
        };
        Mirror::new(self.limits.iter().map(|&(permits, _)| permits).collect(), state)
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
