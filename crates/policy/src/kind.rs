//! The limiters that a policy can name, and their numbers.

mod display;
mod memory;
mod on_redis;
mod parts;
mod steady;

pub(crate) use self::parts::match_parts;

use std::sync::Arc;
use std::time::Duration;

use sluicegate::calendar::{Budget, Calendar, CalendarError, CalendarWindow, Weekday};
use sluicegate::compose::All;
use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{
    ConfigError, FixedWindow, Gcra, LeakyBucket, Limiter, ManualClock, Quota, Rate, Refill,
    SlidingCounter, SlidingLog, SlidingWindow, TokenBucket,
};

use crate::SharedClock;

/// A limiter of any kind.
pub type BoxedLimiter = Box<dyn Limiter + Send + Sync>;

/// An algorithm of the engine and its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`TokenBucket`]
    TokenBucket {
        /// The rate and the burst.
        quota: Quota,
        /// The tokens that it starts with.
        initial: u64,
    },
    /// [`Gcra`]
    Gcra {
        /// Time between permits at the sustained rate.
        interval: Duration,
        /// The longest time by which a permit may come early.
        tolerance: Duration,
    },
    /// [`LeakyBucket::meter`]
    LeakyMeter(Quota),
    /// [`LeakyBucket::min_interval`]
    LeakyMinInterval(Rate),
    /// [`FixedWindow`]
    FixedWindow(Rate),
    /// [`WindowFromFirst`]
    WindowFromFirst(Rate),
    /// [`SlidingWindow`]
    SlidingWindow {
        /// Permits in a window of a length.
        limit: Rate,
        /// The number of slots that the window is divided into.
        slots: u32,
    },
    /// [`SlidingCounter`]
    SlidingCounter(Rate),
    /// [`SlidingLog`]
    SlidingLog(Rate),
    /// [`WeightedLog`]
    WeightedLog {
        /// Permits in a window of a length.
        limit: Rate,
        /// The most lines that it remembers.
        capacity: u64,
    },
    /// [`MultiWindow`]
    MultiWindow {
        /// Permits in the windows, and their lengths.
        limits: Vec<Rate>,
        /// The least number of slots of each.
        slots: u32,
    },
    /// [`CalendarWindow`]
    CalendarWindow {
        /// Permits in a window.
        limit: u64,
        /// The windows.
        calendar: Calendar,
    },
    /// [`Budget`]
    Budget {
        /// Permits on each day, from Monday on.
        amounts: [u64; 7],
        /// The name of the time zone.
        zone: String,
    },
    /// [`All`]
    All(Vec<Kind>),
}

/// The most requests that a weighted log remembers.
const MAX_LINES: u64 = (1 << 24) - 2;

/// The most slots of a window.
const MAX_SLOTS: u32 = 65_536;

/// Returns a rate of the same period with another number of permits, or the same rate if there is none.
fn with_permits(rate: Rate, permits: u64) -> Rate {
    Rate::new(permits, rate.period()).unwrap_or(rate)
}

/// Invalid numbers: no limiter can be built from them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbuildable {
    /// A number is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such calendar or budget.
    #[error(transparent)]
    Calendar(#[from] CalendarError),
}

impl Kind {
    /// Creates a limiter for one key, which reads the time from `clock`, in nanoseconds since
    /// the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`Unbuildable`] is the engine's verdict. The kinds of a
    /// [`LimiterPolicy`](crate::LimiterPolicy) have passed it.
    pub fn limiter(&self, clock: SharedClock) -> Result<BoxedLimiter, Unbuildable> {
        Ok(match self {
            Kind::TokenBucket { quota, initial } => {
                Box::new(TokenBucket::with_clock(*quota, clock).starting_with(*initial)?)
            }
            Kind::Gcra { interval, tolerance } => {
                Box::new(Gcra::with_clock(*interval, *tolerance, clock)?)
            }
            Kind::LeakyMeter(quota) => Box::new(LeakyBucket::meter_with_clock(*quota, clock)),
            Kind::LeakyMinInterval(rate) => {
                Box::new(LeakyBucket::min_interval_with_clock(*rate, clock))
            }
            Kind::FixedWindow(limit) => Box::new(FixedWindow::with_clock(*limit, clock)?),
            Kind::WindowFromFirst(limit) => Box::new(WindowFromFirst::with_clock(*limit, clock)?),
            Kind::SlidingWindow { limit, slots } => {
                Box::new(SlidingWindow::compact(*limit, *slots, clock)?)
            }
            Kind::SlidingCounter(limit) => Box::new(SlidingCounter::with_clock(*limit, clock)?),
            Kind::SlidingLog(limit) => Box::new(SlidingLog::with_clock(*limit, clock)?),
            Kind::WeightedLog { limit, capacity } => {
                Box::new(WeightedLog::with_capacity(*limit, *capacity, clock)?)
            }
            Kind::MultiWindow { limits, slots } => {
                Box::new(MultiWindow::with_clock(limits.iter().copied(), *slots, clock)?)
            }
            Kind::CalendarWindow { limit, calendar } => {
                Box::new(CalendarWindow::with_clock(*limit, calendar.clone(), clock)?)
            }
            Kind::Budget { amounts, zone } => {
                let budget = Budget::with_clock(amounts[0], zone, clock)?;
                let mut days = Weekday::ALL.into_iter().zip(amounts);
                Box::new(days.try_fold(budget, |budget, (day, amount)| budget.on(day, *amount))?)
            }
            Kind::All(parts) => {
                let parts: Result<Vec<_>, _> =
                    parts.iter().map(|part| part.limiter(Arc::clone(&clock))).collect();
                Box::new(All::new(parts?)?)
            }
        })
    }

