//! The bounds on what limiters of each kind admit in a time, or between the first grant and the last one.

use std::time::Duration;

use sluicegate::calendar::{Calendar, CalendarUnit};
use sluicegate::{Quota, Rate, Refill};

/// Returns the most that a bucket admits whose last grant is so long after the first.
pub(super) fn of_bucket(quota: &Quota, between: Duration) -> u128 {
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

/// Returns the most that GCRA admits whose last grant is so long after the first.
pub(super) fn of_gcra(interval: Duration, tolerance: Duration, between: Duration) -> u128 {
    1 + (tolerance.as_nanos() + between.as_nanos()) / interval.as_nanos().max(1)
}

/// Returns the most permits at a distance whose last one is so long after the first.
pub(super) fn of_min_interval(rate: Rate, between: Duration) -> u128 {
    1 + earned(rate, between)
}

/// Returns the most of windows that are aligned to the clock: of the end of one, and of all others that begin in this time.
pub(super) fn of_fixed_window(limit: Rate, time: Duration) -> u128 {
    u128::from(limit.permits()) * (ceil(time, limit.period()) + 1)
}

/// Returns the most of windows that begin at a request: that of the first one is before the time, or all windows begin in it.
pub(super) fn of_window_from_first(limit: Rate, time: Duration) -> u128 {
    of_fixed_window(limit, time) - 1
}

/// Returns the most of a sliding counter: less than twice the limit in any time of a window, and the limit in each window.
pub(super) fn of_counter(limit: Rate, time: Duration) -> u128 {
    let (permits, windows) = (u128::from(limit.permits()), ceil(time, limit.period()));
    ((2 * permits - 1) * windows).min(permits * (windows + 1))
}

/// Returns the most where no window, wherever it begins, has more than the limit.
pub(super) fn of_sliding(limit: Rate, time: Duration) -> u128 {
    u128::from(limit.permits()) * ceil(time, limit.period())
}

/// Returns the most of windows of a calendar.
pub(super) fn of_calendar(limit: u64, calendar: &Calendar, time: Duration) -> u128 {
    u128::from(limit) * windows_of(calendar, time)
}

/// Returns the most of days with these amounts, from Monday on.
pub(super) fn of_days(amounts: &[u64; 7], zone: &str, time: Duration) -> u128 {
    most_of_days(amounts, ceil(time, shortest_day(Some(zone))) + 1)
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
