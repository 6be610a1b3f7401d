//! Asks the engine about every line of a log, at that line's time.
//!
//! The clock is the newest time seen so far, counted from 1970, so that windows
//! and days begin when they did. Servers write a line when its
//! request is done, so lines are often a little out of order; one that is older
//! than a line before it is *late*, and is judged at the newest time.
//!
//! Most logs have whole seconds, and the lines of one second did not all come at its beginning. So they
//! are
//! spread evenly over it, in their order: of `n` lines, line `i` (from 0) is judged at `i / n` seconds
//! after the stamp, rounded down to a nanosecond. For limiters that count in times as short as that,
//! the counts at the stamps themselves are kept as well. Finer stamps are used as they are: lines of the
//! same one are spread over the time to the next that it could have had.
//!
//! Every limiter of the policy judges every line that its filter lets through,
//! whatever the others decide. Its keys are in one of the engine's stores, which reads
//! that clock: so keys are forgotten, and find no space, at the times when they would have.

mod distinct;
mod judge;
mod keys;
mod memory;
mod options;
mod shape;
mod spread;
mod stamped;
mod tally;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sluicegate::ManualClock;

pub use self::judge::Judge;
pub use self::options::{Options, TooMuchMemory};
pub use self::shape::Waits;
use self::spread::Spread;
pub use self::tally::Tally;
pub use self::timeline::{Bin, Timeline};
use crate::log::{Batch, Entry, Merged, check_range};
pub use crate::log::{SHOWN_SKIPPED, Skipped};
use crate::policy::Policy;

/// The time between the stamps of a log in common or combined format, and of any other unless its
/// stamps are finer.
pub const RESOLUTION: Duration = Duration::from_secs(1);

/// A line that is late by more than this is *misplaced*: the log is not in order of time.
const MISPLACED: SignedDuration = SignedDuration::from_mins(1);

/// Lines between two looks at the memory that keys take.
const LINES_PER_LOOK: u64 = 64;

/// A policy at work on a log.
#[derive(Debug)]
pub struct Replay {
    clock: Arc<ManualClock>,
    /// Reads the stamp of the present line.
    stamps: Arc<ManualClock>,
    options: Options,
    span: Option<(Timestamp, Timestamp)>,
    /// The lines of the newest stamp, which are not judged before all of them are known.
    spread: Spread,
    /// The time between stamps, of the log in which it is longest.
    resolution: Option<Duration>,
    lines: u64,
    late: u64,
    misplaced: u64,
    skipped: u64,
    outliers: u64,
    first_skipped: Vec<Skipped>,
    judges: Vec<Judge>,
}

impl Replay {
    /// Starts a replay, with no line judged yet.
    #[must_use]
    pub fn new(policy: Policy) -> Replay {
        Replay::with_options(policy, Options::default())
    }

    /// Does the same as [`new`](Replay::new), with other options.
    #[must_use]
    pub fn with_options(policy: Policy, options: Options) -> Replay {
        let judge = |rule| {
            let judge = Judge::new(rule, options.tally_keys);
            if options.shape {
                return judge.shaped(options.shape_within);
            }
            if options.as_stamped { judge } else { judge.stamped_too(RESOLUTION) }
        };
        Replay {
            clock: Arc::new(ManualClock::new()),
            stamps: Arc::new(ManualClock::new()),
            span: None,
            spread: Spread::default(),
            resolution: None,
            lines: 0,
            late: 0,
            misplaced: 0,
            skipped: 0,
            outliers: 0,
            first_skipped: Vec::new(),
            judges: policy.rules.into_iter().map(judge).collect(),
            options,
        }
    }

    /// Judges every line of the logs, which follow those read before. Empty lines do not
    /// count.
    ///
    /// A line that is not a log line is counted, and is not an error; so is a log that cannot be read
    /// to its end: see [`Merged::failures`].
    ///
    /// # Errors
    ///
    /// If the keys take more memory than they may. The lines after that are not judged.
    pub fn read(&mut self, logs: &mut Merged) -> Result<(), TooMuchMemory> {
        let done = self.read_all(logs);
        self.skipped += logs.skipped();
        self.outliers += logs.outliers();
        self.first_skipped.extend_from_slice(logs.first_skipped());
        self.first_skipped.truncate(SHOWN_SKIPPED);
        done
    }

