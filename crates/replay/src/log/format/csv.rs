//! Lines of columns under a header.

use std::io;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::memchr_iter;

use super::error::{HeaderError, nearest};
use super::found::Found;
use super::names::{Names, Slot};
use super::record::{Record, Scratch};
use crate::log::columns::ABSENT;
use crate::log::line::{BadLine, shown};

/// The columns that a message lists, and the characters of each.
const LISTED: usize = 40;

/// The header of a log, and the reader of its lines.
#[derive(Clone)]
pub(super) struct Header {
    /// The header's line, which joined logs repeat.
    line: Vec<u8>,
    names: Vec<String>,
    reader: Columns,
    /// The slots of each column.
    slots: Vec<Vec<Slot>>,
    /// The columns that a policy asks for, each with its place and how good its name is.
    asked: Vec<(usize, usize, usize)>,
}

/// A reader of columns. The clone of a [`Reader`] has lost its delimiter, so that it is built anew.
struct Columns {
    delimiter: u8,
    reader: Reader,
}

impl Columns {
    fn new(delimiter: u8) -> Columns {
        Columns { delimiter, reader: ReaderBuilder::new().delimiter(delimiter).build() }
    }
}

impl Clone for Columns {
    fn clone(&self) -> Columns {
        Columns::new(self.delimiter)
    }
}

impl Header {
    /// Reads the first line of a log.
    ///
    /// # Errors
    ///
    /// If a name that was given is not in it, or no time is.
    pub(super) fn read(names: &Names, line: &[u8], scratch: &mut Scratch) -> io::Result<Header> {
        let delimiters = [b',', b';', b'\t'];
        let count = |delimiter: &u8| memchr_iter(*delimiter, line).count();
        // Of as many, the first.
        let delimiter = delimiters.iter().rev().max_by_key(|byte| count(byte)).unwrap_or(&b',');
        let mut reader = Columns::new(*delimiter);
        let count = split(&mut reader.reader, line, scratch, count(delimiter) + 1)
            .map_err(|why| HeaderError(format!("its header: {why}")))?;
        let columns: Vec<String> =
            (0..count).map(|column| shown(scratch.value(column)).trim().to_owned()).collect();
        let slots = slots(names, &columns, "the header")?;
        let asked = asked(names, &columns);
        Ok(Header { line: line.to_vec(), names: columns, reader, slots, asked })
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Reads a line; `None` for the header again.
    pub(super) fn record<'a>(
        &mut self,
        names: &Names,
        line: &[u8],
        scratch: &'a mut Scratch,
    ) -> Result<Option<Record<'a>>, BadLine> {
        if line == self.line {
            return Ok(None);
        }
        let count = split(&mut self.reader.reader, line, scratch, self.slots.len())?;
        if count != self.slots.len() {
            return Err(BadLine::Columns(count, self.slots.len()));
        }
        let mut found = Found::default();
        for (column, slots) in self.slots.iter().enumerate() {
            let value = scratch.value(column);
            if !value.is_empty() && value != ABSENT {
                for slot in slots {
                    found.put(*slot, scratch.place(column));
                }
            }
        }
        for (column, asked, rank) in &self.asked {
            let value = scratch.value(*column);
            if !value.is_empty() && value != ABSENT {
                found.put_column(*asked, *rank, scratch.place(*column));
            }
        }
        found.named_record(&scratch.text, names)
    }
}

/// Returns the columns that a policy asks for: the place of each in the line, which of those asked for it
/// is, and how good its name is.
pub(super) fn asked(names: &Names, columns: &[String]) -> Vec<(usize, usize, usize)> {
    let of_column = |(place, column): (usize, &String)| {
        let asked = names.asked.0.iter().enumerate();
        let found = asked.filter_map(|(which, one)| Some((place, which, one.rank(column)?)));
        found.collect::<Vec<_>>()
    };
    columns.iter().enumerate().flat_map(of_column).collect()
}

/// Returns the slots of each of some columns. Errors if a name that was given is none of them, or no
/// time is.
pub(super) fn slots(
    names: &Names,
    columns: &[String],
    what: &str,
) -> Result<Vec<Vec<Slot>>, HeaderError> {
    let mut slots = vec![Vec::new(); columns.len()];
    let mut known = Vec::new();
    for name in names.iter() {
        let is_name = |column: &String| name.names.iter().position(|name| name == column);
        let place =
            (0..columns.len()).filter_map(|place| Some((is_name(&columns[place])?, place))).min();
        match place {
            Some((_, place)) => {
                slots[place].push(name.slot);
                known.push(name.slot);
            }
            None if name.is_given => {
                let given = &name.names[0];
                let near =
                    nearest(given, columns.iter().map(String::as_str), given.len().div_ceil(3));
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                return Err(HeaderError(format!(
                    "no column is named `{given}` in {what}: {}{near}",
                    listed(columns)
                )));
            }
            None => {}
        }
    }
    let has = |slot| known.contains(&slot);
    if has(Slot::Time) || has(Slot::Date) && has(Slot::TimeOfDay) {
        return Ok(slots);
    }
    Err(HeaderError(format!(
        "no time is in {what}: {}; it would be named {}, or by `--fields time=NAME`",
        listed(columns),
        names.of_time()
    )))
}

/// Returns names for a message, which has no space for all names of a wide header.
fn listed(columns: &[String]) -> String {
    let listed: Vec<String> =
        columns.iter().take(LISTED).map(|name| name.chars().take(LISTED).collect()).collect();
    let listed = listed.join(", ");
    match columns.len().saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Divides a line into its values, which are put to `scratch`, and returns their number. More than
/// `most` values are not put there.
fn split(
    reader: &mut Reader,
    line: &[u8],
    scratch: &mut Scratch,
    most: usize,
) -> Result<usize, BadLine> {
    if memchr_iter(b'"', line).count() % 2 == 1 {
        return Err(BadLine::OpenQuote);
    }
    reader.reset();
    scratch.text.resize(line.len() + 1, 0);
    scratch.ends.resize(most + 1, 0);
    let (mut read, mut written, mut count) = (0, 0, 0);
    loop {
        let (result, more_read, more_written, more) = reader.read_record(
            &line[read..],
            &mut scratch.text[written..],
            &mut scratch.ends[count..],
        );
        read += more_read;
        written += more_written;
        count += more;
        match result {
            // At the end of the line it is called again, with nothing.
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::Record | ReadRecordResult::End => break,
            ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                return Err(BadLine::Columns(count, most));
            }
        }
    }
    // Keys separate their fields by line ends, and a line has none but these.
    for byte in &mut scratch.text[..written] {
        if *byte == b'\n' {
            *byte = b' ';
        }
    }
    Ok(count)
}
