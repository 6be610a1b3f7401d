//! The lines of one log in a format other than the common one.

use std::io;
use std::sync::Arc;

use memchr::memmem;

use super::super::columns::Asked;
use super::csv::Header;
use super::found::Day;
use super::names::{Names, Slot};
use super::prefix::Before;
use super::record::{Record, Scratch};
use super::w3c::{self, Fields};
use super::{Candidate, Format, Kind, json, ltsv};
use crate::log::line::{BadLine, Line};
use crate::log::presence::Presence;

/// Reads the lines of one log, and knows its header.
#[derive(Clone)]
pub(in crate::log) struct Reader {
    /// The name of the format, if it is not the usual one, and was not given.
    name: Option<String>,
    kind: Kind,
    before: Before,
    asked: Asked,
    presence: Arc<Presence>,
    header: Option<Header>,
    fields: Option<Fields>,
    /// The date of the last `#Date:` line.
    day: Option<Day>,
}

/// A reason why a line is none of the log's.
pub(in crate::log) enum NoLine {
    Bad(BadLine),
    /// The log cannot be read.
    Log(io::Error),
}

impl Reader {
    /// Starts to read a log in one of the forms of a format.
    pub(super) fn new(format: &Format, form: &Candidate, before: Before) -> Reader {
        let reader = Reader::to_try(format, form, before);
        let presence = &format.presence;
        match &form.kind {
            Kind::Common => {}
            Kind::Pattern(pattern) => {
                presence.learn(pattern.names());
                presence.seek(pattern.client(), false);
            }
            Kind::Json(names) | Kind::Ltsv(names) | Kind::Csv(names) | Kind::W3c(names) => {
                for own in names.iter().filter(|own| own.slot == Slot::Client) {
                    presence.seek(own.names.iter().map(String::as_str), own.is_given);
                }
            }
        }
        let was_given = format.candidates.len() == 1 && (before == format.before);
        let name = match before.depth() {
            _ if was_given => None,
            0 => (!reader.is_common()).then(|| form.name.to_owned()),
            _ => Some(after_prefix(form.name, before)),
        };
        Reader { name, presence: Arc::clone(&format.presence), ..reader }
    }

    /// Starts to read a log of which no line was understood, in the form for which the messages about its lines are
    /// best.
    pub(super) fn of_no_format(format: &Format, form: &Candidate, before: Before) -> Reader {
        let reader = Reader::new(format, form, before);
        match reader.name {
            Some(_) if reader.is_common() => {
                Reader { name: Some(after_prefix("lines in no known format", before)), ..reader }
            }
            _ => reader,
        }
    }

    /// Does the same, to find out whether lines are in that form: no name is remembered.
    pub(super) fn to_try(format: &Format, form: &Candidate, before: Before) -> Reader {
        let is_common = matches!(form.kind, Kind::Common);
        Reader {
            name: None,
            kind: form.kind.clone(),
            before,
            // A common log has no others.
            asked: if is_common { Asked::default() } else { format.asked.clone() },
            presence: Arc::default(),
            header: None,
            fields: None,
            day: None,
        }
    }

    /// Returns the name of the format, if it is not the usual one, and was not given.
    pub(in crate::log) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the line without what is before it in its log.
    #[inline]
    pub(in crate::log) fn without_prefix<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        self.before.strip(line)
    }

    /// Returns true if lines of that text may be a header, which decides how those after it are read.
    pub(in crate::log) fn may_learn_of(&self, text: &[u8]) -> bool {
        match self.kind {
            Kind::Csv(_) => self.header.is_none(),
            Kind::W3c(_) => {
                !self.before.is_none()
                    || text.starts_with(b"#")
                    || memmem::find(text, b"\n#").is_some()
            }
            _ => false,
        }
    }

    /// Returns true for common and combined format, whose lines need no reader.
    pub(in crate::log) fn is_common(&self) -> bool {
        matches!(self.kind, Kind::Common)
    }

    /// Returns the columns that it reads.
    pub(in crate::log) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Returns the record of which of them lines have.
    pub(in crate::log) fn presence(&self) -> &Presence {
        &self.presence
    }

    /// Reads a line that is not empty; `None` if it is a part of a header.
    pub(in crate::log) fn record<'a>(
        &mut self,
        line: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Option<Record<'a>>, NoLine> {
        let bad = NoLine::Bad;
        match &self.kind {
            Kind::Common => {
                let record = |line| Some(Record { line, places: 0, columns: Vec::new() });
                Line::parse(line).map(record).map_err(bad)
            }
            Kind::Pattern(pattern) => pattern.record(line).map_err(bad),
            Kind::Json(names) => json::record(names, line, scratch, &self.presence).map_err(bad),
            Kind::Csv(names) => match &mut self.header {
                Some(header) => header.record(names, line, scratch).map_err(bad),
                none => {
                    let header = Header::read(names, line, scratch).map_err(NoLine::Log)?;
                    self.presence.learn(header.names());
                    *none = Some(header);
                    Ok(None)
                }
            },
            Kind::Ltsv(names) => ltsv::record(names, line, scratch, &self.presence).map_err(bad),
            Kind::W3c(names) => w3c(&mut self.fields, &mut self.day, names, line, &self.presence),
        }
    }
}

fn after_prefix(name: &str, before: Before) -> String {
    format!("{name} after the prefix of {}", before.name())
}

fn w3c<'a>(
    fields: &mut Option<Fields>,
    day: &mut Option<Day>,
    names: &Names,
    line: &'a [u8],
    presence: &Presence,
) -> Result<Option<Record<'a>>, NoLine> {
    if line.starts_with(b"#") {
        *day = w3c::day(line).or(*day);
        if let Some(named) = w3c::directive(names, line) {
            let header = named.map_err(NoLine::Log)?;
            presence.learn(header.names());
            *fields = Some(header);
        }
        return Ok(None);
    }
    match fields {
        Some(fields) => fields.record(names, line, *day).map_err(NoLine::Bad),
        None => Err(NoLine::Bad(BadLine::NoFields)),
    }
}
