//! The limiters of the engine, on the clock of a session.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::concurrency::ConcurrencyLimit;
use sluicegate::shaper::Shaper;
use sluicegate::wait::{LineLimits, Queued};
use sluicegate::window::{MultiWindow, WeightedLog};
use sluicegate::{
    ConfigError, FixedWindow, Gcra, LeakyBucket, ManualClock, SlidingCounter, SlidingWindow,
    TokenBucket, Wait,
};

use super::Terms;
use crate::bounds;

/// The clock that the limiters of a session share.
pub(crate) type SharedClock = Arc<ManualClock>;

/// A limiter.
#[derive(Debug)]
pub(crate) enum AnyLimiter {
    Gcra(Gcra<SharedClock>),
    TokenBucket(TokenBucket<SharedClock>),
    LeakyBucket(LeakyBucket<SharedClock>),
    LeakyQueue(Shaper<SharedClock>),
    FixedWindow(FixedWindow<SharedClock>),
    SlidingWindow(SlidingWindow<SharedClock>),
    SlidingCounter(SlidingCounter<SharedClock>),
    SlidingLog(Box<Queued<WeightedLog<SharedClock>, SharedClock>>),
    SeveralWindows(MultiWindow<SharedClock>),
    Concurrency(Arc<ConcurrencyLimit>),
}

impl AnyLimiter {
    /// Creates a limiter, with so many places in its line.
    ///
    /// # Errors
    ///
    /// Those of the engine, for windows that need more bits than a word has.
    pub(crate) fn new(
        terms: &Terms,
        clock: &SharedClock,
        line: usize,
    ) -> Result<AnyLimiter, ConfigError> {
        let clock = Arc::clone(clock);
        let limiter = match *terms {
            Terms::Gcra { interval, tolerance } => {
                AnyLimiter::Gcra(Gcra::with_clock(interval, tolerance, clock)?)
            }
            Terms::TokenBucket { quota } => {
                AnyLimiter::TokenBucket(TokenBucket::with_clock(quota, clock))
            }
            Terms::LeakyBucket { quota } => {
                AnyLimiter::LeakyBucket(LeakyBucket::meter_with_clock(quota, clock))
            }
            Terms::LeakyQueue { rate, size } => {
                AnyLimiter::LeakyQueue(Shaper::with_clock(rate, size, clock))
            }
            Terms::FixedWindow { limit } => {
                AnyLimiter::FixedWindow(FixedWindow::with_clock(limit, clock)?)
            }
            Terms::SlidingWindow { limit, slots } => {
                AnyLimiter::SlidingWindow(SlidingWindow::with_clock(limit, slots, clock)?)
            }
            Terms::SlidingCounter { limit } => {
                AnyLimiter::SlidingCounter(SlidingCounter::with_clock(limit, clock)?)
            }
            Terms::SlidingLog { limit } => {
                // With room for any limit, so that it can be changed in place.
                let log = WeightedLog::with_clock(limit, Arc::clone(&clock))?;
                let log = log.with_max_limit(bounds::REMEMBERED as u64)?;
                AnyLimiter::SlidingLog(Box::new(Queued::with_clock(log, clock)))
            }
            Terms::SeveralWindows { limits, slots } => {
                AnyLimiter::SeveralWindows(MultiWindow::with_clock(limits, slots, clock)?)
            }
            Terms::Concurrency { limit } => {
                AnyLimiter::Concurrency(Arc::new(ConcurrencyLimit::new(limit)))
            }
        };
        let limits = LineLimits::new().max_waiters(line);
        match &limiter {
            AnyLimiter::Concurrency(limit) => limit.line().set_limits(limits),
            limiter => _ = limiter.rate().map(|rate| rate.line().set_limits(limits)),
        }
        Ok(limiter)
    }

