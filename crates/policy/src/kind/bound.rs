//! The bounds on what limiters of each kind admit.

use std::time::Duration;

use sluicegate::calendar::{Calendar, CalendarUnit};
use sluicegate::{Quota, Rate, Refill};

use super::Kind;
use super::common::most_of_groups;

impl Kind {
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
            Kind::Shares { quota, groups } => most_of_groups(*quota, groups),
            Kind::Priorities { quota, classes } => {
                let reserve = classes.iter().map(|class| class.reserve).min().unwrap_or(0);
                quota.burst().saturating_sub(reserve)
            }
        }
    }

    /// Returns the most permits that are granted in any span of this length to callers that take no
    /// credit: the engine's proved bound for one key, or for all of them if they share one limiter.
    /// Permits that are taken by force, by reservations or by settlements come on top, at most the
    /// quota's `max_debt`.
    ///
    /// Spans are half-open, `[s, s + time)`, for every kind: of grants that are exactly one second
    /// apart, a span of a second has one. Rounds down to whole permits, and up to the next whole
    /// window. 0 for no time.
    #[must_use]
    pub fn most_in(&self, time: Duration) -> u64 {
        // The time from the first grant in a span to the last one that still is.
        let Some(between) = time.checked_sub(Duration::from_nanos(1)) else { return 0 };
        let windows = |length: Duration| ceil(time, length);
        let most = match self {
            Kind::TokenBucket { quota, .. }
            | Kind::LeakyMeter(quota)
            | Kind::Shares { quota, .. }
            | Kind::Priorities { quota, .. } => most_of_bucket(quota, between),
            Kind::Gcra { interval, tolerance } => {
                1 + (tolerance.as_nanos() + between.as_nanos()) / interval.as_nanos().max(1)
            }
            Kind::LeakyMinInterval(rate) => 1 + earned(*rate, between),
            // The end of one window, and all others that begin in this time.
            Kind::FixedWindow(limit) => u128::from(limit.permits()) * (windows(limit.period()) + 1),
            // The first request of the first one is before the span, or all windows begin in it.
            Kind::WindowFromFirst(limit) => {
                u128::from(limit.permits()) * (windows(limit.period()) + 1) - 1
            }
            // Less than twice the limit in any span of a window, and the limit in each window.
            Kind::SlidingCounter(limit) => {
                let (permits, windows) = (u128::from(limit.permits()), windows(limit.period()));
                ((2 * permits - 1) * windows).min(permits * (windows + 1))
            }
            Kind::SlidingWindow { limit, .. }
            | Kind::SlidingLog(limit)
            | Kind::WeightedLog { limit, .. } => {
                u128::from(limit.permits()) * windows(limit.period())
            }
            Kind::MultiWindow { limits, .. } => limits
                .iter()
                .map(|limit| u128::from(limit.permits()) * windows(limit.period()))
                .min()
                .unwrap_or(0),
            Kind::CalendarWindow { limit, calendar } => {
                u128::from(*limit) * windows_of(calendar, time)
            }
            Kind::Budget { amounts, zone } => {
                most_of_days(amounts, windows(shortest_day(Some(zone))) + 1)
            }
            Kind::All(parts) => {
                return parts.iter().map(|part| part.most_in(time)).min().unwrap_or(0);
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
}

/// Returns the number of lengths that a time takes, rounded up.
fn ceil(time: Duration, length: Duration) -> u128 {
    time.as_nanos().div_ceil(length.as_nanos().max(1))
}

fn earned(rate: Rate, time: Duration) -> u128 {
    u128::from(rate.permits()) * time.as_nanos() / rate.period().as_nanos().max(1)
}

/// Returns a time that no day of the zone is shorter than: the shortest since 1970 had 21 hours.
fn shortest_day(zone: Option<&str>) -> Duration {
    Duration::from_secs(if zone == Some("UTC") { 24 * 3600 } else { 20 * 3600 })
}

/// Returns the most windows of a calendar that such a time is in.
fn windows_of(calendar: &Calendar, time: Duration) -> u128 {
    let day = shortest_day(calendar.zone());
    let shortest = match calendar.unit() {
        CalendarUnit::Minute => Duration::from_secs(60),
        CalendarUnit::Hour => Duration::from_secs(3600),
        CalendarUnit::Week => 6 * day,
        CalendarUnit::Month => 27 * day,
        _ => day,
    };
    // A change of the zone's offset ends a minute or an hour early.
    let changes = match calendar.unit() {
        CalendarUnit::Minute | CalendarUnit::Hour => u128::from(calendar.zone() != Some("UTC")),
        _ => 0,
    };
    ceil(time, shortest) + 1 + changes
}

/// Returns the most that so many days in a row have: full weeks, and the best run of the other days.
fn most_of_days(amounts: &[u64; 7], days: u128) -> u128 {
    let week: u128 = amounts.iter().copied().map(u128::from).sum();
    let others = (days % 7) as usize;
    let run = |first: usize| -> u128 {
        (0..others).map(|day| u128::from(amounts[(first + day) % 7])).sum()
    };
    week * (days / 7) + (0..7).map(run).max().unwrap_or(0)
}

/// Returns the most that a bucket admits whose last grant is so long after the first.
fn most_of_bucket(quota: &Quota, between: Duration) -> u128 {
    let rate = quota.rate();
    let earned = match quota.refill() {
        // Each time as much as there is space for.
        Refill::Interval => {
            u128::from(rate.permits().min(quota.burst())) * ceil(between, rate.period())
        }
        Refill::Smooth => earned(rate, between),
    };
    u128::from(quota.burst()) + earned
}
