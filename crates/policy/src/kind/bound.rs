//! Numbers of the bounds on what kinds of limiters admit.

use std::time::Duration;

use sluicegate::calendar::{Calendar, CalendarUnit};
use sluicegate::{Quota, Rate, Refill};

/// Returns the number of lengths that a time takes, rounded up.
pub(super) fn ceil(time: Duration, length: Duration) -> u128 {
    time.as_nanos().div_ceil(length.as_nanos().max(1))
}

pub(super) fn earned(rate: Rate, time: Duration) -> u128 {
    u128::from(rate.permits()) * time.as_nanos() / rate.period().as_nanos().max(1)
}

/// Returns a time that no day of the zone is shorter than: the shortest since 1970 had 21 hours.
pub(super) fn shortest_day(zone: Option<&str>) -> Duration {
    Duration::from_secs(if zone == Some("UTC") { 24 * 3600 } else { 20 * 3600 })
}

/// Returns the most windows of a calendar that such a time is in.
pub(super) fn windows_of(calendar: &Calendar, time: Duration) -> u128 {
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
pub(super) fn most_of_days(amounts: &[u64; 7], days: u128) -> u128 {
    let week: u128 = amounts.iter().copied().map(u128::from).sum();
    let others = (days % 7) as usize;
    let run = |first: usize| -> u128 {
        (0..others).map(|day| u128::from(amounts[(first + day) % 7])).sum()
    };
    week * (days / 7) + (0..7).map(run).max().unwrap_or(0)
}

/// Returns the most that a bucket admits whose last grant is so long after the first.
pub(super) fn most_of_bucket(quota: &Quota, between: Duration) -> u128 {
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
