//! The part of the report for people on the penalties of the policy.

use comfy_table::{Cell, Color};
use indicatif::HumanCount;
use sluicegate_replay::replay::Replay;

use super::{Section, name_cell, percent};
use crate::report::json::Summary;

impl Summary {
    /// Returns the counts of the penalties.
    pub(super) fn penalties(&self, replay: &Replay) -> Section {
        let names = ["limiter", "penalty", "offences", "penalties", "denied by it", "denied %"];
        let mut section = Section::new("penalties", "", names, 2..6);
        for (limiter, judge) in self.limiters.iter().zip(replay.judges()) {
            let (Some(counts), Some(penalty)) = (limiter.penalty, &judge.rule().penalty) else {
                continue;
            };
            section.table.add_row([
                name_cell(&limiter.name, 0),
                Cell::new(penalty),
                Cell::new(HumanCount(counts.offences)),
                Cell::new(HumanCount(counts.penalties)),
                Cell::new(HumanCount(counts.denied)).fg(Color::Red),
                Cell::new(percent(counts.denied, limiter.allowed + limiter.denied)),
            ]);
        }
        section
    }
}
