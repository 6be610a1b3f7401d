//! The limiters that a policy can name, and their numbers.

mod bound;
pub(crate) mod common;
mod memory;
mod on_redis;
mod parts;
mod small;
mod steady;
pub(crate) mod words;

use self::common::{ClassPolicy, ShareGroup};
pub(crate) use self::parts::match_parts;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indicatif::HumanCount;
use sluicegate::calendar::{Budget, Calendar, CalendarError, CalendarWindow, Weekday};
use sluicegate::compose::All;
use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{
    ConfigError, FixedWindow, Gcra, LeakyBucket, Limiter, Quota, Rate, SlidingCounter, SlidingLog,
    SlidingWindow, TokenBucket,
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
    /// [`Shares`](sluicegate::share::Shares)
    Shares {
        /// The rate and the burst of all tenants together.
        quota: Quota,
        /// The tenants, and the share of each. At most one group is that of all others.
        groups: Vec<ShareGroup>,
    },
    /// [`Priorities`](sluicegate::share::Priorities) over a [`TokenBucket`]
    Priorities {
        /// The rate and the burst of all classes together.
        quota: Quota,
        /// The classes, the last of which is that of all keys that no class names.
        classes: Vec<ClassPolicy>,
    },
}

/// Makes the limiter of a kind, and passes it on to the macro `$bucket` or `$window`, or the parts of an `All`
/// to `$all`. Windows that follow the calendar read the time from `$unix`.
macro_rules! limiter_of {
    ($kind:expr, $clock:expr, $unix:expr, $bucket:ident, $window:ident, $all:ident) => {
        match $kind {
            Kind::TokenBucket { quota, initial } => {
                $bucket!(TokenBucket::with_clock(*quota, $clock).starting_with(*initial)?)
            }
            Kind::Gcra { interval, tolerance } => {
                $bucket!(Gcra::with_clock(*interval, *tolerance, $clock)?)
            }
            Kind::LeakyMeter(quota) => $bucket!(LeakyBucket::meter_with_clock(*quota, $clock)),
            Kind::LeakyMinInterval(rate) => {
                $bucket!(LeakyBucket::min_interval_with_clock(*rate, $clock))
            }
            Kind::FixedWindow(limit) => $window!(FixedWindow::with_clock(*limit, $unix)?),
            Kind::WindowFromFirst(limit) => $window!(WindowFromFirst::with_clock(*limit, $clock)?),
            Kind::SlidingWindow { limit, slots } => {
                $window!(SlidingWindow::compact(*limit, *slots, $clock)?)
            }
            Kind::SlidingCounter(limit) => $window!(SlidingCounter::with_clock(*limit, $clock)?),
            Kind::SlidingLog(limit) => $window!(SlidingLog::with_clock(*limit, $clock)?),
            Kind::WeightedLog { limit, capacity } => {
                $window!(WeightedLog::with_capacity(*limit, *capacity, $clock)?)
            }
            Kind::MultiWindow { limits, slots } => {
                $window!(MultiWindow::with_slots(limits.iter().copied(), *slots, $clock)?)
            }
            Kind::CalendarWindow { limit, calendar } => {
                $window!(CalendarWindow::with_clock(*limit, calendar.clone(), $unix)?)
            }
            Kind::Budget { amounts, zone } => {
                let budget = Budget::with_clock(amounts[0], zone, $unix)?;
                let mut days = Weekday::ALL.into_iter().zip(amounts);
                $window!(days.try_fold(budget, |budget, (day, amount)| budget.on(day, *amount))?)
            }
            Kind::All(parts) => $all!(parts),
            Kind::Shares { .. } | Kind::Priorities { .. } => return Err(Unbuildable::Common),
        }
    };
}
#[cfg(feature = "registry")]
pub(crate) use limiter_of;

/// Passes the types of limiters to the macro `$walk`: a name, the type, whether it is a bucket, a window with
/// one limit or with several, and whether a decision is inlined into the caller.
#[cfg(feature = "registry")]
macro_rules! limiter_types {
    ($walk:ident) => {
        $walk! {
            (TokenBucket, TokenBucket<SharedClock>, bucket, inlined)
            (Gcra, Gcra<SharedClock>, bucket, inlined)
            (LeakyBucket, LeakyBucket<SharedClock>, bucket, inlined)
            (FixedWindow, FixedWindow<SharedClock>, window, inlined)
            (WindowFromFirst, WindowFromFirst<SharedClock>, window, inlined)
            (SlidingWindow, SlidingWindow<SharedClock>, window, inlined)
            (CompactWindow, SlidingWindow<SharedClock, Compact>, window, called)
            (SlidingCounter, SlidingCounter<SharedClock>, window, inlined)
            (SlidingLog, SlidingLog<SharedClock>, window, called)
            (WeightedLog, WeightedLog<SharedClock>, window, called)
            (MultiWindow, MultiWindow<SharedClock>, windows, called)
            (CalendarWindow, CalendarWindow<SharedClock>, window, called)
            (Budget, Budget<SharedClock>, windows, called)
            (All, All<LimiterOfKind>, parts, called)
        }
    };
}
#[cfg(feature = "registry")]
pub(crate) use limiter_types;

