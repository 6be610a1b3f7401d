//! Successive lines of a log, with the fields of each.

use std::time::Duration;

use bstr::{BStr, ByteSlice};
use jiff::Timestamp;

use super::SHOWN_SKIPPED;
use super::columns::ABSENT;
use super::columns::{Asked, Columns, Place};
use super::line::{BadLine, Line};
use super::presence::Had;

/// Some successive lines of a log.
#[derive(Debug, Default)]
pub struct Batch {
    /// The bytes of the lines, and after them the canonical forms of clients.
    pub(super) text: Vec<u8>,
    /// The headers and columns that are read, and their places in each entry.
    pub(super) asked: Asked,
    pub(super) columns: Vec<Place>,
    /// The lines that are in a format, in the log's order.
    pub(super) entries: Vec<Entry>,
    /// The first of the lines that cannot be judged, with their numbers.
    pub(super) first_skipped: Vec<(u64, BadLine)>,
    /// The number of lines that cannot be judged.
    pub(super) skipped: u64,
    /// Those of them that are far ahead of their neighbours.
    pub(super) outliers: u64,
    /// The most decimal places that a stamp's second has.
    pub(super) places: u8,
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
    pub(super) bytes: u64,
    pub(super) client: Place,
    pub(super) user: Place,
    pub(super) method: Place,
    pub(super) path: Place,
    pub(super) status: Place,
    pub(super) referer: Place,
    pub(super) agent: Place,
    /// The place of its first column among those of the batch.
    pub(super) columns: u32,
}

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

    /// Adds a line of another batch that reads the same columns, to be judged at a time.
    pub(super) fn copy(&mut self, from: &Batch, entry: &Entry, at: Timestamp) {
        let mut place = |place: Place| place.copied(&from.text, &mut self.text);
        let [client, user, method, path] =
            [entry.client, entry.user, entry.method, entry.path].map(&mut place);
        let [status, referer, agent] = [entry.status, entry.referer, entry.agent].map(&mut place);
        let columns = self.columns.len() as u32;
        let first = entry.columns as usize;
        let own = from.columns.get(first..first + from.asked.0.len()).unwrap_or_default();
        self.columns.extend(own.iter().map(|column| place(*column)));
        self.entries.push(Entry {
            at,
            client,
            user,
            method,
            path,
            status,
            referer,
            agent,
            columns,
            ..*entry
        });
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
