//! The part of the report for people on the stores that the policy chose.

use comfy_table::Cell;
use indicatif::{HumanBytes, HumanCount};
use sluicegate::keyed::WhenFull;
use sluicegate_replay::replay::Replay;

use super::{Section, name_cell};
use crate::report::json::{StoreSummary, Summary};

impl StoreSummary {
    fn full(&self) -> u64 {
        match *self {
            StoreSummary::Exact { full, .. } | StoreSummary::Table { full, .. } => full,
        }
    }
}

impl Summary {
    /// Returns the counts of the stores that the policy chose.
    pub(super) fn stores(&self, replay: &Replay) -> Section {
        let names = ["limiter", "store", "memory", "holds", "no room", "then"];
        let mut section = Section::new("stores", "", names, 2..5);
        for (limiter, judge) in self.limiters.iter().zip(replay.judges()) {
            let Some(store) = &limiter.store else { continue };
            let (name, memory, holds) = match store {
                StoreSummary::Exact { max_keys, known, .. } => (
                    "exact",
                    format!("{} keys", HumanCount(*max_keys as u64)),
                    format!("{} at most", HumanCount(*known as u64)),
                ),
                StoreSummary::Table { memory_bytes, occupancy, .. } => (
                    "table",
                    HumanBytes(*memory_bytes as u64).to_string(),
                    format!(
                        "{} of {}",
                        HumanCount(occupancy.live as u64),
                        HumanCount(occupancy.places as u64)
                    ),
                ),
            };
            section.table.add_row([
                name_cell(&limiter.name, 0),
                Cell::new(name),
                Cell::new(memory),
                Cell::new(holds),
                Cell::new(HumanCount(store.full())),
                Cell::new(then(judge.rule().store.when_full)),
            ]);
        }
        section
    }
}

fn then(when_full: WhenFull) -> String {
    match when_full {
        WhenFull::Deny => "denied".to_owned(),
        WhenFull::Admit => "admitted".to_owned(),
        WhenFull::Share(quota) => {
            let (burst, permits) = (HumanCount(quota.burst()), HumanCount(quota.rate().permits()));
            let period = sluicegate_policy::time_in_words(quota.rate().period());
            format!("share {burst}, then {permits} per {period}")
        }
        _ => String::new(),
    }
}
