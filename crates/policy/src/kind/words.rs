//! Numbers of limiters in words, as the report shows them.

use std::fmt;
use std::time::Duration;

use humantime::format_duration;
use indicatif::HumanCount;
use sluicegate::calendar::{Calendar, CalendarUnit};
use sluicegate::{Quota, Rate, Refill};

/// The days of a week, as [`Kind::Budget`](super::Kind::Budget) has them.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Describes a time, such as `1h 30m` or `2 days`: units of more than a letter or two are words of their own.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use sluicegate_policy::time_in_words;
///
/// assert_eq!(time_in_words(Duration::from_secs(5_400)), "1h 30m");
/// assert_eq!(time_in_words(Duration::from_secs(100 * 31_557_600)), "100 years");
/// ```
#[must_use]
pub fn time_in_words(time: Duration) -> String {
    let text = format_duration(time).to_string();
    text.replace("year", " year").replace("month", " month").replace("day", " day")
}

pub(super) fn token_bucket(quota: Quota, initial: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (burst, permits) = (HumanCount(quota.burst()), quota.rate().permits());
    let per = match quota.refill() {
        Refill::Smooth => "per",
        Refill::Interval => "at once every",
    };
    let period = time_in_words(quota.rate().period());
    write!(f, "token bucket: {burst}, then {} {per} {period}", HumanCount(permits))?;
    if initial != quota.burst() {
        write!(f, ", starts with {}", HumanCount(initial))?;
    }
    Ok(())
}

/// Describes a bucket that starts full and refills smoothly.
pub(crate) fn burst(quota: Quota) -> String {
    let (burst, permits) = (HumanCount(quota.burst()), HumanCount(quota.rate().permits()));
    format!("{burst}, then {permits} per {}", time_in_words(quota.rate().period()))
}

pub(super) fn per(rate: Rate) -> String {
    format!("{} per {}", HumanCount(rate.permits()), time_in_words(rate.period()))
}

/// Describes a limit that holds in every window, wherever it begins.
pub(super) fn in_any(limit: Rate) -> String {
    format!("{} in any {}", HumanCount(limit.permits()), time_in_words(limit.period()))
}

pub(super) fn unit(calendar: &Calendar) -> &'static str {
    match calendar.unit() {
        CalendarUnit::Minute => "minute",
        CalendarUnit::Hour => "hour",
        CalendarUnit::Day => "day",
        CalendarUnit::Week => "week",
        CalendarUnit::Month => "month",
        _ => "window",
    }
}

/// Writes the amount of most days, and the days that have another.
pub(super) fn days(amounts: &[u64; 7], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let days_with = |amount: u64| amounts.iter().filter(|other| **other == amount).count();
    // Of several amounts that are equally common, the one of the earliest day.
    let most = amounts.iter().copied().rev().max_by_key(|amount| days_with(*amount)).unwrap_or(0);
    write!(f, "{} a day", HumanCount(most))?;
    for (day, amount) in DAYS.iter().zip(amounts).filter(|(_, amount)| **amount != most) {
        write!(f, ", {day} {}", HumanCount(*amount))?;
    }
    Ok(())
}
