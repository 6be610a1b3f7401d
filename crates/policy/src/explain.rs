//! Sentences on the most that a limiter can admit, and on the memory that it takes.

use std::time::Duration;

use bytesize::ByteSize;
use indicatif::HumanCount;
use sluicegate::calendar::{Calendar, CalendarUnit};
use sluicegate::keyed::WhenFull;
use sluicegate::{Rate, Refill};

use crate::{Cost, Kind, LimiterPolicy, Penalty, Room, Size};

/// The times for which the most is told.
const TIMES: [(&str, Duration); 3] = [
    ("second", Duration::from_secs(1)),
    ("minute", Duration::from_secs(60)),
    ("hour", Duration::from_secs(3600)),
];

impl LimiterPolicy {
    /// Returns sentences on the most that a limiter can admit and on the memory that it takes, for
    /// people.
    ///
    /// The numbers are the engine's proved bounds, which [`Kind::most_in`] returns.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        let whom =
            if self.key == [crate::KeyField::All] { "all requests together" } else { "each key" };
        let mut sentences = Vec::new();
        if self.shadow {
            let shadow = "Shadow mode: nothing is denied. The numbers are what it would admit if \
                enforced.";
            sentences.push(shadow.to_owned());
        }
        sentences.extend(self.most(&self.kind, whom));
        sentences.extend(self.kind.why().map(str::to_owned));
        sentences.extend(self.kind.about_steady());
        if let Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) = self.kind
            && quota.max_debt() > 0
        {
            let debt = HumanCount(quota.max_debt());
            sentences.push(format!(
                "A program that forces permits may borrow up to {debt} more (`max_debt`)."
            ));
        }
        let own = |(key, kind): (&str, &Kind)| {
            let each = if self.overrides.is_network(key) { "each client in" } else { "key" };
            self.most(kind, &format!("{each} \"{}\"", crate::escaped(key)))
        };
        sentences.extend(self.overrides.iter().flat_map(own));
        sentences.extend(self.penalty.iter().flat_map(offenders));
        if let Some(wait) = self.wait
            && !self.shadow
        {
            let wait = humantime::format_duration(wait);
            sentences.push(format!(
                "A request that would be denied waits instead, if it can be admitted within {wait}."
            ));
        }
        match &self.redis {
            Some(redis) => sentences.extend(redis.explain(self.kind.most_at_once())),
            None => sentences.push(self.memory()),
        }
        sentences
    }

    /// Returns what a limiter admits, and the permits for that if a request takes several.
    fn most(&self, kind: &Kind, whom: &str) -> Vec<String> {
        let permits = |time| kind.most_in(time);
        match &self.cost {
            Cost::Named(cost) => {
                let (unit, named) = (in_any("permits", permits), &cost.named);
                let scale = match (cost.times, cost.per) {
                    (1, 1) => String::new(),
                    (times, 1) => format!(", times {times}"),
                    (1, per) => format!(", divided by {per}"),
                    (times, per) => format!(", times {times}, divided by {per}"),
                };
                let missing = HumanCount(cost.missing);
                vec![
                    format!("For {whom}, admits at most {unit}."),
                    format!(
                        "A request takes as many permits as its {named} says{scale}, rounded up, and \
                         {missing} if there is no number."
                    ),
                ]
            }
            Cost::Rules(rules) => {
                let (unit, count) = (in_any("permits", permits), rules.len());
                let most = rules.iter().map(|rule| rule.permits).max().unwrap_or(1);
                vec![
                    format!("For {whom}, admits at most {unit}."),
                    format!(
                        "A request takes up to {} permits, by the first of {count} rules that it \
                         matches.",
                        HumanCount(most)
                    ),
                ]
            }
            Cost::Bytes => {
                vec![format!("For {whom}, admits at most {}.", in_any("bytes", permits))]
            }
            Cost::Permits(cost) => {
                let cost = (*cost).max(1);
                let is_too_much = cost > kind.most_at_once();
                let requests = |time| if is_too_much { 0 } else { permits(time) / cost };
                let mut most =
                    vec![format!("For {whom}, admits at most {}.", in_any("requests", requests))];
                if cost > 1 {
                    let (cost, permits) = (HumanCount(cost), in_any("permits", permits));
                    most.push(format!("Each request takes {cost} permits: at most {permits}."));
                }
                most
            }
        }
    }

    fn memory(&self) -> String {
        let each = if self.overrides.is_empty() {
            self.kind.key_bytes()
        } else {
            self.kind.limiter_bytes()
        };
        let bytes = ByteSize(each).display().iec();
        let each_key = format!("about {bytes} plus the key for each");
        let full = match self.store.when_full {
            WhenFull::Admit => "when full, all requests of further keys are admitted",
            WhenFull::Share(_) => "when full, all further keys share one bucket",
            _ => "when full, all requests of further keys are denied",
        };
        let are_kept = !self.kind.is_new_when_full()
            || self.overrides.values().any(|kind| !kind.is_new_when_full());
        match self.store.room {
            Room::Exact { max_keys: None } if are_kept => {
                format!("Never forgets a key: memory grows without bound, by {each_key}.")
            }
            Room::Exact { max_keys: None } => format!(
                "Keeps each key until it is idle, with no bound on their number: {each_key}."
            ),
            Room::Exact { max_keys: Some(keys) } => {
                let all = ByteSize(each.saturating_mul(keys as u64)).display().iec();
                let keys = keys_of(keys as u64);
                format!("Keeps at most {keys}: {each_key}, {all} in all; {full}.")
            }
            Room::Table(size) => {
                let keys = match size {
                    Size::Memory(bytes) => bytes as u64 / 12,
                    Size::Keys(keys) => keys as u64,
                };
                let (bytes, keys) = (ByteSize(size.bytes()).display().iec(), keys_of(keys));
                format!("Takes {bytes} for about {keys} at a time; {full}.")
            }
        }
    }
}

