//! A line that was read, and the memory for it.

use std::ops::Range;

use crate::log::line::Line;

/// The first lines of a log whose names are remembered.
const LEARNT: usize = 100;

/// A line, and the decimal places of its stamp.
pub(in crate::log) struct Record<'a> {
    pub(in crate::log) line: Line<'a>,
    pub(in crate::log) places: u8,
    /// The values of the columns that a policy asks for.
    pub(in crate::log) columns: Vec<Option<&'a [u8]>>,
}

/// Memory that is used again for each line.
#[derive(Debug, Default)]
pub(in crate::log) struct Scratch {
    /// Values that are not in the line as they are.
    pub(in crate::log) text: Vec<u8>,
    /// The ends of values in that text.
    pub(super) ends: Vec<usize>,
    /// The name of the present value.
    pub(super) path: String,
    /// The number of lines whose names were remembered.
    learnt: usize,
}

impl Scratch {
    /// Remembers no names of the lines to come.
    pub(in crate::log) fn learn_no_more(&mut self) {
        self.learnt = LEARNT;
    }

    /// Returns true for the first lines, whose names are to be remembered.
    pub(super) fn learns(&mut self) -> bool {
        let learns = self.learnt < LEARNT;
        self.learnt += usize::from(learns);
        learns
    }

    pub(super) fn place(&self, column: usize) -> Range<usize> {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[column]
    }

    pub(super) fn value(&self, column: usize) -> &[u8] {
        &self.text[self.place(column)]
    }
}
