//! Limiters that refuse a part of a steady rate of exactly their limit.

use comfy_table::Cell;
use sluicegate_replay::replay::Replay;

use super::{Section, name_cell};
use crate::report::json::Summary;

impl Summary {
    /// Returns the part of a steady rate that limiters of a short time refuse, of those that refused
    /// something.
    pub(super) fn steady(&self, replay: &Replay) -> Section {
        let mut section = Section::new("limiters that deny some of a steady rate", "", [], 0..0);
        for (limiter, judge) in self.limiters.iter().zip(replay.judges()) {
            let is_told = limiter.as_stamped.is_some() && limiter.denied > 0;
            if let Some(sentence) = judge.rule().kind.about_steady().filter(|_| is_told) {
                section.table.add_row([name_cell(&limiter.name, 0), Cell::new(sentence)]);
            }
        }
        section
    }
}
