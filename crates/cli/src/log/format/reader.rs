//! The lines of one log in a format other than the common one.

use std::io;
use std::ops::Range;

use super::super::columns::Asked;
use super::csv::Header;
use super::names::Names;
use super::w3c::{self, Fields};
use super::{Format, Kind, json};
use crate::log::line::{BadLine, Line};
use crate::log::presence::Presence;

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
    /// The number of JSON objects whose names were remembered.
    pub(super) learnt: usize,
}

impl Scratch {
    pub(super) fn place(&self, column: usize) -> Range<usize> {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[column]
    }

    pub(super) fn value(&self, column: usize) -> &[u8] {
        &self.text[self.place(column)]
    }
}

/// Reads the lines of one log, and knows its header.
pub(in crate::log) struct Reader {
    format: Format,
    header: Option<Header>,
    fields: Option<Fields>,
}

/// A reason why a line is none of the log's.
pub(in crate::log) enum NoLine {
    Bad(BadLine),
    /// The log cannot be read.
    Log(io::Error),
}

impl Reader {
    pub(in crate::log) fn new(format: &Format) -> Reader {
        Reader { format: format.clone(), header: None, fields: None }
    }

    /// Returns true for common and combined format, whose lines need no reader.
    pub(in crate::log) fn is_common(&self) -> bool {
        matches!(self.format.kind, Kind::Common)
    }

    /// Returns the columns that it reads.
    pub(in crate::log) fn asked(&self) -> &Asked {
        &self.format.asked
    }

    /// Returns the record of which of them lines have.
    pub(in crate::log) fn presence(&self) -> &Presence {
        &self.format.presence
    }

    /// Reads a line that is not empty; `None` if it is a part of a header.
    pub(in crate::log) fn record<'a>(
        &mut self,
        line: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Option<Record<'a>>, NoLine> {
        let bad = NoLine::Bad;
        match &self.format.kind {
            Kind::Common => {
                let record = |line| Some(Record { line, places: 0, columns: Vec::new() });
                Line::parse(line).map(record).map_err(bad)
            }
            Kind::Pattern(pattern) => pattern.record(line).map_err(bad),
            Kind::Json(names) => {
                json::record(names, line, scratch, &self.format.presence).map_err(bad)
            }
            Kind::Csv(names) => match &mut self.header {
                Some(header) => header.record(names, line, scratch).map_err(bad),
                none => {
                    let header = Header::read(names, line, scratch).map_err(NoLine::Log)?;
                    self.format.presence.learn(header.names());
                    *none = Some(header);
                    Ok(None)
                }
            },
            Kind::W3c(names) => w3c(&mut self.fields, names, line, &self.format.presence),
        }
    }
}

fn w3c<'a>(
    fields: &mut Option<Fields>,
    names: &Names,
    line: &'a [u8],
    presence: &Presence,
) -> Result<Option<Record<'a>>, NoLine> {
    if line.starts_with(b"#") {
        if let Some(named) = w3c::directive(names, line) {
            let header = named.map_err(NoLine::Log)?;
            presence.learn(header.names());
            *fields = Some(header);
        }
        return Ok(None);
    }
    match fields {
        Some(fields) => fields.record(names, line).map_err(NoLine::Bad),
        None => Err(NoLine::Bad(BadLine::NoFields)),
    }
}