/// Returns sentences on a penalty.
fn offenders(penalty: &Penalty) -> Vec<String> {
    /// Bytes of an offender in a store of these: its word, the pointer to its key, and its part of the
    /// hash table.
    const EACH: u64 = 56;
    let by = match (penalty.of_refusals, penalty.of_answers.len()) {
        (true, 0) => "a request that is denied",
        (true, _) => {
            "a request that is denied, or one that is admitted and whose answer is in the set of `by`"
        }
        (false, _) => "a request that is admitted and whose answer is in the set of `by`",
    };
    let (keys, all) =
        (keys_of(penalty.max_keys as u64), EACH.saturating_mul(penalty.max_keys as u64));
    let (each, all) = (ByteSize(EACH).display().iec(), ByteSize(all).display().iec());
    vec![
        format!("Penalty of a key: {penalty}. An offence is {by}."),
        format!(
            "Remembers the offences of at most {keys}: about {each} plus the key for each that offends, \
             {all} in all. Further offenders are not noted while it is full."
        ),
    ]
}

fn keys_of(keys: u64) -> String {
    match keys {
        1 => "1 key".to_owned(),
        keys => format!("{} keys", HumanCount(keys)),
    }
}

/// Returns the numbers of all times in words.
fn in_any(unit: &str, most: impl Fn(Duration) -> u64) -> String {
    let [second, minute, hour] =
        TIMES.map(|(name, time)| (HumanCount(most(time)).to_string(), format!("any {name}")));
    let unit = if second.0 == "1" { unit.trim_end_matches('s') } else { unit };
    format!(
        "{} {unit} in {}, {} in {}, {} in {}",
        second.0, second.1, minute.0, minute.1, hour.0, hour.1
    )
}

impl Kind {
    /// Returns the most permits that are granted in any span of this length to callers that take no
    /// credit: the engine's proved bound for one key. What is taken by force, by reservations or by
    /// settlements comes on top, at most the quota's `max_debt`.
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
            Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => {
                let rate = quota.rate();
                let earned = match quota.refill() {
                    // Each time as much as there is space for.
                    Refill::Interval => {
                        let once = rate.permits().min(quota.burst());
                        u128::from(once) * ceil(between, rate.period())
                    }
                    Refill::Smooth => earned(rate, between),
                };
                u128::from(quota.burst()) + earned
            }
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
    fn why(&self) -> Option<&'static str> {
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
            Kind::TokenBucket { .. } | Kind::LeakyMeter(_) | Kind::Gcra { .. } => Some(
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
