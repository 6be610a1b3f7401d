//! Sets lines aside whose time is wrong, and finds the time at which each of the others is judged.
//!
//! A line that is far ahead of the newest line before it is either the first after a pause, or wrong:
//! then most lines after it are back at the time before it. A line that is older than one before it is
//! judged at the newest time.

use std::io::{self, BufRead};

use jiff::{SignedDuration, Timestamp};
use sluicegate::Rate;

use super::batch::{Batch, Entry};
use super::batches::Batches;
use super::format::Format;
use super::line::BadLine;

/// The time that a line is *far* ahead of others.
const FAR: SignedDuration = SignedDuration::from_hours(1);

/// Lines after one that is far ahead that say which of the two it is. Those of the present batch and
/// of the next are looked at, so it may be fewer.
const WITNESSES: usize = 1_000;

/// The batches of a log, without the lines that cannot be judged.
pub(super) struct Vetted<R> {
    batches: Batches<R>,
    /// The next batch.
    ahead: Option<(Batch, Option<io::Error>)>,
    /// True after the first batch was read.
    is_started: bool,
    /// The times of the first line and of the newest.
    span: Option<(Timestamp, Timestamp)>,
    /// True if lines that are far ahead are kept, since they are sorted anyway.
    keeps_far: bool,
}

impl<R: BufRead> Vetted<R> {
    pub(super) fn new(log: R, format: &Format) -> Vetted<R> {
        let (is_started, keeps_far) = (false, false);
        Vetted {
            batches: Batches::new(log, format),
            ahead: None,
            is_started,
            span: None,
            keeps_far,
        }
    }

    /// Keeps lines that are far ahead of those after them too.
    pub(super) fn keeping_all(self) -> Vetted<R> {
        Vetted { keeps_far: true, ..self }
    }

    /// Returns the next lines. `None` is the end of the log. An error comes with the lines before it.
    pub(super) fn next(&mut self) -> Option<(Batch, Option<io::Error>)> {
        if !self.is_started {
            self.is_started = true;
            self.ahead = self.batches.next();
        }
        let (mut batch, error) = self.ahead.take()?;
        self.ahead = self.batches.next();
        self.vet(&mut batch);
        Some((batch, error))
    }

    /// Returns the name of the log's own format, if it is not the usual one.
    pub(super) fn format_name(&self) -> Option<&str> {
        self.batches.format_name()
    }

    fn vet(&mut self, batch: &mut Batch) {
        let mut entries = std::mem::take(&mut batch.entries);
        let mut kept = 0;
        for place in 0..entries.len() {
            match self.judged_at(&entries[place..]) {
                Ok(at) => {
                    entries[place].at = at;
                    entries.swap(kept, place);
                    kept += 1;
                }
                Err(why) => batch.skip(entries[place].number, why),
            }
        }
        entries.truncate(kept);
        batch.entries = entries;
    }

    /// Returns the time at which the first of these lines is judged.
    fn judged_at(&mut self, entries: &[Entry]) -> Result<Timestamp, BadLine> {
        let time = entries[0].time;
        let (first, newest) = match self.span {
            Some(span) if time <= span.1 => return Ok(span.1),
            Some(span) => span,
            None => (time, Timestamp::MIN),
        };
        if !self.keeps_far && time.duration_since(newest) > FAR && self.is_far_ahead(entries) {
            return Err(BadLine::Outlier(time));
        }
        check_range(first, time)?;
        self.span = Some((first, time));
        Ok(time)
    }

    /// Returns true if most lines after the first of these are far behind it.
    fn is_far_ahead(&self, entries: &[Entry]) -> bool {
        let next = self.ahead.iter().flat_map(|(batch, _)| &batch.entries);
        let (mut witnesses, mut against) = (0, 0);
        for entry in entries[1..].iter().chain(next).take(WITNESSES) {
            witnesses += 1;
            against += usize::from(entries[0].time.duration_since(entry.time) > FAR);
        }
        // Of two lines at the beginning of a log, either may be wrong.
        let least = if self.span.is_some() { 1 } else { 2 };
        witnesses >= least && against * 2 > witnesses
    }
}

impl<R: BufRead + Send + 'static> Vetted<R> {
    /// Has the rest of the log parsed by so many threads.
    pub(super) fn spread(self, threads: usize) -> Vetted<R> {
        Vetted { batches: self.batches.spread(threads), ..self }
    }
}

/// Checks that limiters can count to a time, in a log that begins with `first`.
///
/// # Errors
///
/// If they cannot.
pub(crate) fn check_range(first: Timestamp, time: Timestamp) -> Result<(), BadLine> {
    if time < Timestamp::UNIX_EPOCH {
        return Err(BadLine::BeforeEpoch(time));
    }
    // The last second is left to lines that are spread over it.
    if time.as_second() as u64 >= u64::MAX / 1_000_000_000 {
        return Err(BadLine::AfterClock(time));
    }
    let longest = SignedDuration::try_from(Rate::MAX_PERIOD).unwrap_or(SignedDuration::MAX);
    if time.duration_since(first) > longest {
        return Err(BadLine::FarFuture(time));
    }
    Ok(())
}
