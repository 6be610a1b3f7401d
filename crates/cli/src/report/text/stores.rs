//! The part of the report for people on the stores that the policy chose.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Table};
use indicatif::{HumanBytes, HumanCount};
use sluicegate::keyed::WhenFull;
use sluicegate_replay::replay::Replay;

use super::{align_right, header, section, write_table};
use crate::report::json::{StoreSummary, Summary};

impl StoreSummary {
    fn full(&self) -> u64 {
        match *self {
            StoreSummary::Exact { full, .. } | StoreSummary::Table { full, .. } => full,
        }
    }
}

impl Summary {
    /// Writes the counts of the stores that the policy chose, if it chose any.
    pub(super) fn write_stores(
        &self,
        replay: &Replay,
        out: &mut impl Write,
        width: u16,
    ) -> io::Result<()> {
        let mut table = Table::new();
        table.set_header(["limiter", "store", "memory", "holds", "no room", "then"].map(header));
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
            table.add_row([
                Cell::new(&limiter.name).add_attribute(Attribute::Bold),
                Cell::new(name),
                Cell::new(memory),
                Cell::new(holds),
                Cell::new(HumanCount(store.full())),
                Cell::new(then(judge.rule().store.when_full)),
            ]);
        }
        if table.is_empty() {
            return Ok(());
        }
        align_right(&mut table, 2..5);
        section(out, "stores", "")?;
        write_table(out, table, width)
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
