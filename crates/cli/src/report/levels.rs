//! The part of the reports on the levels of a hierarchy.

use std::cmp::Reverse;
use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Color, Table};
use indicatif::HumanCount;
use serde::Serialize;

use super::json::{KeySummary, Summary};
use super::text::{DIM, align_right, header, percent, section, write_table};
use crate::log::printable;
use crate::replay::{LevelCounts, Levels};

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
            top_denied
                .sort_by(|a, b| (Reverse(a.denied), &a.key).cmp(&(Reverse(b.denied), &b.key)));
            if top > 0 {
                top_denied.truncate(top);
            }
            LevelSummary {
                name: level.name.clone(),
                policy: level.kind.to_string(),
                keys,
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

impl Summary {
    /// Writes the levels of a hierarchy, if the policy has one.
    pub(super) fn write_levels(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        let Some(hierarchy) = &self.hierarchy else { return Ok(()) };
        let all = hierarchy.allowed + hierarchy.denied;
        let mut table = Table::new();
        table.set_header(["level", "policy", "keys", "denied", "denied %"].map(header));
        for level in &hierarchy.levels {
            table.add_row([
                Cell::new(printable(&level.name)).add_attribute(Attribute::Bold),
                Cell::new(&level.policy),
                Cell::new(HumanCount(level.keys as u64)),
                Cell::new(HumanCount(level.denied)).fg(Color::Red),
                Cell::new(percent(level.denied, all)),
            ]);
        }
        align_right(&mut table, 2..5);
        section(out, "levels", ", which a request passes all or none of")?;
        write_table(out, table, width)?;
        let [allowed, denied] = [hierarchy.allowed, hierarchy.denied].map(HumanCount);
        writeln!(out, "  {DIM}{allowed} passed all levels, {denied} were denied by one{DIM:#}")
    }

    /// Writes the keys that each level refused most often.
    pub(super) fn write_top_of_levels(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        let levels = self.hierarchy.iter().flat_map(|hierarchy| &hierarchy.levels);
        let mut table = Table::new();
        table.set_header(["level", "key", "denied", "of", "denied %"].map(header));
        for level in levels {
            for (place, key) in level.top_denied.iter().enumerate() {
                let all = key.allowed + key.denied;
                table.add_row([
                    Cell::new(if place == 0 { printable(&level.name) } else { String::new() })
                        .add_attribute(Attribute::Bold),
                    Cell::new(printable(&key.key)),
                    Cell::new(HumanCount(key.denied)).fg(Color::Red),
                    Cell::new(HumanCount(all)),
                    Cell::new(percent(key.denied, all)),
                ]);
            }
        }
        if table.is_empty() {
            return Ok(());
        }
        align_right(&mut table, 2..5);
        section(out, "most denied by levels", "")?;
        write_table(out, table, width)
    }
}
