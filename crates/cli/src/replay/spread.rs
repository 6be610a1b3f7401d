//! The lines of one stamp, and the times within it at which they are judged.

use std::sync::Arc;

use jiff::Timestamp;

use crate::log::Run;

/// The most lines that are held back.
const MAX_LINES: usize = 1 << 18;

/// The most bytes of batches that are held back.
const MAX_BYTES: usize = 128 << 20;

/// The lines of the newest stamp that have not been judged.
///
/// If there are more than can be held back, the first of them are spread over half of the time that is
/// left, and so on.
#[derive(Debug, Default)]
pub(super) struct Spread {
    stamp: Option<Timestamp>,
    runs: Vec<Run>,
    lines: usize,
    bytes: usize,
    /// The time between stamps; of logs that differ in it, the longest.
    resolution_nanos: u64,
    /// The part of the time between stamps that is taken by lines which were judged.
    taken_nanos: u64,
}

/// The times of some lines within the time between stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    lines: u64,
    from_nanos: u64,
    length_nanos: u64,
}

impl Spread {
    /// Adds lines. All lines of an older stamp have been taken.
    pub(super) fn put(&mut self, stamp: Timestamp, run: Run) {
        self.stamp = Some(stamp);
        self.lines += run.range.len();
        let resolution_nanos = run.batch.resolution().as_nanos() as u64;
        self.resolution_nanos = self.resolution_nanos.max(resolution_nanos);
        if self.runs.last().is_none_or(|last| !Arc::ptr_eq(&last.batch, &run.batch)) {
            self.bytes += run.batch.memory_bytes();
        }
        self.runs.push(run);
    }

    pub(super) fn stamp(&self) -> Option<Timestamp> {
        self.stamp
    }

    /// Returns true if no more lines can be held back.
    pub(super) fn is_full(&self) -> bool {
        self.lines >= MAX_LINES || self.bytes >= MAX_BYTES
    }

    /// Takes the lines that are held back. `is_whole` tells that no more are of their stamp, and
    /// `most_nanos` is the time to the next stamp, before which all are judged.
    pub(super) fn take(&mut self, is_whole: bool, most_nanos: u64) -> (Vec<Run>, Times) {
        let left_nanos = self.resolution_nanos.min(most_nanos).saturating_sub(self.taken_nanos);
        let times = Times {
            lines: self.lines as u64,
            from_nanos: self.taken_nanos,
            length_nanos: if is_whole { left_nanos } else { left_nanos / 2 },
        };
        let runs = std::mem::take(&mut self.runs);
        let taken_nanos = if is_whole { 0 } else { times.from_nanos + times.length_nanos };
        let stamp = self.stamp.filter(|_| !is_whole);
        *self = Spread { stamp, taken_nanos, ..Spread::default() };
        (runs, times)
    }
}

impl Times {
    /// Returns the nanoseconds from the stamp to the line with that number, from 0.
    pub(super) fn after_stamp(&self, line: u64) -> u64 {
        self.from_nanos + line * self.length_nanos / self.lines.max(1)
    }
}
