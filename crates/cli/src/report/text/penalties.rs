//! The part of the report for people on the penalties of the policy.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Color, Table};
use indicatif::HumanCount;
use sluicegate_replay::replay::Replay;

use super::{align_right, header, percent, section, write_table};
use crate::report::json::Summary;

impl Summary {
    /// Writes the counts of the penalties, if the policy has any.
    pub(super) fn write_penalties(
        &self,
        replay: &Replay,
        out: &mut impl Write,
        width: u16,
    ) -> io::Result<()> {
        let mut table = Table::new();
        let names = ["limiter", "penalty", "offences", "penalties", "denied by it", "denied %"];
        table.set_header(names.map(header));
        for (limiter, judge) in self.limiters.iter().zip(replay.judges()) {
            let (Some(counts), Some(penalty)) = (limiter.penalty, &judge.rule().penalty) else {
                continue;
            };
            table.add_row([
                Cell::new(&limiter.name).add_attribute(Attribute::Bold),
                Cell::new(penalty),
                Cell::new(HumanCount(counts.offences)),
                Cell::new(HumanCount(counts.penalties)),
                Cell::new(HumanCount(counts.denied)).fg(Color::Red),
                Cell::new(percent(counts.denied, limiter.allowed + limiter.denied)),
            ]);
        }
        if table.is_empty() {
            return Ok(());
        }
        align_right(&mut table, 2..6);
        section(out, "penalties", "")?;
        write_table(out, table, width)
    }
}
