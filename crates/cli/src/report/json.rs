//! The report for programs: one JSON object on one line, of the shape that [`Summary`] has.

use std::cmp::Reverse;
use std::io::{self, Write};

use serde::Serialize;

use sluicegate_policy::KeyField;
use sluicegate_replay::crawlers::Crawlers;
use sluicegate_replay::policy::{Room, Rule};
use sluicegate_replay::replay::{Judge, Lacking, Replay};
use sluicegate_replay::warnings;

use super::common::{ClassSummary, SharesSummary};
use super::key_summary::KeySummary;
use super::levels::HierarchySummary;
use super::penalty::PenaltySummary;
use super::waits::WaitsSummary;

/// The counts of a replay, as the JSON report has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Lines that were judged; those that were skipped are not among them.
    pub lines: u64,
    /// Lines that could not be read.
    pub skipped: u64,
    /// Lines judged that were older than a line before them.
    pub late: u64,
    /// Those of them that were older by more than a minute.
    pub misplaced: u64,
    /// Skipped lines that were far ahead of their neighbours.
    pub outliers: u64,
    /// The times at which lines were judged.
    pub stamps: StampSummary,
    /// The limiters, in the order of the policy.
    pub limiters: Vec<LimiterSummary>,
    /// The levels of the policy, if it has a hierarchy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<HierarchySummary>,
    /// True if not all of the logs was judged.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Reasons for which the counts may mislead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The times at which lines were judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StampSummary {
    /// The time between two stamps.
    pub resolution_nanos: u64,
    /// True if the lines of a stamp were spread over that time.
    pub spread: bool,
}

/// The counts of a limiter if all lines come at the beginning of their second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StampedSummary {
    /// Lines that it would admit.
    pub allowed: u64,
    /// Lines that it would refuse.
    pub denied: u64,
}

/// The accuracy of the counts of keys, if not all keys were kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TallySummary {
    /// The most keys that were kept.
    pub max_keys: usize,
    /// The most refusals of a key that is not among those listed.
    pub denied_error: u64,
}

/// The counts of one named limiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimiterSummary {
    /// Its name in the policy.
    pub name: String,
    /// Distinct keys that it saw.
    pub keys: usize,
    /// Keys of which it refused a line; of those whose counts were kept, if not all were.
    pub keys_hit: usize,
    /// Lines that it admitted.
    pub allowed: u64,
    /// Lines that it refused.
    pub denied: u64,
    /// The keys it refused most often, by falling count and then by name.
    pub top_denied: Vec<KeySummary>,
    /// Refusals by each of its parts, if it has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_by: Vec<PartSummary>,
    /// The counts of its penalty, if it has one. Lines that a penalty refused are among those of `denied`,
    /// but not of `denied_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<PenaltySummary>,
    /// The counts of its tenants, if it has shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<SharesSummary>,
    /// The counts of its classes, if it has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSummary>,
    /// The counts at the stamps themselves, if the limiter counts in times about as short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_stamped: Option<StampedSummary>,
    /// The lines that lacked a value, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<Lacking>,
    /// The accuracy of the counts of keys, if they are not exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<TallySummary>,
    /// The counts of the store, if the policy chose one, and lines were refused.
    #[serde(flatten)]
    pub store: Option<StoreSummary>,
    /// The waits, if lines were delayed instead of being refused.
    #[serde(flatten)]
    pub waits: Option<WaitsSummary>,
}

/// The counts of one of several windows, or of one of several limiters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartSummary {
    /// Description of the part, in words.
    pub part: String,
    /// Lines that it refused, with the longest wait of all the parts that refused them.
    pub denied: u64,
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
    /// or all of them if that is 0. `errors` are the reasons for which not all was judged.
    #[must_use]
    pub fn new(replay: &Replay, top: usize, errors: Vec<String>) -> Summary {
        let hierarchy = replay.levels().map(|levels| HierarchySummary::new(levels, top));
        let pass = replay.pass();
        Summary {
            lines: pass.lines(),
            skipped: pass.skipped(),
            late: pass.late(),
            misplaced: pass.misplaced(),
            outliers: pass.outliers(),
            stamps: StampSummary {
                resolution_nanos: u64::try_from(pass.resolution().as_nanos()).unwrap_or(u64::MAX),
                spread: !replay.options().as_stamped,
            },
            incomplete: !errors.is_empty(),
            warnings: errors
                .into_iter()
                .chain(warnings::of_replay(replay))
                .chain(hierarchy.iter().flat_map(HierarchySummary::warnings))
                .collect(),
            hierarchy,
            limiters: replay
                .judges()
                .iter()
                .map(|judge| LimiterSummary::of_judge(judge, replay, top))
                .collect(),
        }
    }

    /// Names the networks of the keys that were denied.
    pub fn name_networks(&mut self, crawlers: &Crawlers) {
        for key in self.limiters.iter_mut().flat_map(|limiter| &mut limiter.top_denied) {
            if let Some(profile) = &mut key.profile {
                profile.network = crawlers.name_of(&key.key).map(str::to_owned);
            }
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
    fn of_judge(judge: &Judge, replay: &Replay, top: usize) -> LimiterSummary {
        let max_keys = replay.options().tally_keys;
        let has_no_agents = !replay.pass().has(KeyField::Agent);
        let keys = judge.tallies().map(|(key, tally)| KeySummary::of_tally(key, tally));
        let (is_exact, denied_error) = (judge.is_exact(), judge.missed());
        let mut summary = LimiterSummary::new(judge.rule(), keys, judge.denied_by(), top);
        let profiles = judge.profiles_by_name();
        for key in &mut summary.top_denied {
            let profile = profiles.get(&key.key);
            key.profile = profile.map(|own| own.of_logs(has_no_agents));
        }
        LimiterSummary {
            keys: judge.keys(),
            allowed: judge.allowed(),
            denied: judge.denied(),
            as_stamped: judge
                .as_stamped()
                .map(|(allowed, denied)| StampedSummary { allowed, denied }),
            penalty: judge.penalty().map(PenaltySummary::from),
            shares: SharesSummary::new(&judge.rule().kind, judge.tallies(), top),
            classes: ClassSummary::all(&judge.rule().kind, judge.tallies()),
            lacking: judge.lacking().if_any(),
            tally: (!is_exact).then_some(TallySummary { max_keys, denied_error }),
            store: StoreSummary::of_judge(judge),
            waits: WaitsSummary::of_judge(judge, top),
            ..summary
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
            keys_hit: keys.iter().filter(|key| key.denied > 0).count(),
            allowed: keys.iter().map(|key| key.allowed).sum(),
            denied: keys.iter().map(|key| key.denied).sum(),
            top_denied: keys.into_iter().filter(|key| key.denied > 0).collect(),
            denied_by: parts.map(|(part, &denied)| PartSummary { part, denied }).collect(),
            penalty: None,
            shares: None,
            classes: Vec::new(),
            as_stamped: None,
            lacking: None,
            tally: None,
            store: None,
            waits: None,
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
    /// Returns the counts of the store. `None` for an exact store with space for every key, and where
    /// lines were delayed.
    fn of_judge(judge: &Judge) -> Option<StoreSummary> {
        if judge.waits().is_some() {
            return None;
        }
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
