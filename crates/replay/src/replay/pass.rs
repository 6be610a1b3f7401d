//! One reading of the logs: every line with the time at which it is judged.

use std::sync::Arc;
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};
use jiff::{SignedDuration, Timestamp};
use sluicegate_policy::KeyField;

use super::spread::Spread;
use super::{RESOLUTION, since};
use crate::log::{Absent, Had, Line, Merged, Run, SHOWN_SKIPPED, Skipped, Sought, check_range};

/// A line that is late by more than this is *misplaced*: the log is not in order of time.
const MISPLACED: SignedDuration = SignedDuration::from_mins(1);

/// The time at which a line is judged.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Nanoseconds from 1970 to the time at which it is judged.
    pub nanos: u64,
    /// Nanoseconds from 1970 to its stamp.
    pub stamp_nanos: u64,
    /// Nanoseconds from the first stamp to the time at which it is judged.
    pub since_first: u64,
}

/// The times of the lines that were read, and the counts of those that were not judged.
#[derive(Debug, Default)]
pub struct Pass {
    as_stamped: bool,
    span: Option<(Timestamp, Timestamp)>,
    /// The lines of the newest stamp, which are not judged before all of them are known.
    spread: Spread,
    /// The time between stamps, of the log in which it is longest.
    resolution: Option<Duration>,
    lines: u64,
    late: u64,
    misplaced: u64,
    /// The longest time by which a line was late.
    latest: SignedDuration,
    skipped: u64,
    outliers: u64,
    first_skipped: Vec<Skipped>,
    absent: Vec<Absent>,
    had: Had,
    names: Vec<String>,
    sought: Sought,
    copies: Vec<(String, String)>,
    clients: Clients,
}

/// The client of all lines, as long as they have one.
#[derive(Debug, Default)]
enum Clients {
    #[default]
    None,
    One(BString),
    Several,
}

impl Clients {
    #[inline]
    fn add(&mut self, client: &BStr) {
        match self {
            Clients::Several => {}
            Clients::One(one) if one == client => {}
            Clients::One(_) => *self = Clients::Several,
            Clients::None => *self = Clients::One(client.to_owned()),
        }
    }
}

impl Pass {
    /// Starts with no line read. `as_stamped` is to judge each line at the beginning of its second.
    #[must_use]
    pub fn new(as_stamped: bool) -> Pass {
        Pass { as_stamped, ..Pass::default() }
    }

