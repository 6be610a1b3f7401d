//! The lines of one stamp, and the times within it at which they are judged.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::log::Run;

/// The most lines that are held back.
const MAX_LINES: usize = 1 << 18;

/// The most bytes of batches that are held back.
const MAX_BYTES: usize = 128 << 20;

/// Nanoseconds of which a multiple is carried over to the next stamp.
const CARRIED_NANOS: u64 = 512;

/// The lines of the newest stamp that have not been judged.
///
/// The `n` lines of a second are `1 / n` seconds apart, rounded **up** to a
/// nanosecond: a steady rate must not come faster than it did, or a limit of just that rate would deny
/// some of it. A third of a second has no whole number of nanoseconds, so three such steps are 2 ns
/// longer than the second. As long as the number of lines stays the same, these are carried over: the
/// lines of the next second come that much later in it, rounded up to 512 ns (a second has a whole
/// number of these, and so have the ticks of windows from the first request). Where a line would leave its second, they come
/// at its beginning again; and if even then one would, as in a second of very many lines, all are
/// rounded down from the exact time.
///
/// If there are more lines than can be held back, the first of them are spread over half of the time
/// that is left, and so on.
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
    /// The stamp before, if all of its lines were taken at once.
    before: Option<Before>,
}

/// The stamp before.
#[derive(Clone, Copy, Debug)]
struct Before {
    lines: u64,
    end: Timestamp,
    /// The time by which its steps were longer than the time between stamps.
    carried_nanos: u64,
}

/// The times of some lines within the time between stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    lines: u64,
    from_nanos: u64,
    length_nanos: u64,
    /// The time from each line to the next, if it is the same for all.
    step_nanos: Option<u64>,
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
        let runs = std::mem::take(&mut self.runs);
        let length_nanos = self.resolution_nanos.min(most_nanos);
        let lines = self.lines as u64;
        if is_whole
            && self.taken_nanos == 0
            && let Some(stamp) = self.stamp
        {
            let times = Times::in_steps(lines, length_nanos, self.carried_nanos(stamp, lines));
            let end = stamp + Duration::from_nanos(length_nanos);
            let over_nanos = times.end_nanos().saturating_sub(length_nanos);
            let carried_nanos = over_nanos.next_multiple_of(CARRIED_NANOS);
            let before = Some(Before { lines, end, carried_nanos });
            *self = Spread { before, ..Spread::default() };
            return (runs, times);
        }
        let left_nanos = length_nanos.saturating_sub(self.taken_nanos);
        let times = Times {
            lines,
            from_nanos: self.taken_nanos,
            length_nanos: if is_whole { left_nanos } else { left_nanos / 2 },
            step_nanos: None,
        };
        let taken_nanos = if is_whole { 0 } else { times.from_nanos + times.length_nanos };
        let stamp = self.stamp.filter(|_| !is_whole);
        *self = Spread { stamp, taken_nanos, ..Spread::default() };
        (runs, times)
    }

    /// Returns the time that is carried over to a stamp of so many lines.
    fn carried_nanos(&self, stamp: Timestamp, lines: u64) -> u64 {
        let before = self.before.filter(|before| before.lines == lines && before.end == stamp);
        before.map_or(0, |before| before.carried_nanos)
    }
}

impl Times {
    /// Returns times that are a step apart, which is rounded up, beginning at `carried_nanos`; at 0 if
    /// not all are in the time between stamps, and in no equal steps if not even then.
    fn in_steps(lines: u64, length_nanos: u64, carried_nanos: u64) -> Times {
        let step_nanos = length_nanos.div_ceil(lines.max(1));
        let last = step_nanos.saturating_mul(lines.saturating_sub(1));
        let fits = |from_nanos: u64| from_nanos.saturating_add(last) < length_nanos;
        let (from_nanos, step_nanos) = match carried_nanos {
            carried_nanos if fits(carried_nanos) => (carried_nanos, Some(step_nanos)),
            _ => (0, Some(step_nanos).filter(|_| fits(0))),
        };
        Times { lines, from_nanos, length_nanos, step_nanos }
    }

    /// Returns the nanoseconds from the stamp to the line with that number, from 0.
    pub(super) fn after_stamp(&self, line: u64) -> u64 {
        match self.step_nanos {
            Some(step_nanos) => self.from_nanos + line * step_nanos,
            None => self.from_nanos + line * self.length_nanos / self.lines.max(1),
        }
    }

    /// Returns the nanoseconds from the stamp to a line that followed the last one.
    fn end_nanos(&self) -> u64 {
        self.after_stamp(self.lines)
    }
}
