//! Reads a log in blocks, and divides each into the lines that it has.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::time::Duration;

use bstr::{BStr, ByteSlice};
use jiff::Timestamp;
use memchr::{memchr, memchr_iter};

use super::columns::{Asked, Columns};
use super::format::{Format, NoLine, Reader, Record, Scratch};
use super::line::{ABSENT, BadLine, Line};
use super::presence::Had;
use super::{MAX_LINE_BYTES, SHOWN_SKIPPED};

/// Bytes that are read at a time, with the rest of the line before. Fewer than those for which
/// allocators ask the system each time, and more than a line may have.
const BLOCK_BYTES: usize = 120 << 10;

/// Opens a text in UTF-8, as some editors write it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Some successive lines of a log.
#[derive(Debug, Default)]
pub struct Batch {
    /// The bytes of the lines, and after them the canonical forms of clients.
    text: Vec<u8>,
    /// The headers and columns that are read, and their places in each entry.
    asked: Asked,
    columns: Vec<Place>,
    /// The lines that are in a format, in the log's order.
    pub(super) entries: Vec<Entry>,
    /// The first of the lines that cannot be judged, with their numbers.
    pub(super) first_skipped: Vec<(u64, BadLine)>,
    /// The number of lines that cannot be judged.
    pub(super) skipped: u64,
    /// Those of them that are far ahead of their neighbours.
    pub(super) outliers: u64,
    /// The most decimal places that a stamp's second has.
    places: u8,
    /// The fields that its lines have.
    pub(super) had: Had,
}

/// A line of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Entry {
    /// The line's number in its log, from 1.
    pub number: u64,
    /// The time at which it is judged: its own, or that of a line before it that is newer.
    pub at: Timestamp,
    /// Its own time.
    pub time: Timestamp,
    bytes: u64,
    client: Place,
    user: Place,
    method: Place,
    path: Place,
    status: Place,
    referer: Place,
    agent: Place,
    /// The place of its first column among those of the batch.
    columns: u32,
}

/// A part of a batch's text, or a field that is absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    start: u32,
    len: u32,
}

const NOWHERE: Place = Place { start: u32::MAX, len: 0 };

impl Batch {
    /// Returns the lines that are to be judged.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the time between two stamps, by the finest of them.
    #[must_use]
    pub fn resolution(&self) -> Duration {
        Duration::from_nanos(10_u64.pow(9 - u32::from(self.places.min(9))))
    }

    /// Returns the bytes of memory that it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.text.capacity()
            + self.entries.capacity() * size_of::<Entry>()
            + self.columns.capacity() * size_of::<Place>()
    }

    /// Returns the fields of one of its entries.
    #[must_use]
    pub fn line(&self, entry: &Entry) -> Line<'_> {
        Line {
            client: self.at(entry.client),
            user: self.at(entry.user),
            time: entry.time,
            method: self.at(entry.method),
            path: self.at(entry.path),
            status: self.at(entry.status),
            bytes: entry.bytes,
            referer: self.at(entry.referer),
            agent: self.at(entry.agent),
            columns: self.columns(entry),
        }
    }

    #[inline]
    fn columns(&self, entry: &Entry) -> Columns<'_> {
        let asked = &*self.asked.0;
        if asked.is_empty() {
            return Columns::default();
        }
        let from = entry.columns as usize;
        let places = self.columns.get(from..from + asked.len()).unwrap_or_default();
        Columns { asked, places, text: &self.text }
    }

    fn at(&self, place: Place) -> &BStr {
        let start = place.start as usize;
        self.text.get(start..start + place.len as usize).unwrap_or(ABSENT).as_bstr()
    }

    /// Adds the counts of a batch without entries, which comes before it or after it.
    pub(super) fn absorb(&mut self, empty: Batch) {
        self.skipped += empty.skipped;
        self.outliers += empty.outliers;
        self.first_skipped.extend(empty.first_skipped);
        self.first_skipped.truncate(SHOWN_SKIPPED);
    }

    pub(super) fn skip(&mut self, number: u64, why: BadLine) {
        self.skipped += 1;
        self.outliers += u64::from(matches!(why, BadLine::Outlier(_)));
        if self.first_skipped.len() < SHOWN_SKIPPED {
            self.first_skipped.push((number, why));
        }
    }
}

/// The batches of a log.
pub(super) struct Batches<R> {
    log: R,
    /// Number of the last line that was read.
    number: u64,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    /// True while the end of a line that is too long is looked for.
    skips: bool,
    ended: bool,
    /// The number of lines in the batch before.
    entries: usize,
    reader: Reader,
    scratch: Scratch,
    /// The most decimal places of a stamp so far.
    places: u8,
    /// The reason why the lines that follow cannot be read.
    failed: Option<io::Error>,
}

impl<R: BufRead> Batches<R> {
    pub(super) fn new(log: R, format: &Format) -> Batches<R> {
        Batches {
            log,
            number: 0,
            rest: Vec::new(),
            skips: false,
            ended: false,
            entries: 0,
            reader: Reader::new(format),
            scratch: Scratch::default(),
            places: 0,
            failed: None,
        }
    }

