//! Limiters that refuse a part of a steady rate of exactly their limit.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Table};
use sluicegate_replay::replay::Replay;

use super::super::json::Summary;
use super::{section, write_table};

impl Summary {
    /// Writes the part of a steady rate that limiters of a short time refuse, of those that refused
    /// something.
    pub(super) fn write_steady(
        &self,
        replay: &Replay,
        out: &mut impl Write,
        width: u16,
    ) -> io::Result<()> {
        let mut table = Table::new();
        for (limiter, judge) in self.limiters.iter().zip(replay.judges()) {
            let is_told = limiter.as_stamped.is_some() && limiter.denied > 0;
            let Some(sentence) = judge.rule().kind.about_steady().filter(|_| is_told) else {
                continue;
            };
            table.add_row([
                Cell::new(&limiter.name).add_attribute(Attribute::Bold),
                Cell::new(sentence),
            ]);
        }
        if table.is_empty() {
            return Ok(());
        }
        section(out, "limiters that deny some of a steady rate", "")?;
        write_table(out, table, width)
    }
}