    /// Returns the limiter if it limits a rate, and has a line for it.
    pub(crate) fn rate(&self) -> Option<&dyn Wait> {
        Some(match self {
            AnyLimiter::Gcra(limiter) => limiter,
            AnyLimiter::TokenBucket(limiter) => limiter,
            AnyLimiter::LeakyBucket(limiter) => limiter,
            AnyLimiter::FixedWindow(limiter) => limiter,
            AnyLimiter::SlidingWindow(limiter) => limiter,
            AnyLimiter::SlidingCounter(limiter) => limiter,
            AnyLimiter::SlidingLog(limiter) => &**limiter,
            AnyLimiter::SeveralWindows(limiter) => limiter,
            AnyLimiter::LeakyQueue(_) | AnyLimiter::Concurrency(_) => return None,
        })
    }

    /// Returns the index of the window with least left, of several; or else 0.
    pub(crate) fn tightest(&self) -> usize {
        let AnyLimiter::SeveralWindows(windows) = self else { return 0 };
        let left = windows
            .windows()
            .enumerate()
            .map(|(which, (limit, _))| (limit.saturating_sub(windows.count(which)), which));
        left.min().map_or(0, |(_, which)| which)
    }

    /// Changes the terms from `old` to `new` in place, and returns true; or returns false if the engine
    /// has to have a new limiter for that. What was used still counts.
    pub(crate) fn reconfigure(&self, old: &Terms, new: &Terms) -> bool {
        let is_kept = |old: Duration, new: Duration| old == new;
        match (self, old, new) {
            (AnyLimiter::Gcra(limiter), _, Terms::Gcra { interval, tolerance }) => {
                limiter.reconfigure(*interval, *tolerance, Carry::Keep).is_ok()
            }
            (AnyLimiter::TokenBucket(limiter), _, Terms::TokenBucket { quota }) => {
                limiter.reconfigure(*quota, Carry::Keep);
                true
            }
            (AnyLimiter::LeakyBucket(limiter), _, Terms::LeakyBucket { quota }) => {
                limiter.reconfigure(*quota, Carry::Keep);
                true
            }
            (AnyLimiter::LeakyQueue(shaper), _, Terms::LeakyQueue { rate, size }) => {
                shaper.set_rate(*rate);
                shaper.set_size(*size);
                true
            }
            (
                AnyLimiter::FixedWindow(limiter),
                Terms::FixedWindow { limit: old },
                Terms::FixedWindow { limit },
            ) => {
                is_kept(old.period(), limit.period())
                    && limiter.reconfigure(limit.permits()).is_ok()
            }
            (
                AnyLimiter::SlidingWindow(limiter),
                Terms::SlidingWindow { limit: old, slots: old_slots },
                Terms::SlidingWindow { limit, slots },
            ) => {
                old_slots == slots
                    && is_kept(old.period(), limit.period())
                    && limiter.reconfigure(limit.permits()).is_ok()
            }
            (
                AnyLimiter::SlidingCounter(limiter),
                Terms::SlidingCounter { limit: old },
                Terms::SlidingCounter { limit },
            ) => {
                is_kept(old.period(), limit.period())
                    && limiter.reconfigure(limit.permits()).is_ok()
            }
            (
                AnyLimiter::SlidingLog(limiter),
                Terms::SlidingLog { limit: old },
                Terms::SlidingLog { limit },
            ) => {
                is_kept(old.period(), limit.period())
                    && limiter.update(|log| log.reconfigure(limit.permits())).is_ok()
            }
            (
                AnyLimiter::SeveralWindows(limiter),
                Terms::SeveralWindows { limits: old, slots: old_slots },
                Terms::SeveralWindows { limits, slots },
            ) => {
                let mut changed = old.iter().zip(limits).enumerate();
                old_slots == slots
                    && changed.all(|(which, (old, new))| {
                        is_kept(old.period(), new.period())
                            && limiter.reconfigure(which, new.permits()).is_ok()
                    })
            }
            (AnyLimiter::Concurrency(limiter), _, Terms::Concurrency { limit }) => {
                limiter.set_limit(*limit);
                true
            }
            _ => false,
        }
    }
}
