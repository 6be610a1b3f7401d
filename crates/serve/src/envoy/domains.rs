//! The limit of a descriptor.

use std::collections::HashMap;

use super::counts::{Counts, DomainCounts};

use super::unit::Unit;

/// The limits of all domains.
#[derive(Debug, Default)]
pub(super) struct Domains(HashMap<String, Domain>);

/// The limits of a domain.
#[derive(Debug)]
struct Domain {
    level: Level,
    /// Its own once [`Domains::count_in`] was called.
    counts: DomainCounts,
}

/// The descriptors of one level: what may come next.
#[derive(Debug, Default)]
pub(super) struct Level {
    limit: Option<Limit>,
    keys: HashMap<String, Values>,
}

/// The values of a key that are configured.
#[derive(Debug, Default)]
struct Values {
    exact: HashMap<String, Level>,
    /// Beginnings of values, in the order of the file.
    beginnings: Vec<(String, Level)>,
    /// For any other value.
    any: Option<Box<Level>>,
}

/// One limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// The requests of each unit; `None` for a limit that is unlimited.
    pub(super) rate: Option<(u32, Unit)>,
    /// True if it only counts.
    pub(super) is_shadow: bool,
    /// True if all values that begin alike have one count.
    pub(super) is_shared: bool,
    /// Its name, or nothing.
    pub(super) name: String,
    /// Names of limits that do not apply where this one does.
    pub(super) replaces: Vec<String>,
}

/// The limit that was found for a descriptor.
#[derive(Debug)]
pub(super) struct Found<'d> {
    pub(super) limit: &'d Limit,
    /// The text that stands for the last value, if all values that begin alike have one count.
    pub(super) shared: Option<&'d str>,
}

impl Domains {
    /// Adds a domain, and returns true if there is no other of its name.
    pub(super) fn add(&mut self, name: String, level: Level) -> bool {
        self.0.insert(name, Domain { level, counts: DomainCounts::default() }).is_none()
    }

    /// Counts the requests of each domain in its series of `counts`.
    pub(super) fn count_in(&mut self, counts: &Counts) {
        for (name, domain) in &mut self.0 {
            domain.counts = counts.of(name);
        }
    }

    /// Returns the counts of a domain, if it is configured.
    pub(super) fn counts(&self, domain: &str) -> Option<&DomainCounts> {
        self.0.get(domain).map(|domain| &domain.counts)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn has(&self, domain: &str) -> bool {
        self.0.contains_key(domain)
    }

    /// Returns the limit of a descriptor: the one of as many entries, each of which is that of the entry's
    /// key and value, or else of the first beginning of its value, or else of its key with any value.
    pub(super) fn find<'d, 'e>(
        &'d self,
        domain: &str,
        entries: impl IntoIterator<Item = (&'e str, &'e str)>,
    ) -> Option<Found<'d>> {
        let mut level = &self.0.get(domain)?.level;
        let mut shared = None;
        for (key, value) in entries {
            let values = level.keys.get(key)?;
            let beginning = || {
                let mut beginnings = values.beginnings.iter();
                beginnings.find(|(beginning, _)| value.starts_with(beginning))
            };
            (level, shared) = if let Some(level) = values.exact.get(value) {
                (level, None)
            } else if let Some((beginning, level)) = beginning() {
                (level, Some(beginning.as_str()))
            } else {
                (values.any.as_deref()?, None)
            };
        }
        let limit = level.limit.as_ref()?;
        Some(Found { limit, shared: shared.filter(|_| limit.is_shared) })
    }
}

impl Level {
    pub(super) fn of_limit(limit: Option<Limit>) -> Level {
        Level { limit, keys: HashMap::new() }
    }

    /// Adds what comes after a key with a value, or with any value, and returns true if there is no other
    /// of these.
    pub(super) fn add(&mut self, key: &str, value: Option<&str>, below: Level) -> bool {
        let values = self.keys.entry(key.to_owned()).or_default();
        let Some(value) = value else { return values.any.replace(Box::new(below)).is_none() };
        let Some(beginning) = value.strip_suffix('*') else {
            return values.exact.insert(value.to_owned(), below).is_none();
        };
        let is_first = values.beginnings.iter().all(|(other, _)| other != beginning);
        values.beginnings.push((beginning.to_owned(), below));
        is_first
    }
}
