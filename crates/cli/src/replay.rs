//! Asks the engine about every line of a log, at that line's time.
//!
//! The clock is the newest time seen so far, counted from 1970, so that windows
//! and days begin when they did. Servers write a line when its
//! request is done, so lines are often a little out of order; one that is older
//! than a line before it is *late*, and is judged at the newest time.
//!
//! Every limiter of the policy judges every line that its filter lets through,
//! whatever the others decide. Its keys are in one of the engine's stores, which reads
//! that clock: so keys are forgotten, and find no space, at the times when they would have.

mod judge;
mod keys;
mod shape;
mod timeline;

use std::io::{self, BufRead};
use std::sync::Arc;
use std::time::Duration;

use bstr::io::BufReadExt;
use jiff::Timestamp;
use sluicegate::{ManualClock, Rate};

pub use self::judge::{Judge, Tally};
pub use self::shape::Waits;
pub use self::timeline::{Bin, Timeline};
use crate::log::{BadLine, Line};
use crate::policy::{Policy, Rule};

/// The number of skipped lines that are kept to be shown.
pub const SHOWN_SKIPPED: usize = 5;

/// A policy at work on a log.
#[derive(Debug)]
pub struct Replay {
    clock: Arc<ManualClock>,
    span: Option<(Timestamp, Timestamp)>,
    lines: u64,
    late: u64,
    skipped: u64,
    first_skipped: Vec<Skipped>,
    judges: Vec<Judge>,
}

/// A line that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Name of the log.
    pub log: String,
    /// The line's number in it, from 1.
    pub number: u64,
    /// The reason why it cannot be judged.
    pub why: BadLine,
}

impl Replay {
    /// Starts a replay, with no line judged yet.
    #[must_use]
    pub fn new(policy: Policy) -> Replay {
        Replay::of(policy, Judge::new)
    }

    /// Starts a replay in which requests wait instead of being refused: those of a key one
    /// after the other, each until its limiter grants it. Counts those that wait for longer than
    /// `within`.
    ///
    /// Every key is kept, whatever the policy says of its store.
    #[must_use]
    pub fn shaped(policy: Policy, within: Option<Duration>) -> Replay {
        Replay::of(policy, |rule| Judge::shaping(rule, within))
    }

    fn of(policy: Policy, judge: impl Fn(Rule) -> Judge) -> Replay {
        Replay {
            clock: Arc::new(ManualClock::new()),
            span: None,
            lines: 0,
            late: 0,
            skipped: 0,
            first_skipped: Vec::new(),
            judges: policy.rules.into_iter().map(judge).collect(),
        }
    }

    /// Judges every line of a log, which follows the logs read before. Empty lines do not
    /// count.
    ///
    /// # Errors
    ///
    /// If the log cannot be read to its end, or the logs of a limiter would take more
    /// memory than they may. A line that is not a log line is counted, and is not an error.
    pub fn read(&mut self, name: &str, mut log: impl BufRead) -> io::Result<()> {
        let mut number = 0;
        log.for_byte_line(|text| {
            number += 1;
            if text.trim_ascii().is_empty() {
                return Ok(true);
            }
            if let Err(why) = Line::parse(text).and_then(|line| self.judge(&line)) {
                self.skipped += 1;
                if self.first_skipped.len() < SHOWN_SKIPPED {
                    self.first_skipped.push(Skipped { log: name.to_owned(), number, why });
                }
            }
            match self.judges.iter().find_map(Judge::too_large) {
                None => Ok(true),
                Some(why) => Err(io::Error::new(io::ErrorKind::OutOfMemory, why)),
            }
        })
    }

    /// Lets every limiter judge one line.
    ///
    /// # Errors
    ///
    /// [`BadLine::BeforeEpoch`] or [`BadLine::FarFuture`]. No limiter has judged the
    /// line then.
    pub fn judge(&mut self, line: &Line<'_>) -> Result<(), BadLine> {
        let (first, newest) = self.span.unwrap_or((line.time, line.time));
        let time = line.time.max(newest);
        if time < Timestamp::UNIX_EPOCH {
            return Err(BadLine::BeforeEpoch(line.time));
        }
        let now_nanos = since(Timestamp::UNIX_EPOCH, time);
        let nanos =
            since(first, time).filter(|nanos| u128::from(*nanos) <= Rate::MAX_PERIOD.as_nanos());
        let (Some(now_nanos), Some(nanos)) = (now_nanos, nanos) else {
            return Err(BadLine::FarFuture(line.time));
        };
        self.span = Some((first, time));
        self.lines += 1;
        self.late += u64::from(line.time < newest);
        self.clock.set_nanos(now_nanos);
        for judge in &mut self.judges {
            judge.judge(line, nanos, &self.clock);
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

    /// Returns the time of the first line and the newest time, if there was a line.
    #[must_use]
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Returns the limiters, in the order of the policy.
    #[must_use]
    pub fn judges(&self) -> &[Judge] {
        &self.judges
    }
}

/// Returns the nanoseconds from one time to a later one, if they fit.
fn since(from: Timestamp, to: Timestamp) -> Option<u64> {
    u64::try_from(to.duration_since(from).as_nanos()).ok()
}

#[cfg(test)]
mod tests;
