//! The results of a replay, for people and for programs.

mod json;
mod store;
mod text;

use std::cmp::Reverse;

use serde::Serialize;

pub use self::store::{PlacesSummary, StoreSummary};
pub use self::text::Heading;
use crate::policy::Rule;
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
