//! The counts of a hierarchy.

use std::cmp::Reverse;

use indicatif::HumanCount;
use serde::Serialize;
use sluicegate_replay::replay::{LevelCounts, Levels};

use super::key_summary::KeySummary;

/// The counts of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HierarchySummary {
    /// Lines that passed all levels.
    pub allowed: u64,
    /// Lines that a level refused.
    pub denied: u64,
    /// Lines that were not judged, since they lack a value of a key.
    pub no_key: u64,
    /// Judged lines that lack an amount, which counts as 0.
    pub no_amount: u64,
    /// The levels, in the order of the policy.
    pub levels: Vec<LevelSummary>,
}

/// The counts of one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelSummary {
    /// Its name.
    pub name: String,
    /// Its limiter in words.
    pub policy: String,
    /// Distinct keys that it saw; those of lines that another level refused are not among them.
    pub keys: usize,
    /// Those of them that it refused something, of the keys whose counts are kept.
    pub keys_hit: usize,
    /// Lines that it refused. One that several levels refuse counts for the one that has to be waited
    /// for longest.
    pub denied: u64,
    /// The keys that it refused most often, by falling count and then by name.
    pub top_denied: Vec<KeySummary>,
}

impl HierarchySummary {
    /// Collects the counts, with the `top` most refused keys of each level, or all of them if that is
    /// 0.
    pub(super) fn new(levels: &Levels, top: usize) -> HierarchySummary {
        let LevelCounts { allowed, denied, no_key, no_amount } = *levels.counts();
        let summary = |(place, (level, denied, keys))| {
            let (level, place): (&sluicegate_policy::LevelPolicy, usize) = (level, place);
            let of_keys = levels.keys_of(place).filter(|(_, tally)| tally.denied > 0);
            let mut top_denied: Vec<KeySummary> =
                of_keys.map(|(key, tally)| KeySummary::of_tally(key, tally)).collect();
            let keys_hit = top_denied.len();
            top_denied
                .sort_by(|a, b| (Reverse(a.denied), &a.key).cmp(&(Reverse(b.denied), &b.key)));
            if top > 0 {
                top_denied.truncate(top);
            }
            LevelSummary {
                name: level.name.clone(),
                policy: level.kind.to_string(),
                keys,
                keys_hit,
                denied,
                top_denied,
            }
        };
        let levels = levels.levels().enumerate().map(summary).collect();
        HierarchySummary { allowed, denied, no_key, no_amount, levels }
    }

    /// Returns the warnings about lines that lack something.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.no_key > 0 {
            warnings.push(format!(
                "the levels did not judge {} lines, which lack a value of a key: those are fields, or \
                 columns of the log by the names in `key`",
                HumanCount(self.no_key)
            ));
        }
        if self.no_amount > 0 {
            warnings.push(format!(
                "{} lines lack an amount in `counts`, or have no number there, which counts as 0",
                HumanCount(self.no_amount)
            ));
        }
        warnings
    }
}
