//! Sentences on the most that a limiter can admit, and on the memory that it takes.

mod common;

use std::time::Duration;

use bytesize::ByteSize;
use indicatif::HumanCount;
use sluicegate::keyed::WhenFull;

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
        let whom = match self.kind {
            Kind::Shares { .. } => "all tenants together",
            Kind::Priorities { .. } => "all classes together",
            _ if self.key == [crate::KeyField::All] => "all requests together",
            _ => "each key",
        };
        let mut sentences = Vec::new();
        if self.shadow {
            let shadow = "Shadow mode: nothing is denied. The numbers are what it would admit if \
                enforced.";
            sentences.push(shadow.to_owned());
        }
        sentences.extend(self.most(&self.kind, whom));
        sentences.extend(self.kind.why().map(str::to_owned));
        sentences.extend(self.kind.about_steady());
        match &self.kind {
            Kind::Shares { quota, groups } => sentences.extend(common::shares(*quota, groups)),
            Kind::Priorities { quota, classes } => {
                sentences.extend(common::classes(*quota, classes));
            }
            _ => {}
        }
        if let Some(quota) = self.kind.quota()
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
            let wait = crate::time_in_words(wait);
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
        match &self.kind {
            Kind::Shares { groups, .. } => return common::memory_of(groups, self.kind.key_bytes()),
            Kind::Priorities { .. } => {
                return "Takes a single bucket for all keys, however many there are.".to_owned();
            }
            _ => {}
        }
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