    fn read_all(&mut self, logs: &mut Merged) -> Result<(), TooMuchMemory> {
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
                    Ok(()) => self.put(newest, run.clone())?,
                    Err(_) => self.skipped += of_stamp as u64,
                }
                (run.range.start, run.range.end) = (run.range.end, end);
            }
        }
        self.flush(Some(Timestamp::MAX))?;
        let resolution = self.resolution();
        for judge in &mut self.judges {
            judge.forget_stamps_unless_short(resolution);
        }
        Ok(())
    }

    /// Puts lines to those of their stamp, which is the newest.
    fn put(&mut self, stamp: Timestamp, run: crate::log::Run) -> Result<(), TooMuchMemory> {
        if self.span.is_some_and(|(_, newest)| newest < stamp) {
            self.flush(Some(stamp))?;
        }
        self.span = Some((self.span.map_or(stamp, |(first, _)| first), stamp));
        self.spread.put(stamp, run);
        if self.spread.is_full() { self.flush(None) } else { Ok(()) }
    }

    /// Judges the lines that are held back. `next` is the next stamp, if no more lines are of theirs.
    fn flush(&mut self, next: Option<Timestamp>) -> Result<(), TooMuchMemory> {
        let (Some(stamp), Some((first, _))) = (self.spread.stamp(), self.span) else {
            return Ok(());
        };
        let stamp_nanos = since(Timestamp::UNIX_EPOCH, stamp);
        let since_first = since(first, stamp);
        let (runs, times) =
            self.spread.take(next.is_some(), next.map_or(u64::MAX, |next| since(stamp, next)));
        self.stamps.set_nanos(stamp_nanos);
        let mut place = 0;
        for run in runs {
            for entry in &run.batch.entries()[run.range] {
                let after = if self.options.as_stamped { 0 } else { times.after_stamp(place) };
                place += 1;
                self.clock.set_nanos(stamp_nanos.saturating_add(after));
                self.judge(&run.batch, entry, stamp, since_first.saturating_add(after))?;
            }
        }
        Ok(())
    }

    /// Lets every limiter judge one line.
    fn judge(
        &mut self,
        batch: &Batch,
        entry: &Entry,
        stamp: Timestamp,
        nanos: u64,
    ) -> Result<(), TooMuchMemory> {
        let line = batch.line(entry);
        self.lines += 1;
        if entry.time < stamp {
            self.late += 1;
            self.misplaced += u64::from(stamp.duration_since(entry.time) > MISPLACED);
        }
        for judge in &mut self.judges {
            judge.judge(&line, nanos, [&self.clock, &self.stamps]);
        }
        if self.lines.is_multiple_of(LINES_PER_LOOK) {
            return self.options.check_memory(&self.judges);
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

    /// Returns the number of judged lines that were older than a line before them by more than a
    /// minute.
    #[must_use]
    pub fn misplaced(&self) -> u64 {
        self.misplaced
    }

    /// Returns the number of lines that could not be judged.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of skipped lines whose time is far ahead of their neighbours'.
    #[must_use]
    pub fn outliers(&self) -> u64 {
        self.outliers
    }

    /// Returns true if a line was judged, and most lines could be judged at about their own time.
    #[must_use]
    pub fn is_meaningful(&self) -> bool {
        let in_place = self.lines - self.misplaced;
        self.lines > 0 && in_place >= self.skipped.saturating_add(self.misplaced)
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the first few of the lines that could not be judged.
    #[must_use]
    pub fn first_skipped(&self) -> &[Skipped] {
        &self.first_skipped
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

    /// Returns the limiters, in the order of the policy.
    #[must_use]
    pub fn judges(&self) -> &[Judge] {
        &self.judges
    }
}

/// Returns the nanoseconds from one time to a later one, as many as fit.
fn since(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