    /// Reads the next lines. `None` is the end of the log.
    ///
    /// An error comes with the lines before it, and nothing comes after it.
    pub(super) fn next(&mut self) -> Option<(Batch, Option<io::Error>)> {
        if self.ended {
            return None;
        }
        let mut batch = Batch {
            entries: Vec::with_capacity(self.entries),
            asked: self.reader.asked().clone(),
            ..Batch::default()
        };
        let (mut text, mut extra) = (Vec::with_capacity(BLOCK_BYTES), Vec::new());
        text.append(&mut self.rest);
        let is_first = self.number == 0 && !self.skips;
        let wanted = BLOCK_BYTES - text.len();
        let error = match self.log.by_ref().take(wanted as u64).read_to_end(&mut text) {
            Ok(read) => {
                self.ended = read < wanted;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(error)
            }
        };
        if is_first && text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let mut from = 0;
        if self.skips {
            match memchr(b'\n', &text) {
                Some(end) => (from, self.skips) = (end + 1, false),
                None => from = text.len(),
            }
        }
        for end in memchr_iter(b'\n', &text) {
            if end >= from {
                self.line(&mut batch, &text, from..end, &mut extra);
                from = end + 1;
            }
        }
        let rest = from..text.len();
        if !self.ended && rest.len() <= MAX_LINE_BYTES {
            self.rest.extend_from_slice(&text[rest]);
        } else if !rest.is_empty() {
            // A line that is read in parts counts when its first part does.
            match &error {
                Some(_) => self.skip(&mut batch, BadLine::Cut),
                None => self.line(&mut batch, &text, rest, &mut extra),
            }
            self.skips = !self.ended;
        }
        text.extend_from_slice(&extra);
        batch.text = text;
        let error = self.failed.take().inspect(|_| self.ended = true).or(error);
        self.entries = batch.entries.len();
        Some((batch, error))
    }

    fn skip(&mut self, batch: &mut Batch, why: BadLine) {
        self.number += 1;
        batch.skip(self.number, why);
    }

    /// Adds the line in that range of the text. `extra` will follow the text.
    fn line(&mut self, batch: &mut Batch, text: &[u8], range: Range<usize>, extra: &mut Vec<u8>) {
        let line = &text[range];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > MAX_LINE_BYTES {
            return self.skip(batch, BadLine::TooLong);
        }
        if !self.reader.is_common() {
            return self.other_line(batch, text, line, extra);
        }
        let fields = match Line::parse(line) {
            Ok(fields) => fields,
            Err(why) => {
                if line.trim_ascii().is_empty() {
                    self.number += 1;
                    return;
                }
                return self.skip(batch, why);
            }
        };
        self.number += 1;
        self.add(batch, &fields, text, extra, |part, _| Place::within(text, part));
    }

    /// Does the same for a line in another format.
    #[inline(never)]
    fn other_line(&mut self, batch: &mut Batch, text: &[u8], line: &[u8], extra: &mut Vec<u8>) {
        if self.failed.is_some() {
            return;
        }
        if line.trim_ascii().is_empty() {
            self.number += 1;
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        match self.reader.record(line, &mut scratch) {
            Ok(None) => self.number += 1,
            Ok(Some(Record { line, places, columns })) => {
                self.number += 1;
                // Writers of numbers leave the last noughts of a fraction out.
                self.places = self.places.max(places);
                batch.places = self.places;
                self.add(batch, &line, text, extra, |part, extra| {
                    Place::within_or_copied(text, part, extra)
                });
                for (column, value) in columns.into_iter().enumerate() {
                    batch.columns.push(match value {
                        Some(value) => {
                            self.reader.presence().found(column);
                            Place::within_or_copied(text, value, extra)
                        }
                        None => NOWHERE,
                    });
                }
            }
            Err(NoLine::Bad(why)) => self.skip(batch, why),
            Err(NoLine::Log(error)) => self.failed = Some(error),
        }
        self.scratch = scratch;
    }

    /// Adds the fields of a line. `place` finds their places in the text, or puts them to `extra`.
    #[inline]
    fn add(
        &self,
        batch: &mut Batch,
        fields: &Line<'_>,
        text: &[u8],
        extra: &mut Vec<u8>,
        place: impl Fn(&BStr, &mut Vec<u8>) -> Place,
    ) {
        batch.had.add(fields);
        let mut canonical = Vec::new();
        let client = if fields.has_canonical_client(&mut canonical) {
            place(fields.client, extra)
        } else {
            let start = text.len() + extra.len();
            extra.extend_from_slice(&canonical);
            Place { start: start as u32, len: canonical.len() as u32 }
        };
        batch.entries.push(Entry {
            number: self.number,
            at: fields.time,
            time: fields.time,
            bytes: fields.bytes,
            client,
            user: place(fields.user, extra),
            method: place(fields.method, extra),
            path: place(fields.path, extra),
            status: place(fields.status, extra),
            referer: place(fields.referer, extra),
            agent: place(fields.agent, extra),
            columns: batch.columns.len() as u32,
        });
    }
}

impl Place {
    /// Returns the part of a text; `None` for what is absent.
    pub(super) fn of(self, text: &[u8]) -> Option<&[u8]> {
        let start = self.start as usize;
        text.get(start..start + self.len as usize)
    }

    /// Returns the place of a part of a text, or that of an absent field if it is not one.
    fn within(text: &[u8], part: &[u8]) -> Place {
        match part.as_ptr().addr().checked_sub(text.as_ptr().addr()) {
            // A text is no longer than a block and a line.
            Some(start) if start + part.len() <= text.len() => {
                Place { start: start as u32, len: part.len() as u32 }
            }
            _ => NOWHERE,
        }
    }

    /// Does the same, but copies what is not a part of the text to `extra`, which will follow it.
    fn within_or_copied(text: &[u8], part: &[u8], extra: &mut Vec<u8>) -> Place {
        let place = Place::within(text, part);
        if place.start != NOWHERE.start || part == ABSENT {
            return place;
        }
        let start = (text.len() + extra.len()) as u32;
        extra.extend_from_slice(part);
        Place { start, len: part.len() as u32 }
    }
}
