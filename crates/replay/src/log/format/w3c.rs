//! The extended log format of the W3C, as IIS and `CloudFront` write it.

use std::io;
use std::ops::Range;

use super::found::{Day, Found};
use super::names::{Names, Slot};
use super::{Record, csv};
use crate::log::columns::ABSENT;
use crate::log::line::{BadLine, shown};

/// The fields of the last `#Fields:` line.
#[derive(Clone)]
pub(super) struct Fields {
    names: Vec<String>,
    slots: Vec<Vec<Slot>>,
    /// The columns that a policy asks for, each with its place and how good its name is.
    asked: Vec<(usize, usize, usize)>,
}

/// Reads a line that begins with `#`; `None` if it does not name the fields.
pub(super) fn directive(names: &Names, line: &[u8]) -> Option<io::Result<Fields>> {
    let names_of_fields = line.strip_prefix(b"#Fields:")?;
    let columns: Vec<String> = names_of_fields
        .split(u8::is_ascii_whitespace)
        .filter(|name| !name.is_empty())
        .map(shown)
        .collect();
    let slots = csv::slots(names, &columns, "the `#Fields:` line");
    let asked = csv::asked(names, &columns);
    let fields = |slots| Fields { names: columns, slots, asked };
    Some(slots.map(fields).map_err(io::Error::from))
}

/// Reads the date of a `#Date:` line, from which lines without a date have theirs.
pub(super) fn day(line: &[u8]) -> Option<Day> {
    let text = line.strip_prefix(b"#Date:")?.trim_ascii_start();
    let day = text.first_chunk::<10>()?;
    matches!(day, [_, _, _, _, b'-', _, _, b'-', _, _]).then_some(*day)
}

impl Fields {
    /// Returns their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn record<'a>(
        &self,
        names: &Names,
        line: &'a [u8],
        day: Option<Day>,
    ) -> Result<Option<Record<'a>>, BadLine> {
        let separator = if memchr::memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
        let mut found = Found::on_day(day);
        let (mut at, mut count) = (0, 0);
        while at <= line.len() {
            if separator == b' ' && line.get(at) == Some(&b' ') {
                at += 1;
                continue;
            }
            if separator == b' ' && at == line.len() {
                break;
            }
            let place = value(line, at, separator)?;
            let text = &line[place.clone()];
            if !text.is_empty() && text != ABSENT {
                let slots = self.slots.get(count).map_or(&[][..], Vec::as_slice);
                for slot in slots {
                    found.put(*slot, place.clone());
                }
                for (_, asked, rank) in self.asked.iter().filter(|(at, ..)| *at == count) {
                    found.put_column(*asked, *rank, place.clone());
                }
            }
            count += 1;
            let is_quoted = line.get(at) == Some(&b'"');
            at = place.end + usize::from(is_quoted) + 1;
        }
        if count != self.slots.len() {
            return Err(BadLine::Columns(count, self.slots.len()));
        }
        found.named_record(line, names)
    }
}

/// Returns the place of the value that begins there, without its quotes.
fn value(line: &[u8], at: usize, separator: u8) -> Result<Range<usize>, BadLine> {
    if line.get(at) != Some(&b'"') {
        let len = memchr::memchr(separator, &line[at..]).unwrap_or(line.len() - at);
        return Ok(at..at + len);
    }
    let mut end = at + 1;
    loop {
        end +=
            memchr::memchr(b'"', line.get(end..).unwrap_or_default()).ok_or(BadLine::OpenQuote)?;
        // Two quotes are one in the value.
        if line.get(end + 1) != Some(&b'"') {
            return Ok(at + 1..end);
        }
        end += 2;
    }
}
