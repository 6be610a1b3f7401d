//! Limiters without keys, beside the limiter that each is compared with.

use comfy_table::Table;

use super::measured::{self, Measured};
use super::{beside, figure, times};
use crate::report::{self, Style};

/// Returns the table of one operation and number of threads.
pub(super) fn table(measured: &Measured, op: &str, threads: usize) -> Table {
    let mut table = report::new_table(Style::Markdown);
    table.set_header([
        "limiter",
        "ns",
        "compared with",
        "its ns",
        "time",
        "least to most",
        "throughput",
        "p99.9, ns",
        "worst, us",
        "in 1 ms",
    ]);
    let is_wanted =
        |line: &&report::Line| line.of_keys.is_none() && line.op == op && line.threads == threads;
    for line in measured.lines().iter().filter(is_wanted) {
        let peer = measured.peer(line);
        let least_to_most = peer.map(|peer| {
            let [least, most] = [line.ns_per_op.min, line.ns_per_op.max]
                .map(|ns| times(Some(ns / peer.ns_per_op.median)));
            format!("{least} to {most}")
        });
        let both = |of: fn(&report::Line) -> Option<f64>, text: fn(f64) -> String| {
            beside(of(line).map(text), peer.and_then(of).map(text))
        };
        table.add_row([
            line.limiter.to_owned(),
            figure(line.ns_per_op.median),
            peer.map_or("", |peer| peer.limiter).to_owned(),
            peer.map_or_else(String::new, |peer| figure(peer.ns_per_op.median)),
            times(measured.time(line)),
            least_to_most.unwrap_or_default(),
            times(peer.map(|peer| line.mops / peer.mops)),
            both(measured::p999, |ns| format!("{ns:.0}")),
            both(measured::worst_us, figure),
            both(measured::fairness, |ratio| format!("{ratio:.2}")),
        ]);
    }
    report::align(&mut table, &[0, 2]);
    table
}
