//! The levels of a hierarchy.

use std::io::{self, Write};

use comfy_table::{Cell, Color};
use indicatif::HumanCount;
use sluicegate_replay::log::printable;

use super::{DIM, Section, name_cell, percent};
use crate::report::json::Summary;

impl Summary {
    /// Writes the levels of a hierarchy, if the policy has one.
    pub(super) fn write_levels(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        let Some(hierarchy) = &self.hierarchy else { return Ok(()) };
        let all = hierarchy.allowed + hierarchy.denied;
        let names = ["level", "policy", "keys", "hit", "denied", "denied %"];
        let note = ", which a request passes all or none of";
        let mut section = Section::new("levels", note, names, 2..6);
        for level in &hierarchy.levels {
            section.table.add_row([
                name_cell(&printable(&level.name), 0),
                Cell::new(&level.policy),
                Cell::new(HumanCount(level.keys as u64)),
                Cell::new(HumanCount(level.keys_hit as u64)),
                Cell::new(HumanCount(level.denied)).fg(Color::Red),
                Cell::new(percent(level.denied, all)),
            ]);
        }
        section.write(out, width)?;
        let [allowed, denied] = [hierarchy.allowed, hierarchy.denied].map(HumanCount);
        writeln!(out, "  {DIM}{allowed} passed all levels, {denied} were denied by one{DIM:#}")
    }

    /// Returns the keys that each level refused most often.
    pub(super) fn top_of_levels(&self) -> Section {
        let names = ["level", "key", "denied", "of", "denied %"];
        let mut section = Section::new("most denied by levels", "", names, 2..5);
        for level in self.hierarchy.iter().flat_map(|hierarchy| &hierarchy.levels) {
            for (place, key) in level.top_denied.iter().enumerate() {
                let all = key.allowed + key.denied;
                section.table.add_row([
                    name_cell(&printable(&level.name), place),
                    Cell::new(printable(&key.key)),
                    Cell::new(HumanCount(key.denied)).fg(Color::Red),
                    Cell::new(HumanCount(all)),
                    Cell::new(percent(key.denied, all)),
                ]);
            }
        }
        section
    }
}
