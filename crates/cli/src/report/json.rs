//! The report for programs: one JSON object on one line, of the shape that [`Summary`] has.

use std::cmp::Reverse;
use std::io::{self, Write};

use serde::Serialize;

use crate::policy::{Room, Rule};
use crate::replay::{Judge, Replay};

/// The counts of a replay, as the JSON report has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Lines that were judged; those that were skipped are not among them.
    pub lines: u64,
    /// Lines that could not be read.
    pub skipped: u64,
    /// Lines judged that were older than a line before them.
    pub late: u64,
    /// The limiters, in the order of the policy.
    pub limiters: Vec<LimiterSummary>,
}

/// The counts of one named limiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimiterSummary {
    /// Its name in the policy.
    pub name: String,
    /// Distinct keys that it saw.
    pub keys: usize,
    /// Lines that it admitted.
    pub allowed: u64,
    /// Lines that it refused.
    pub denied: u64,
    /// The keys it refused most often, by falling count and then by name.
    pub top_denied: Vec<KeySummary>,
    /// Refusals by each of its parts, if it has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_by: Vec<PartSummary>,
    /// The counts of the store, if the policy chose one.
    #[serde(flatten)]
    pub store: Option<StoreSummary>,
}

/// The counts of one of several windows, or of one of several limiters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartSummary {
    /// Description of the part, in words.
    pub part: String,
    /// Lines that it refused, with the longest wait of all the parts that refused them.
    pub denied: u64,
}

/// The counts of one key of one limiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeySummary {
    /// The key's fields, separated by a space.
    pub key: String,
    /// Lines with that key that were refused.
    pub denied: u64,
    /// Lines with that key that were admitted.
    pub allowed: u64,
}

/// The counts of one limiter's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "store", rename_all = "snake_case")]
pub enum StoreSummary {
    /// A store that keeps each key by itself.
    Exact {
        /// The most keys that it has space for.
        max_keys: usize,
        /// The most keys that it knew at a time.
        known: usize,
        /// Lines whose key found no space.
        full: u64,
    },
    /// A table of token buckets.
    Table {
        /// Bytes of its slots.
        memory_bytes: usize,
        /// The contents of its slots at the end.
        occupancy: PlacesSummary,
        /// Lines whose key found no space.
        full: u64,
    },
}

/// The contents of the slots of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PlacesSummary {
    /// All slots.
    pub places: usize,
    /// Keys whose buckets are not full.
    pub live: usize,
    /// Keys that have become idle since.
    pub expired: usize,
}

impl Summary {
    /// Collects the counts of `replay`, with the `top` most refused keys of each limiter,
    /// or all of them if that is 0.
    #[must_use]
    pub fn new(replay: &Replay, top: usize) -> Summary {
        Summary {
            lines: replay.lines(),
            skipped: replay.skipped(),
            late: replay.late(),
            limiters: replay
                .judges()
                .iter()
                .map(|judge| LimiterSummary::of_judge(judge, top))
                .collect(),
        }
    }

    /// Writes the counts as JSON.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }
}

impl LimiterSummary {
    fn of_judge(judge: &Judge, top: usize) -> LimiterSummary {
        let keys = judge.tallies().map(|(key, tally)| KeySummary {
            key,
            denied: tally.denied,
            allowed: tally.allowed,
        });
        LimiterSummary {
            store: StoreSummary::of_judge(judge),
            ..LimiterSummary::new(judge.rule(), keys, judge.denied_by(), top)
        }
    }

    /// Adds up the counts of every key. `denied_by` are those of each part of the
    /// rule's limiter. The counts of the store are left out.
    #[must_use]
    pub fn new(
        rule: &Rule,
        keys: impl Iterator<Item = KeySummary>,
        denied_by: &[u64],
        top: usize,
    ) -> LimiterSummary {
        let keys: Vec<KeySummary> = keys.collect();
        let parts = rule.kind.parts().into_iter().zip(denied_by);
        let mut summary = LimiterSummary {
            name: rule.name.clone(),
            keys: keys.len(),
            allowed: keys.iter().map(|key| key.allowed).sum(),
            denied: keys.iter().map(|key| key.denied).sum(),
            top_denied: keys.into_iter().filter(|key| key.denied > 0).collect(),
            denied_by: parts.map(|(part, &denied)| PartSummary { part, denied }).collect(),
            store: None,
        };
        summary
            .top_denied
            .sort_by(|a, b| (Reverse(a.denied), &a.key).cmp(&(Reverse(b.denied), &b.key)));
        if top > 0 {
            summary.top_denied.truncate(top);
        }
        summary
    }
}

impl StoreSummary {
    /// Returns the counts of the store. `None` for an exact store with space for every key.
    fn of_judge(judge: &Judge) -> Option<StoreSummary> {
        let full = judge.full();
        match judge.rule().store.room {
            Room::Exact { max_keys } => {
                let known = judge.known();
                max_keys.map(|max_keys| StoreSummary::Exact { max_keys, known, full })
            }
            Room::Table(_) => {
                // Before the first line there is no table.
                let (memory_bytes, found) = judge.table().unwrap_or_default();
                let occupancy = PlacesSummary {
                    places: found.places,
                    live: found.live,
                    expired: found.expired,
                };
                Some(StoreSummary::Table { memory_bytes, occupancy, full })
            }
        }
    }
}
