//! Losses: our limiters that take more time than those that they are compared with.

use std::collections::HashMap;

use comfy_table::Table;
use serde::Deserialize;

use super::measured::{self, Measured};
use super::{figure, times};
use crate::keyed::report::grouped;
use crate::report::{self, Line, OfKeys, Style};

/// The least ratio that is a loss. Smaller ones are shown as 1.00.
const LEAST_LOSS: f64 = 1.005;

/// Why some limiters are slower than their peers.
#[derive(Debug)]
pub(super) struct Reasons(HashMap<(String, String), String>);

#[derive(Deserialize)]
struct Row {
    limiter: String,
    op: String,
    reason: String,
}

impl Reasons {
    /// Reads a CSV file of limiters or stores, operations and reasons.
    pub(super) fn parse(csv: &str) -> csv::Result<Reasons> {
        let keyed = |row: Result<Row, csv::Error>| {
            row.map(|Row { limiter, op, reason }| ((limiter, op), reason))
        };
        let rows = csv::Reader::from_reader(csv.as_bytes()).into_deserialize().map(keyed);
        rows.collect::<csv::Result<_>>().map(Reasons)
    }

    fn of(&self, line: &Line) -> &str {
        let key = (line.store().to_owned(), line.op.clone());
        self.0.get(&key).map_or("", String::as_str)
    }
}

/// Returns a table of every line of ours that takes longer than its peer, the worst first.
pub(super) fn table(measured: &Measured, reasons: &Reasons) -> Table {
    let ours = measured.lines().iter().filter(|line| measured::is_ours(line));
    let mut losses: Vec<(f64, &Line, &Line)> = ours
        .filter_map(|line| Some((measured.time(line)?, line, measured.peer(line)?)))
        .filter(|(ratio, ..)| *ratio >= LEAST_LOSS)
        .collect();
    losses.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));

    let mut table = report::new_table(Style::Markdown);
    table.set_header([
        "limiter",
        "asked",
        "threads",
        "ns",
        "compared with",
        "its ns",
        "time",
        "why",
    ]);
    for (ratio, line, peer) in losses {
        table.add_row([
            line.store().to_owned(),
            asked(line),
            line.threads.to_string(),
            figure(line.ns_per_op.median),
            peer.store().to_owned(),
            figure(peer.ns_per_op.median),
            times(Some(ratio)),
            reasons.of(line).to_owned(),
        ]);
    }
    report::align(&mut table, &[0, 1, 4, 7]);
    table
}

/// Returns the operation, and the keys if there are any.
fn asked(line: &Line) -> String {
    let Some(OfKeys { key, spread, .. }) = line.of_keys else { return line.op.clone() };
    let keys = grouped(line.keys);
    match line.op.as_str() {
        "insert" => format!("insert, {keys} {key}"),
        op => format!("{op}, {keys} {key}, {spread}"),
    }
}
