//! The report for programs: one JSON object on one line.

use std::io::{self, Write};

use super::Summary;

impl Summary {
    /// Writes the counts as JSON.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }
}
