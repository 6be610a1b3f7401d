//! The tables of a report.

use comfy_table::{CellAlignment, Table, presets};

use super::Line;
use crate::keyed;
use crate::keyed::report::Topic;
use crate::latency::Latency;

/// Returns the tables of all lines, each with its heading: one for each operation and number of
/// threads, then one for each topic of stores of keys.
#[must_use]
pub fn tables(lines: &[Line], style: Style) -> String {
    let mut threads: Vec<usize> = lines.iter().map(|line| line.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let (keyed, lines): (Vec<Line>, Vec<Line>) =
        lines.iter().cloned().partition(|line| line.of_keys.is_some());
    let mut ops: Vec<&str> = Vec::new();
    for line in &lines {
        if !ops.contains(&line.op.as_str()) {
            ops.push(&line.op);
        }
    }

    let mut tables = Vec::new();
    for op in ops {
        for &threads in &threads {
            let of_table = |line: &&Line| line.op == op && line.threads == threads;
            let of_table: Vec<&Line> = lines.iter().filter(of_table).collect();
            if of_table.is_empty() {
                continue;
            }
            let plural = if threads == 1 { "" } else { "s" };
            let table = table(&of_table, &lines, style);
            tables.push(format!("\n### {op}, {threads} thread{plural}\n\n{table}\n"));
        }
    }
    for topic in Topic::all(&keyed) {
        let table = keyed::report::table(&keyed, topic, &threads, style);
        tables.push(format!("\n### {}\n\n{table}\n", topic.title()));
    }
    tables.concat()
}

/// The style of a table.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// For a terminal.
    Plain,
    /// For a page.
    Markdown,
}

/// Returns the lines of one operation and thread count as a table; `all` are the lines of all
/// operations and thread counts.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "they are shown to two digits")]
pub fn table(lines: &[&Line], all: &[Line], style: Style) -> Table {
    let mut table = new_table(style);
    table.set_header([
        "limiter",
        "ns",
        "min..max",
        "p50",
        "p99",
        "p99.9",
        "worst, us",
        "Mops",
        "time",
        "throughput",
        "compared with",
        "1 thread",
        "fairness",
        "in 1 ms",
        "quiet",
        "excess",
    ]);
    for line in lines {
        let baseline = lines.iter().find(|other| other.limiter == line.baseline);
        let against = |ratio: &dyn Fn(&Line) -> f64| {
            baseline.map_or_else(String::new, |baseline| format!("{:.2} x", ratio(baseline)))
        };
        let latency = line.watched.latency_ns;
        let percentile = |of: fn(Latency) -> f64| {
            latency.map_or_else(String::new, |latency| format!("{:.0}", of(latency)))
        };
        table.add_row([
            line.limiter.to_owned(),
            format!("{:.2}", line.ns_per_op.median),
            format!("{:.1}..{:.1}", line.ns_per_op.min, line.ns_per_op.max),
            percentile(|latency| latency.p50),
            percentile(|latency| latency.p99),
            percentile(|latency| latency.p999),
            line.worst(),
            format!("{:.1}", line.mops),
            against(&|other| line.ns_per_op.median / other.ns_per_op.median),
            against(&|other| line.mops / other.mops),
            baseline.map_or("", |other| other.limiter).to_owned(),
            line.speed_up(all).map_or_else(String::new, |times| format!("{times:.2} x")),
            format!("{:.2}", line.slowest_thread as f64 / line.fastest_thread as f64),
            line.fairness(),
            format!("{}/{}", line.quiet, line.rounds),
            line.excess.to_string(),
        ]);
    }
    align(&mut table, &[0, 10]);
    table
}

/// A table with nothing in it.
#[must_use]
pub fn new_table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(match style {
        Style::Plain => presets::NOTHING,
        Style::Markdown => presets::ASCII_MARKDOWN,
    });
    table
}

/// Aligns every column but `left` to the right.
pub fn align(table: &mut Table, left: &[usize]) {
    for column in table.column_iter_mut() {
        if !left.contains(&column.index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
