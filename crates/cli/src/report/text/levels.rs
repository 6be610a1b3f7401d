//! The levels of a hierarchy.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Color, Table};
use indicatif::HumanCount;
use sluicegate_replay::log::printable;

use super::{DIM, align_right, header, percent, section, write_table};
use crate::report::json::Summary;

impl Summary {
    /// Writes the levels of a hierarchy, if the policy has one.
    pub(super) fn write_levels(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        let Some(hierarchy) = &self.hierarchy else { return Ok(()) };
        let all = hierarchy.allowed + hierarchy.denied;
        let mut table = Table::new();
        table.set_header(["level", "policy", "keys", "hit", "denied", "denied %"].map(header));
        for level in &hierarchy.levels {
            table.add_row([
                Cell::new(printable(&level.name)).add_attribute(Attribute::Bold),
                Cell::new(&level.policy),
                Cell::new(HumanCount(level.keys as u64)),
                Cell::new(HumanCount(level.keys_hit as u64)),
                Cell::new(HumanCount(level.denied)).fg(Color::Red),
                Cell::new(percent(level.denied, all)),
            ]);
        }
        align_right(&mut table, 2..6);
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