    /// Describes the parts of the limiter: the windows of a `MultiWindow` and the limiters
    /// of an `All`, in the order of [`Denied::which`](sluicegate::Denied::which). Empty for
    /// any other.
    #[must_use]
    pub fn parts(&self) -> Vec<String> {
        match self {
            Kind::MultiWindow { limits, .. } => {
                limits.iter().map(|limit| display::in_any(*limit)).collect()
            }
            Kind::All(parts) => parts.iter().map(Kind::to_string).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns true if an idle key is the same as one that was never seen, so that a store may
    /// forget it. It is not if a bucket starts with less, or counts its periods from its start.
    #[must_use]
    pub fn is_new_when_full(&self) -> bool {
        match self {
            Kind::TokenBucket { quota, initial } => {
                quota.refill() == Refill::Smooth && *initial == quota.burst()
            }
            Kind::All(parts) => parts.iter().all(Kind::is_new_when_full),
            _ => true,
        }
    }

    /// Checks the numbers as [`limiter`](Kind::limiter) does, without the memory that a limiter of these
    /// numbers takes.
    pub(crate) fn check(&self) -> Result<(), Unbuildable> {
        // The time on the clock does not affect whether it can be built.
        self.small().limiter(Arc::new(ManualClock::new())).map(drop)
    }

    /// Returns a kind that takes little memory, and can be built if and only if this one can. Numbers
    /// that the engine refuses are left as they are: it does so before it allocates.
    fn small(&self) -> Kind {
        /// The largest limit of a sliding window that fits whatever its length and its slots are.
        const FITS_IN_ANY_WINDOW: u64 = 1 << 24;
        match self {
            // The engine checks a limit that it remembers, but nothing else about it.
            Kind::SlidingLog(limit) if limit.permits() <= 1 << 24 => {
                Kind::SlidingLog(with_permits(*limit, 1))
            }
            Kind::WeightedLog { limit, capacity: 1..=MAX_LINES } => {
                Kind::WeightedLog { limit: *limit, capacity: 1 }
            }
            Kind::SlidingWindow { limit, slots: 1..=MAX_SLOTS }
                if limit.permits() <= FITS_IN_ANY_WINDOW =>
            {
                Kind::SlidingWindow { limit: *limit, slots: 1 }
            }
            // The slots of all windows are numbered in the shortest one's, by as many bits as the
            // longest one takes; the largest limit takes the other bits.
            Kind::MultiWindow { limits, slots } if (4..=64).contains(&limits.len()) => {
                let decisive = [
                    limits.iter().min_by_key(|limit| limit.period()),
                    limits.iter().max_by_key(|limit| limit.period()),
                    limits.iter().max_by_key(|limit| limit.permits()),
                ];
                let limits = decisive.into_iter().flatten().copied().collect();
                Kind::MultiWindow { limits, slots: *slots }
            }
            other => other.clone(),
        }
    }

    /// Returns the most permits that a request may ask for without being refused for ever.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        match self {
            Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => quota.burst(),
            Kind::Gcra { interval, tolerance } => {
                let early = tolerance.as_nanos() / interval.as_nanos().max(1);
                u64::try_from(early).unwrap_or(u64::MAX).saturating_add(1)
            }
            Kind::LeakyMinInterval(_) | Kind::SlidingLog(_) => 1,
            Kind::FixedWindow(limit)
            | Kind::WindowFromFirst(limit)
            | Kind::SlidingWindow { limit, .. }
            | Kind::SlidingCounter(limit)
            | Kind::WeightedLog { limit, .. } => limit.permits(),
            Kind::MultiWindow { limits, .. } => {
                limits.iter().map(|limit| limit.permits()).min().unwrap_or(0)
            }
            Kind::CalendarWindow { limit, .. } => *limit,
            Kind::Budget { amounts, .. } => amounts.iter().copied().max().unwrap_or(0),
            Kind::All(parts) => parts.iter().map(Kind::most_at_once).min().unwrap_or(0),
        }
    }

    /// Returns true if a request for more than one permit is always refused.
    pub(crate) fn takes_only_one(&self) -> bool {
        match self {
            Kind::SlidingLog(_) => true,
            Kind::All(parts) => parts.iter().any(Kind::takes_only_one),
            _ => false,
        }
    }
}
