//! Our limiters whose slowest calls, or whose fairness, are worse than their peers'.

use comfy_table::Table;

use super::beside;
use super::measured::{self, Measured};
use crate::report::{self, Line, Style};

/// Smaller ratios say nothing, because a call takes only a few ticks of the timer.
const SLOW_TAIL: f64 = 2.0;

/// The least fairness that is as good as the peer's, over the peer's.
const AS_FAIR: f64 = 0.8;

/// Returns a table of our limiters without keys for which either is worse.
pub(super) fn table(measured: &Measured) -> Table {
    let mut table = report::new_table(Style::Markdown);
    table.set_header(["limiter", "asked", "threads", "compared with", "p99.9, ns", "in 1 ms"]);
    let ours = |line: &&Line| measured::is_ours(line) && line.of_keys.is_none();
    for line in measured.lines().iter().filter(ours) {
        let Some(peer) = measured.peer(line) else { continue };
        let ratio = |of: fn(&Line) -> Option<f64>| Some(of(line)? / of(peer)?);
        let slow = ratio(measured::p999).is_some_and(|ratio| ratio > SLOW_TAIL);
        let unfair = ratio(measured::fairness).is_some_and(|ratio| ratio < AS_FAIR);
        if !slow && !unfair {
            continue;
        }
        let both = |shown: bool, of: fn(&Line) -> Option<f64>, text: fn(f64) -> String| {
            if shown { beside(of(line).map(text), of(peer).map(text)) } else { String::new() }
        };
        table.add_row([
            line.limiter.to_owned(),
            line.op.clone(),
            line.threads.to_string(),
            peer.limiter.to_owned(),
            both(slow, measured::p999, |ns| format!("{ns:.0}")),
            both(unfair, measured::fairness, |ratio| format!("{ratio:.2}")),
        ]);
    }
    report::align(&mut table, &[0, 1, 3]);
    table
}
