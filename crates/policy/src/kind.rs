//! The limiters that a policy can name, and their numbers.

mod bound;
pub(crate) mod common;
mod memory;
mod on_redis;
mod parts;
mod small;
mod steady;
mod unbuildable;
pub(crate) mod words;

use self::common::{ClassPolicy, ShareGroup};
pub(crate) use self::parts::match_parts;
pub use self::unbuildable::Unbuildable;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indicatif::HumanCount;
use sluicegate::calendar::{Budget, Calendar, CalendarWindow, Weekday};
use sluicegate::compose::All;
use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{
    FixedWindow, Gcra, LeakyBucket, Limiter, Quota, Rate, SlidingCounter, SlidingLog,
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

    /// Returns the most permits that a request may ask for without being refused for ever.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        match self {
            Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => quota.burst(),
            Kind::Gcra { interval, tolerance } => {
                let most = bound::of_gcra(*interval, *tolerance, Duration::ZERO);
                u64::try_from(most).unwrap_or(u64::MAX)
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
            Kind::Shares { quota, groups } => common::most_of_groups(*quota, groups),
            Kind::Priorities { quota, classes } => {
                let reserve = classes.iter().map(|class| class.reserve).min().unwrap_or(0);
                quota.burst().saturating_sub(reserve)
            }
        }
    }

    /// Returns the most permits that are granted in any span of this length to callers that take no credit: the engine's proved
    /// bound for one key, or for all of them if they share one limiter. Permits that are taken by force, by reservations or by
    /// settlements come on top, at most the quota's `max_debt`.
    ///
    /// Spans are half-open, `[s, s + time)`, for every kind: of grants that are exactly one second apart, a span of a second has
    /// one. Rounds down to whole permits, and up to the next whole window. 0 for no time.
    #[must_use]
    pub fn most_in(&self, time: Duration) -> u64 {
        // The time from the first grant in a span to the last one that still is.
        let Some(between) = time.checked_sub(Duration::from_nanos(1)) else { return 0 };
        let most = match self {
            Kind::TokenBucket { quota, .. }
            | Kind::LeakyMeter(quota)
            | Kind::Shares { quota, .. }
            | Kind::Priorities { quota, .. } => bound::of_bucket(quota, between),
            Kind::Gcra { interval, tolerance } => bound::of_gcra(*interval, *tolerance, between),
            Kind::LeakyMinInterval(rate) => bound::of_min_interval(*rate, between),
            Kind::FixedWindow(limit) => bound::of_fixed_window(*limit, time),
            Kind::WindowFromFirst(limit) => bound::of_window_from_first(*limit, time),
            Kind::SlidingCounter(limit) => bound::of_counter(*limit, time),
            Kind::SlidingWindow { limit, .. }
            | Kind::SlidingLog(limit)
            | Kind::WeightedLog { limit, .. } => bound::of_sliding(*limit, time),
            Kind::MultiWindow { limits, .. } => {
                limits.iter().map(|limit| bound::of_sliding(*limit, time)).min().unwrap_or(0)
            }
            Kind::CalendarWindow { limit, calendar } => bound::of_calendar(*limit, calendar, time),
            Kind::Budget { amounts, zone } => bound::of_days(amounts, zone, time),
            Kind::All(parts) => {
                parts.iter().map(|part| part.most_in(time)).min().unwrap_or(0).into()
            }
        };
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// Returns why more may be admitted than the limit says, if so.
    pub(crate) fn why(&self) -> Option<&'static str> {
        match self {
            // Two of them are a window apart.
            Kind::WindowFromFirst(limit) if limit.permits() == 1 => None,
            Kind::FixedWindow(_) | Kind::WindowFromFirst(_) => Some(
                "About twice the limit can be admitted in a short time: at the end of one window and \
                 the beginning of the next.",
            ),
            Kind::SlidingCounter(_) => Some(
                "Less than twice the limit can be admitted in any interval: the requests of the \
                 previous window are assumed to be spread evenly over it.",
            ),
            Kind::CalendarWindow { .. } | Kind::Budget { .. } => Some(
                "More than the limit can be admitted in a short time: at the end of one window and \
                 the beginning of the next.",
            ),
            Kind::TokenBucket { .. }
            | Kind::LeakyMeter(_)
            | Kind::Gcra { .. }
            | Kind::Shares { .. }
            | Kind::Priorities { .. } => Some(
                "This is a full burst after an idle time, plus the tokens earned in that time.",
            ),
            _ => None,
        }
    }

    /// Returns the quota of a bucket that has one.
    #[must_use]
    pub fn quota(&self) -> Option<&Quota> {
        match self {
            Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => Some(quota),
            _ => None,
        }
    }

    /// Returns the same bucket with another [`quota`](Kind::quota), if it has one. A bucket that starts full still does.
    #[must_use]
    pub fn with_quota(&self, quota: Quota) -> Option<Kind> {
        match self {
            Kind::TokenBucket { quota: old, initial } => {
                let burst = quota.burst();
                let initial = if *initial == old.burst() { burst } else { (*initial).min(burst) };
                Some(Kind::TokenBucket { quota, initial })
            }
            Kind::LeakyMeter(_) => Some(Kind::LeakyMeter(quota)),
            _ => None,
        }
    }

    /// Returns the limit of a window that has one, and its length.
    #[must_use]
    pub fn window(&self) -> Option<Rate> {
        self.clone().window_mut().copied()
    }

    /// Returns the same window with another limit, if it has a [`window`](Kind::window).
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
