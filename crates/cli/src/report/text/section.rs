//! The parts of the report: tables under titles.

use std::io::{self, Write};
use std::ops::Range;

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};

use super::{BOLD, DIM};

/// A table under its title.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) note: &'static str,
    pub(super) table: Table,
    /// The columns of numbers.
    numbers: Range<usize>,
}

impl Section {
    /// Starts a table without rows.
    pub(super) fn new<'n>(
        title: &'static str,
        note: &'static str,
        names: impl IntoIterator<Item = &'n str>,
        numbers: Range<usize>,
    ) -> Section {
        let mut table = Table::new();
        let names: Vec<Cell> = names.into_iter().map(header).collect();
        if !names.is_empty() {
            table.set_header(names);
        }
        Section { title, note, table, numbers }
    }

    /// Writes the table, unless it has no row.
    pub(super) fn write(mut self, out: &mut impl Write, width: u16) -> io::Result<()> {
        if self.table.is_empty() {
            return Ok(());
        }
        align_right(&mut self.table, self.numbers);
        section(out, self.title, self.note)?;
        write_table(out, self.table, width)
    }
}

/// Returns the cell of a name, which stands in the first of its rows.
pub(super) fn name_cell(name: &str, place: usize) -> Cell {
    Cell::new(if place == 0 { name } else { "" }).add_attribute(Attribute::Bold)
}

pub(in crate::report) fn header(name: &str) -> Cell {
    Cell::new(name).add_attribute(Attribute::Dim)
}

pub(in crate::report) fn align_right(table: &mut Table, columns: Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

pub(in crate::report) fn section(out: &mut impl Write, title: &str, note: &str) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{title}{BOLD:#}{DIM}{note}{DIM:#}")
}

pub(in crate::report) fn write_table(
    out: &mut impl Write,
    mut table: Table,
    width: u16,
) -> io::Result<()> {
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.saturating_sub(1))
        .set_truncation_indicator("…")
        .enforce_styling();
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}
