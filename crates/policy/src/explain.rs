//! Sentences on what a limiter admits at worst, and on the memory that it takes.

use std::time::Duration;

use bytesize::ByteSize;
use indicatif::HumanCount;
use sluicegate::{Calendar, CalendarUnit, Rate, Refill, WhenFull};

use crate::{Cost, Kind, LimiterPolicy, Room, Size};

/// The times for which the most is told.
const TIMES: [(&str, Duration); 3] = [
    ("1 second", Duration::from_secs(1)),
    ("1 minute", Duration::from_secs(60)),
    ("1 hour", Duration::from_secs(3600)),
];

impl LimiterPolicy {
    /// Returns sentences on what it admits at worst and on the memory that it takes, for people.
    ///
    /// The numbers are the engine's proved bounds, which [`Kind::most_in`] returns.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        let whom = match self.key.as_slice() {
            [crate::KeyField::All] => "all together",
            _ => "each key",
        };
        let mut sentences = vec![self.most(&self.kind, whom)];
        sentences.extend(self.kind.why().map(str::to_owned));
        if let Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) = self.kind {
            let debt = HumanCount(quota.max_debt());
            sentences.push(format!("Credit comes on top, if callers ask for it: at most {debt}."));
        }
        let own = |own: &crate::Override| {
            self.most(&own.kind, &format!("key \"{}\"", crate::escaped(&own.key)))
        };
        sentences.extend(self.overrides.iter().map(own));
        if self.shadow {
            sentences.push("In the shadow it denies nothing: so much it would admit.".to_owned());
        }
        sentences.push(self.memory());
        sentences
    }

    fn most(&self, kind: &Kind, whom: &str) -> String {
        let unit = match self.cost {
            Cost::Bytes => "bytes",
            Cost::Permits(1) => "requests",
            Cost::Permits(_) => "permits",
        };
        let [second, minute, hour] =
            TIMES.map(|(name, time)| format!("{} in any {name}", HumanCount(kind.most_in(time))));
        format!("Admits at most, for {whom}, {second}, {minute} and {hour} ({unit}).")
    }

    fn memory(&self) -> String {
        let each = self.kind.key_bytes();
        let bytes = ByteSize(each).display().iec();
        let each_key = format!("about {bytes} for each, and the key itself");
        let full = match self.store.when_full {
            WhenFull::Admit => "admits keys for which there is no space",
            WhenFull::Share(_) => "has one bucket for all keys for which there is no space",
            _ => "denies keys for which there is no space",
        };
        match self.store.room {
            Room::Exact { max_keys: None } if !self.kind.is_new_when_full() => {
                format!("Keeps every key that it ever saw, with no bound: {each_key}.")
            }
            Room::Exact { max_keys: None } => format!(
                "Keeps each key that is not idle, with no bound on their number: {each_key}."
            ),
            Room::Exact { max_keys: Some(keys) } => {
                let all = ByteSize(each.saturating_mul(keys as u64)).display().iec();
                let keys = HumanCount(keys as u64);
                format!("Keeps at most {keys} keys: {each_key}, {all} in all. It {full}.")
            }
            Room::Table(Size::Memory(bytes)) => {
                let keys = HumanCount(bytes as u64 / 12);
                let bytes = ByteSize(bytes as u64).display().iec();
                format!("Takes {bytes} for about {keys} keys at a time. It {full}.")
            }
            Room::Table(Size::Keys(keys)) => {
                let bytes = ByteSize((keys as u64).saturating_mul(12)).display().iec();
                format!(
                    "Takes about {bytes} for {} keys at a time, and {full}.",
                    HumanCount(keys as u64)
                )
            }
        }
    }
}