/// Invalid numbers: no limiter can be built from them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbuildable {
    /// A number is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such calendar or budget.
    #[error(transparent)]
    Calendar(#[from] CalendarError),
    /// It has keys that share one limiter, and is to be that of one key, or of none.
    #[error(
        "shares and priorities are one limiter for all keys: expected a key of a single field, not \"all\", and no \
         other limiter around it"
    )]
    Common,
}

impl Kind {
    /// Creates a limiter for one key, which reads the time from `clock`, in nanoseconds since
    /// the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`Unbuildable`] is the engine's verdict. The kinds of a
    /// [`LimiterPolicy`](crate::LimiterPolicy) have passed it. [`Unbuildable::Common`] if no key has a limiter of its
    /// own: see [`CommonLimiter`](crate::CommonLimiter).
    pub fn limiter(&self, clock: SharedClock) -> Result<BoxedLimiter, Unbuildable> {
        macro_rules! boxed {
            ($limiter:expr) => {
                Box::new($limiter)
            };
        }
        macro_rules! all {
            ($parts:expr) => {{
                let parts = $parts.iter().map(|part| part.limiter(Arc::clone(&clock)));
                Box::new(All::new(parts.collect::<Result<Vec<_>, _>>()?)?)
            }};
        }
        Ok(limiter_of!(self, clock, clock, boxed, boxed, all))
    }

    /// Returns the quota of a bucket that has one.
    #[must_use]
    pub fn quota(&self) -> Option<&Quota> {
        match self {
            Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => Some(quota),
            _ => None,
        }
    }

    /// Returns the limit of a window that has one, and its length.
    #[must_use]
    pub fn window(&self) -> Option<Rate> {
        self.clone().window_mut().copied()
    }

    /// Returns the same window with another limit, or `None` if it is none that has a
    /// [`window`](Kind::window).
    #[must_use]
    pub fn with_window(&self, window: Rate) -> Option<Kind> {
        let mut kind = self.clone();
        *kind.window_mut()? = window;
        Some(kind)
    }

    fn window_mut(&mut self) -> Option<&mut Rate> {
        match self {
            Kind::FixedWindow(limit)
            | Kind::WindowFromFirst(limit)
            | Kind::SlidingWindow { limit, .. }
            | Kind::SlidingCounter(limit)
            | Kind::SlidingLog(limit)
            | Kind::WeightedLog { limit, .. } => Some(limit),
            _ => None,
        }
    }
}

/// Describes the limiter in words.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::TokenBucket { quota, initial } => words::token_bucket(*quota, *initial, f),
            Kind::Gcra { interval, tolerance } => {
                let (interval, tolerance) =
                    (words::time_in_words(*interval), words::time_in_words(*tolerance));
                write!(f, "gcra: every {interval}, up to {tolerance} early")
            }
            Kind::LeakyMeter(quota) => {
                let holds = HumanCount(quota.burst());
                write!(f, "leaky bucket: holds {holds}, leaks {}", words::per(quota.rate()))
            }
            Kind::LeakyMinInterval(rate) if rate.permits() == 1 => {
                write!(f, "leaky bucket: at least {} apart", words::time_in_words(rate.period()))
            }
            Kind::LeakyMinInterval(rate) => {
                write!(f, "leaky bucket: {}, evenly apart", words::per(*rate))
            }
            Kind::FixedWindow(limit) => {
                write!(f, "fixed window: {}, aligned to the clock", words::per(*limit))
            }
            Kind::WindowFromFirst(limit) => {
                write!(f, "fixed window: {}, starting at the first request", words::per(*limit))
            }
            Kind::SlidingWindow { limit, slots } => {
                write!(f, "sliding window: {}, {slots} slots", words::in_any(*limit))
            }
            Kind::SlidingCounter(limit) => write!(f, "sliding counter: {}", words::per(*limit)),
            Kind::SlidingLog(limit) => write!(f, "sliding log: {}", words::in_any(*limit)),
            Kind::WeightedLog { limit, .. } => write!(f, "weighted log: {}", words::in_any(*limit)),
            Kind::MultiWindow { .. } => write!(f, "multi window: {}", self.parts().join(", ")),
            Kind::CalendarWindow { limit, calendar } => {
                let (unit, zone) = (words::unit(calendar), calendar.zone().unwrap_or("a zone"));
                write!(f, "calendar window: {} per {unit}, {zone}", HumanCount(*limit))
            }
            Kind::Budget { amounts, zone } => {
                f.write_str("budget: ")?;
                words::days(amounts, f)?;
                write!(f, ", {zone}")
            }
            Kind::All(_) => write!(f, "all of: {}", self.parts().join("; ")),
            Kind::Shares { quota, groups } => common::write_shares(*quota, groups, f),
            Kind::Priorities { quota, classes } => common::write_classes(*quota, classes, f),
        }
    }
}
