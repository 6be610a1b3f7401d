//! The limiters of the engine, on the clock of a session.

use std::fmt::Debug;
use std::sync::Arc;

use sluicegate::wait::LineLimits;
use sluicegate::{ConfigError, ManualClock, Wait};
use sluicegate_flow::concurrency::ConcurrencyLimit;
use sluicegate_flow::shaper::Shaper;
use sluicegate_http::fields::QuotaPolicy;

use super::shares::KeyShares;
use super::{Algorithm, Numbers};
use crate::units::per_seconds;
use crate::wire::{InUse, Shape};

/// The clock that the limiters of a session share.
pub(crate) type SharedClock = Arc<ManualClock>;

/// A limiter of a rate, which can be drawn.
pub(crate) trait Drawn: Wait + Debug + Send + Sync {
    /// Returns its state at an instant.
    fn shape(&self, numbers: &Numbers, now_nanos: u64) -> Shape;

    /// Changes the numbers in place, and returns true; or returns false if the engine has to have a new
    /// limiter for that. What was used still counts.
    fn reconfigure(&self, old: &Numbers, new: &Numbers) -> bool;

    /// Returns the index of the window with least left, of several; or else 0.
    fn tightest(&self) -> usize {
        0
    }
}

/// A limiter.
#[derive(Debug)]
pub(crate) enum AnyLimiter {
    Rate(Box<dyn Drawn>),
    Queue(Shaper<SharedClock>),
    Shares(Box<KeyShares>),
    InFlight(Arc<ConcurrencyLimit>),
}

impl AnyLimiter {
    /// A limiter of a rate.
    pub(crate) fn rate(limiter: impl Drawn + 'static) -> AnyLimiter {
        AnyLimiter::Rate(Box::new(limiter))
    }
}

/// An algorithm and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    algorithm: &'static Algorithm,
    numbers: Numbers,
}

impl Terms {
    /// Returns the terms, of which a limiter can be made.
    ///
    /// # Errors
    ///
    /// Those of the engine, which has bounds of its own.
    pub(crate) fn new(
        algorithm: &'static Algorithm,
        numbers: Numbers,
    ) -> Result<Terms, ConfigError> {
        (algorithm.limiter)(&numbers, SharedClock::default())?;
        Ok(Terms { algorithm, numbers })
    }

    /// Creates a limiter, with so many places in its line.
    ///
    /// # Errors
    ///
    /// Those of the engine, for windows that need more bits than a word has.
    pub(crate) fn limiter(
        &self,
        clock: &SharedClock,
        line: usize,
    ) -> Result<AnyLimiter, ConfigError> {
        let limiter = (self.algorithm.limiter)(&self.numbers, Arc::clone(clock))?;
        let limits = LineLimits::new().max_waiters(line);
        match &limiter {
            AnyLimiter::Rate(limiter) => limiter.line().set_limits(limits),
            AnyLimiter::InFlight(limit) => limit.line().set_limits(limits),
            AnyLimiter::Queue(_) | AnyLimiter::Shares(_) => {}
        }
        Ok(limiter)
    }

    /// Returns the limits as fields of a response tell them.
    pub(crate) fn policies(&self) -> Vec<QuotaPolicy> {
        (self.algorithm.policies)(&self.numbers)
    }

    /// Returns true if permits are held for a time.
    pub(crate) fn holds(&self) -> bool {
        self.algorithm.holds()
    }

    /// Returns true if a denial tells which window has denied.
    pub(crate) fn has_several_windows(&self) -> bool {
        self.policies().len() > 1
    }
}

impl AnyLimiter {
    /// Returns the index of the window with least left, of several; or else 0.
    pub(crate) fn tightest(&self) -> usize {
        match self {
            AnyLimiter::Rate(limiter) => limiter.tightest(),
            _ => 0,
        }
    }

    /// Changes the terms from `old` to `new` in place, and returns true; or returns false if the engine
    /// has to have a new limiter for that. What was used still counts.
    pub(crate) fn reconfigure(&self, old: &Terms, new: &Terms) -> bool {
        if old.algorithm != new.algorithm {
            return false;
        }
        let numbers = &new.numbers;
        match self {
            AnyLimiter::Rate(limiter) => limiter.reconfigure(&old.numbers, numbers),
            AnyLimiter::Queue(shaper) => {
                let Ok(rate) = numbers.rate("permits", "period") else { return false };
                shaper.set_rate(rate);
                shaper.set_size(numbers.permits("size"));
                true
            }
            AnyLimiter::Shares(shares) => shares.reconfigure(numbers),
            AnyLimiter::InFlight(limit) => {
                limit.set_limit(numbers.permits("limit"));
                true
            }
        }
    }

    /// Returns the state at an instant. `in_use` is what is in flight.
    pub(crate) fn shape(&self, terms: &Terms, now_nanos: u64, in_use: Vec<InUse>) -> Shape {
        match self {
            AnyLimiter::Rate(limiter) => limiter.shape(&terms.numbers, now_nanos),
            AnyLimiter::Queue(shaper) => {
                let rate = per_seconds(shaper.rate());
                Shape::Queue { queued: shaper.queued(), size: shaper.size(), rate }
            }
            AnyLimiter::Shares(shares) => shares.common(now_nanos),
            AnyLimiter::InFlight(limit) => Shape::Concurrency { in_use, limit: limit.limit() },
        }
    }
}
