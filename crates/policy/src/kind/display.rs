//! Limiters in words, as the report shows them.

use std::fmt;

use humantime::format_duration;
use indicatif::HumanCount;
use sluicegate::calendar::{Calendar, CalendarUnit};
use sluicegate::{Quota, Rate, Refill};

use super::Kind;

/// The days of a week, as [`Kind::Budget`] has them.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Describes the limiter in words.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::TokenBucket { quota, initial } => token_bucket(*quota, *initial, f),
            Kind::Gcra { interval, tolerance } => {
                let (interval, tolerance) =
                    (format_duration(*interval), format_duration(*tolerance));
                write!(f, "gcra: every {interval}, up to {tolerance} early")
            }
            Kind::LeakyMeter(quota) => {
                let holds = HumanCount(quota.burst());
                write!(f, "leaky bucket: holds {holds}, leaks {}", per(quota.rate()))
            }
            Kind::LeakyMinInterval(rate) if rate.permits() == 1 => {
                write!(f, "leaky bucket: at least {} apart", format_duration(rate.period()))
            }
            Kind::LeakyMinInterval(rate) => {
                write!(f, "leaky bucket: {}, evenly apart", per(*rate))
            }
            Kind::FixedWindow(limit) => {
                write!(f, "fixed window: {}, aligned to the clock", per(*limit))
            }
            Kind::WindowFromFirst(limit) => {
                write!(f, "fixed window: {}, starting at the first request", per(*limit))
            }
            Kind::SlidingWindow { limit, slots } => {
                write!(f, "sliding window: {}, {slots} slots", in_any(*limit))
            }
            Kind::SlidingCounter(limit) => write!(f, "sliding counter: {}", per(*limit)),
            Kind::SlidingLog(limit) => write!(f, "sliding log: {}", in_any(*limit)),
            Kind::WeightedLog { limit, .. } => write!(f, "weighted log: {}", in_any(*limit)),
            Kind::MultiWindow { .. } => write!(f, "multi window: {}", self.parts().join(", ")),
            Kind::CalendarWindow { limit, calendar } => {
                let (unit, zone) = (unit(calendar), calendar.zone().unwrap_or("a zone"));
                write!(f, "calendar window: {} per {unit}, {zone}", HumanCount(*limit))
            }
            Kind::Budget { amounts, zone } => {
                f.write_str("budget: ")?;
                days(amounts, f)?;
                write!(f, ", {zone}")
            }
            Kind::All(_) => write!(f, "all of: {}", self.parts().join("; ")),
        }
    }
}

fn token_bucket(quota: Quota, initial: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (burst, permits) = (HumanCount(quota.burst()), quota.rate().permits());
    let per = match quota.refill() {
        Refill::Smooth => "per",
        Refill::Interval => "at once every",
    };
    let period = format_duration(quota.rate().period());
    write!(f, "token bucket: {burst}, then {} {per} {period}", HumanCount(permits))?;
    if initial != quota.burst() {
        write!(f, ", starts with {}", HumanCount(initial))?;
    }
    Ok(())
}

fn per(rate: Rate) -> String {
    format!("{} per {}", HumanCount(rate.permits()), format_duration(rate.period()))
}

/// Describes a limit that holds in every window, wherever it begins.
pub(super) fn in_any(limit: Rate) -> String {
    format!("{} in any {}", HumanCount(limit.permits()), format_duration(limit.period()))
}

fn unit(calendar: &Calendar) -> &'static str {
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
fn days(amounts: &[u64; 7], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let days_with = |amount: u64| amounts.iter().filter(|other| **other == amount).count();
    // Of several amounts that are equally common, the one of the earliest day.
    let most = amounts.iter().copied().rev().max_by_key(|amount| days_with(*amount)).unwrap_or(0);
    write!(f, "{} a day", HumanCount(most))?;
    for (day, amount) in DAYS.iter().zip(amounts).filter(|(_, amount)| **amount != most) {
        write!(f, ", {day} {}", HumanCount(*amount))?;
    }
    Ok(())
}