    /// Reads the logs, which follow those read before, and has each line judged.
    ///
    /// # Errors
    ///
    /// The first of `judge`. The lines after that are not read.
    pub fn read<E>(
        &mut self,
        logs: &mut Merged,
        judge: &mut impl FnMut(&Line<'_>, Moment) -> Result<(), E>,
    ) -> Result<(), E> {
        let done = self.read_all(logs, judge);
        self.skipped += logs.skipped();
        self.outliers += logs.outliers();
        self.first_skipped.extend_from_slice(logs.first_skipped());
        self.first_skipped.truncate(SHOWN_SKIPPED);
        self.absent = logs.absent();
        self.had.extend(logs.had());
        self.names = logs.names();
        self.sought = logs.sought();
        self.copies = logs.copies().to_vec();
        done
    }

    fn read_all<E>(
        &mut self,
        logs: &mut Merged,
        judge: &mut impl FnMut(&Line<'_>, Moment) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(mut run) = logs.next_run() {
            let (batch, end) = (Arc::clone(&run.batch), run.range.end);
            self.resolution = self.resolution.max(Some(batch.resolution()));
            let mut entries = &batch.entries()[run.range.clone()];
            while let Some(entry) = entries.first() {
                let newest = self.span.map_or(entry.at, |(_, newest)| newest.max(entry.at));
                let of_stamp = entries.partition_point(|entry| entry.at <= newest);
                run.range.end = run.range.start + of_stamp;
                entries = &entries[of_stamp..];
                match check_range(self.span.map_or(newest, |(first, _)| first), newest) {
                    Ok(()) => self.put(newest, run.clone(), judge)?,
                    Err(_) => self.skipped += of_stamp as u64,
                }
                (run.range.start, run.range.end) = (run.range.end, end);
            }
        }
        self.flush(Some(Timestamp::MAX), judge)
    }

    /// Puts lines to those of their stamp, which is the newest.
    fn put<E>(
        &mut self,
        stamp: Timestamp,
        run: Run,
        judge: &mut impl FnMut(&Line<'_>, Moment) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.span.is_some_and(|(_, newest)| newest < stamp) {
            self.flush(Some(stamp), judge)?;
        }
        self.span = Some((self.span.map_or(stamp, |(first, _)| first), stamp));
        self.spread.put(stamp, run);
        if self.spread.is_full() { self.flush(None, judge) } else { Ok(()) }
    }

    /// Judges the lines that are held back. `next` is the next stamp, if no more lines are of theirs.
    fn flush<E>(
        &mut self,
        next: Option<Timestamp>,
        judge: &mut impl FnMut(&Line<'_>, Moment) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Some(stamp), Some((first, _))) = (self.spread.stamp(), self.span) else {
            return Ok(());
        };
        let stamp_nanos = since(Timestamp::UNIX_EPOCH, stamp);
        let since_first = since(first, stamp);
        let next_nanos = next.map_or(u64::MAX, |next| since(stamp, next));
        let (runs, times) = self.spread.take(next.is_some(), next_nanos);
        let mut place = 0;
        for run in runs {
            for entry in &run.batch.entries()[run.range] {
                let after = if self.as_stamped { 0 } else { times.after_stamp(place) };
                place += 1;
                self.lines += 1;
                if entry.time < stamp {
                    self.late += 1;
                    let late = stamp.duration_since(entry.time);
                    self.misplaced += u64::from(late > MISPLACED);
                    self.latest = self.latest.max(late);
                }
                let moment = Moment {
                    nanos: stamp_nanos.saturating_add(after),
                    stamp_nanos,
                    since_first: since_first.saturating_add(after),
                };
                let line = run.batch.line(entry);
                self.clients.add(line.client);
                judge(&line, moment)?;
            }
        }
        Ok(())
    }

    /// Returns the number of lines that were judged.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the number of judged lines that were older than a line before them.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Returns the number of lines that could not be judged.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the first few of the lines that could not be judged.
    #[must_use]
    pub fn first_skipped(&self) -> &[Skipped] {
        &self.first_skipped
    }

    /// Returns the headers and columns that the policy names and that no line had.
    #[must_use]
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// Returns true if some line had that field.
    #[must_use]
    pub fn has(&self, field: KeyField) -> bool {
        self.had.has(field)
    }

    /// Returns names of fields in the logs, if their format has names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the names under which the client was looked for in the logs.
    pub(crate) fn sought(&self) -> &Sought {
        &self.sought
    }

    /// Returns pairs of logs that look like copies of each other.
    pub(crate) fn copies(&self) -> &[(String, String)] {
        &self.copies
    }

    /// Returns the client of all judged lines, if they have the same one.
    pub(crate) fn sole_client(&self) -> Option<&BStr> {
        match &self.clients {
            Clients::One(client) => Some(client.as_bstr()),
            _ => None,
        }
    }

    /// Returns the number of lines that were late by more than a minute.
    #[must_use]
    pub fn misplaced(&self) -> u64 {
        self.misplaced
    }

    /// Returns the longest time by which a line was older than one before it.
    #[must_use]
    pub fn latest(&self) -> SignedDuration {
        self.latest
    }

    /// Returns the number of skipped lines whose time is far ahead of their neighbours'.
    #[must_use]
    pub fn outliers(&self) -> u64 {
        self.outliers
    }

    /// Returns the time of the first line and the newest time, if there was a line.
    #[must_use]
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Returns the time between stamps, of the log in which it is longest.
    #[must_use]
    pub fn resolution(&self) -> Duration {
        self.resolution.unwrap_or(RESOLUTION)
    }

    /// Returns true if a line was judged, and most lines could be judged at about their own time.
    #[must_use]
    pub fn is_meaningful(&self) -> bool {
        let in_place = self.lines - self.misplaced;
        self.lines > 0 && in_place >= self.skipped.saturating_add(self.misplaced)
    }
}
