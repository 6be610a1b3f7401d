//! The limit of a descriptor.

mod pattern;

use std::collections::HashMap;
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prost_types::Struct;

use super::counts::{Counts, DomainCounts};
use super::unit::Span;

use self::pattern::Pattern;

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
    keys: HashMap<Vec<u8>, Values>,
}

/// The values of a key that are configured.
#[derive(Debug, Default)]
struct Values {
    exact: HashMap<Vec<u8>, Level>,
    /// Values with `*`, in the order of the file.
    patterns: Vec<(Pattern, Level)>,
    /// For any other value.
    any: Option<Box<Level>>,
}

/// One limit.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) terms: Terms,
    pub(super) mode: Mode,
    /// Its name, or nothing.
    pub(super) name: String,
    /// Its name, or else the keys and values of its descriptor in the file.
    pub(super) label: String,
    /// Names of limits that do not apply where this one does.
    pub(super) replaces: Vec<String>,
    /// Told to Envoy while it is not exceeded.
    pub(super) metadata: Option<Arc<Struct>>,
    /// Requests that it would have refused, if it only counts.
    pub(super) shadowed: Counter,
}

/// Terms by which a limit grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Terms {
    /// Everything.
    Unlimited,
    /// So many requests in each span of time.
    Window { requests: u32, span: Span },
    /// The limiter of this name in the policy.
    Limiter(String),
}

/// The part that a limit has in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A request that exceeds it is refused.
    Enforced,
    /// A request is refused that exceeds all such limits of its descriptors.
    Quota,
    /// It only counts.
    Shadow,
}

/// The limit that was found for a descriptor.
#[derive(Debug)]
pub(super) struct Found<'d> {
    pub(super) limit: &'d Limit,
    /// The entries whose values have one count together, by their index, with the text that stands for the value.
    pub(super) shared: Vec<(usize, &'d str)>,
}

impl Domains {
    /// Adds a domain.
    pub(super) fn add(&mut self, name: String, level: Level) {
        self.0.insert(name, Domain { level, counts: DomainCounts::default() });
    }

    /// Counts the requests of each domain in its series of `counts`.
    pub(super) fn count_in(&mut self, counts: &Counts) {
        for (name, domain) in &mut self.0 {
            domain.counts = counts.of(name);
            domain.level.count_in(counts, name);
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
    /// key and value, or else of the first pattern that its value matches, or else of its key with any value.
    pub(super) fn find<'d, 'e>(
        &'d self,
        domain: &str,
        entries: impl IntoIterator<Item = (&'e [u8], &'e [u8])>,
    ) -> Option<Found<'d>> {
        let mut level = &self.0.get(domain)?.level;
        let mut shared = Vec::new();
        for (index, (key, value)) in entries.into_iter().enumerate() {
            let values = level.keys.get(key)?;
            let pattern = || {
                // What is no text matches `*`, and the texts that are around it.
                let text = String::from_utf8_lossy(value);
                values.patterns.iter().find(|(pattern, _)| pattern.matches(&text))
            };
            level = if let Some(level) = values.exact.get(value) {
                level
            } else if let Some((pattern, level)) = pattern() {
                if pattern.is_shared() {
                    shared.push((index, pattern.text()));
                }
                level
            } else {
                values.any.as_deref()?
            };
        }
        Some(Found { limit: level.limit.as_ref()?, shared })
    }
}

impl Level {
    pub(super) fn of_limit(limit: Option<Limit>) -> Level {
        Level { limit, keys: HashMap::new() }
    }

    /// Adds what comes after a key with a value, or with any value. All values that match one with `*` have one
    /// count if it `is_shared`.
    pub(super) fn add(&mut self, key: &str, value: Option<&str>, is_shared: bool, below: Level) {
        let values = self.keys.entry(key.into()).or_default();
        match value {
            None => values.any = Some(Box::new(below)),
            Some(value) if value.contains('*') => {
                values.patterns.push((Pattern::new(value, is_shared), below));
            }
            Some(value) => {
                values.exact.insert(value.into(), below);
            }
        }
    }

    fn count_in(&mut self, counts: &Counts, domain: &str) {
        if let Some(limit) = &mut self.limit
            && limit.mode == Mode::Shadow
        {
            limit.shadowed = counts.shadowed(domain, &limit.label);
        }
        for values in self.keys.values_mut() {
            let patterns = values.patterns.iter_mut().map(|(_, level)| level);
            let any = values.any.as_deref_mut();
            for level in values.exact.values_mut().chain(patterns).chain(any) {
                level.count_in(counts, domain);
            }
        }
    }
}