impl Kind {
    /// Returns the most permits that are granted in any time (s, s + time] to callers that take no
    /// credit: the engine's proved bound for one key. What is taken by force, by reservations or by
    /// settlements comes on top, at most the quota's `max_debt`.
    ///
    /// Rounds down to whole permits, and up to the next whole window.
    #[must_use]
    pub fn most_in(&self, time: Duration) -> u64 {
        let windows = |length: Duration| ceil(time.as_nanos(), length.as_nanos());
        let most = match self {
            Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => {
                let rate = quota.rate();
                let earned = match quota.refill() {
                    Refill::Interval => u128::from(rate.permits()) * windows(rate.period()),
                    Refill::Smooth => earned(rate, time),
                };
                u128::from(quota.burst()) + earned
            }
            Kind::Gcra { interval, tolerance } => {
                1 + (tolerance.as_nanos() + time.as_nanos()) / interval.as_nanos().max(1)
            }
            Kind::LeakyMinInterval(rate) => 1 + earned(*rate, time),
            // The end of one window, and the beginning of another, of which a sliding counter may
            // estimate the first at nothing that was full at its end.
            Kind::FixedWindow(limit)
            | Kind::WindowFromFirst(limit)
            | Kind::SlidingCounter(limit) => {
                u128::from(limit.permits()) * (windows(limit.period()) + 1)
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
            Kind::Budget { amounts, .. } => most_of_days(amounts, windows(SHORTEST_DAY) + 1),
            Kind::All(parts) => {
                return parts.iter().map(|part| part.most_in(time)).min().unwrap_or(0);
            }
        };
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// Returns why more may be admitted than the limit says, if so.
    fn why(&self) -> Option<&'static str> {
        match self {
            Kind::FixedWindow(_) | Kind::WindowFromFirst(_) => Some(
                "Twice the limit may come together: at the end of one window and the beginning of \
                 the next.",
            ),
            Kind::SlidingCounter(_) => Some(
                "Nearly twice the limit may come together, as the count of the last window is \
                 estimated.",
            ),
            Kind::CalendarWindow { .. } | Kind::Budget { .. } => {
                Some("Two windows may meet: what is left of one, and the whole of the next.")
            }
            Kind::TokenBucket { .. } | Kind::LeakyMeter(_) | Kind::Gcra { .. } => {
                Some("That is what it holds after a pause, and what it earns meanwhile.")
            }
            _ => None,
        }
    }
}

fn ceil(of: u128, by: u128) -> u128 {
    of.div_ceil(by.max(1))
}

fn earned(rate: Rate, time: Duration) -> u128 {
    u128::from(rate.permits()) * time.as_nanos() / rate.period().as_nanos().max(1)
}

/// Shorter than any day of a time zone: the shortest since 1970 had 21 hours.
const SHORTEST_DAY: Duration = Duration::from_secs(20 * 3600);

/// Returns the most windows of a calendar that such a time is in.
fn windows_of(calendar: &Calendar, time: Duration) -> u128 {
    let shortest = match calendar.unit() {
        CalendarUnit::Minute => Duration::from_secs(60),
        CalendarUnit::Hour => Duration::from_secs(3600),
        CalendarUnit::Week => 6 * SHORTEST_DAY,
        CalendarUnit::Month => 27 * SHORTEST_DAY,
        _ => SHORTEST_DAY,
    };
    // A change of the zone's offset ends a minute or an hour early.
    let changes = match calendar.unit() {
        CalendarUnit::Minute | CalendarUnit::Hour => u128::from(calendar.zone() != Some("UTC")),
        _ => 0,
    };
    ceil(time.as_nanos(), shortest.as_nanos()) + 1 + changes
}

/// Returns the most that so many days in a row have.
fn most_of_days(amounts: &[u64; 7], days: u128) -> u128 {
    let days = usize::try_from(days).unwrap_or(usize::MAX);
    let sum = |first: usize| -> u128 {
        (0..days.min(7)).map(|day| u128::from(amounts[(first + day) % 7])).sum()
    };
    let weeks = (days / 7).max(1) as u128;
    (0..7).map(sum).max().unwrap_or(0) * weeks
}
