//! The lines that `contend --json` printed, and which of them are compared with each other.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::keyed::BASELINE as DASHMAP;
use crate::report::Line;
use crate::verdict;

/// A part of the names of the stores that hash with it.
const FASTER_HASH: &str = "foldhash";

/// All lines of a file.
#[derive(Debug)]
pub(super) struct Measured(Vec<Line>);

impl Measured {
    /// Reads the lines. No two of them may measure the same.
    pub(super) fn parse(text: &str) -> Result<Measured, String> {
        let mut lines = Vec::new();
        let mut seen = HashSet::new();
        for (index, text) in text.lines().enumerate() {
            let at = |error: String| format!("line {}: {error}", index + 1);
            let line = Line::from_json(text).map_err(|error| at(error.to_string()))?;
            if !seen.insert((line.limiter, line.op.clone(), line.threads, line.keys)) {
                return Err(at(format!("{} was measured before", line.limiter)));
            }
            lines.push(line);
        }
        Ok(Measured(lines))
    }

    /// Returns all lines, in their order.
    pub(super) fn lines(&self) -> &[Line] {
        &self.0
    }

    /// Returns the line of the limiter that `line` is compared with, unless it is the same.
    pub(super) fn peer(&self, line: &Line) -> Option<&Line> {
        let baseline = baseline(line);
        let is_it = |other: &&Line| {
            (other.limiter, &other.op, other.threads, other.keys)
                == (&*baseline, &line.op, line.threads, line.keys)
        };
        self.0.iter().find(is_it).filter(|peer| peer.limiter != line.limiter)
    }

    /// Returns the time of `line` over its peer's.
    pub(super) fn time(&self, line: &Line) -> Option<f64> {
        self.peer(line).map(|peer| line.ns_per_op.median / peer.ns_per_op.median)
    }
}

/// Returns the limiter that `line` is compared with: for a store of keys, one with the same hash.
fn baseline(line: &Line) -> Cow<'static, str> {
    if line.of_keys.is_some() && line.store().contains(FASTER_HASH) {
        return line.baseline.replace(DASHMAP, &format!("{DASHMAP}_{FASTER_HASH}")).into();
    }
    line.baseline.into()
}

/// Returns true for one of our limiters, and false for a peer.
pub(super) fn is_ours(line: &Line) -> bool {
    verdict::is_ours(line.limiter)
}

/// Returns the 99.9th percentile of single calls, if they were timed.
pub(super) fn p999(line: &Line) -> Option<f64> {
    line.watched.latency_ns.map(|latency| latency.p999)
}

/// Returns the median of the fairness in a millisecond, if there were several threads.
pub(super) fn fairness(line: &Line) -> Option<f64> {
    line.watched.fairness_1ms.map(|fairness| fairness.median)
}

/// Returns the median of the worst call of a turn in microseconds, if calls were timed.
pub(super) fn worst_us(line: &Line) -> Option<f64> {
    line.watched.worst_ns.map(|worst| worst.median / 1e3)
}
