//! Reads the fields of each line of a block.

use std::io;
use std::ops::Range;

use bstr::BStr;
use memchr::memchr_iter;

use super::MAX_LINE_BYTES;
use super::batch::{Batch, Entry};
use super::blocks::Block;
use super::columns::{NOWHERE, Place};
use super::format::{NoLine, Reader, Record, Scratch};
use super::line::{BadLine, Line};

/// The lines of a block, and the reason why nothing comes after them, if that is not the log's end.
pub(super) type Item = (Batch, Option<io::Error>);

/// Reads blocks of one log.
pub(super) struct Parser {
    reader: Reader,
    scratch: Scratch,
    /// The number of lines in the block before.
    entries: usize,
    /// The number of the last line that was read.
    number: u64,
    /// The most decimal places of a stamp.
    places: u8,
    /// The reason why the lines that follow cannot be read.
    failed: Option<io::Error>,
}

impl Parser {
    pub(super) fn new(reader: Reader) -> Parser {
        let scratch = Scratch::default();
        Parser { reader, scratch, entries: 0, number: 0, places: 0, failed: None }
    }

    /// Returns what it knows of the log.
    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Reads the lines of a block.
    pub(super) fn parse(&mut self, block: Block) -> Item {
        let Block { mut text, lines, is_open, before, error } = block;
        if before > 0 {
            // So that the names that are known do not depend on who reads which block.
            self.scratch.learn_no_more();
        }
        self.number = before;
        let mut batch = Batch {
            entries: Vec::with_capacity(self.entries),
            asked: self.reader.asked().clone(),
            ..Batch::default()
        };
        let (mut from, mut extra) = (lines.start, Vec::new());
        for end in memchr_iter(b'\n', &text[lines.clone()]) {
            let end = lines.start + end;
            self.line(&mut batch, &text, from..end, &mut extra);
            from = end + 1;
        }
        if is_open {
            match &error {
                Some(_) => self.skip(&mut batch, BadLine::Cut),
                None => self.line(&mut batch, &text, from..lines.end, &mut extra),
            }
        }
        text.extend_from_slice(&extra);
        batch.text = text;
        batch.places = self.places;
        self.entries = batch.entries.len();
        (batch, self.failed.take().or(error))
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
        let line = self.reader.without_prefix(line);
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
