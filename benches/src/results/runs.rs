//! The runs: on which machine, how long a turn, and how much was measured.

use comfy_table::Table;

use super::Measured;
use super::measured::is_ours;
use crate::keyed::report::grouped;
use crate::report::{self, Line, Run, Style};

/// Returns a table with a row for each run that lines are from.
pub(super) fn table(measured: &Measured) -> Table {
    let mut runs: Vec<&Option<Run>> = Vec::new();
    for line in measured.lines() {
        if !runs.contains(&&line.run) {
            runs.push(&line.run);
        }
    }
    let mut table = report::new_table(Style::Markdown);
    table.set_header([
        "machine",
        "turn",
        "threads",
        "rows",
        "turns",
        "of them quiet",
        "excess, ours",
        "excess, peers",
    ]);
    for run in runs {
        let lines: Vec<&Line> = measured.lines().iter().filter(|line| line.run == *run).collect();
        let sum =
            |count: &dyn Fn(&Line) -> u64| grouped(lines.iter().map(|line| count(line)).sum());
        let unknown = || "not recorded".to_owned();
        table.add_row([
            run.as_ref().map_or_else(unknown, |run| run.machine.clone()),
            run.as_ref().map_or_else(unknown, |run| format!("{} ms", run.turn_ms)),
            run.as_ref().map_or_else(unknown, |run| {
                if run.pinned { "bound to cores" } else { "not bound" }.to_owned()
            }),
            grouped(lines.len() as u64),
            sum(&|line| line.rounds as u64),
            sum(&|line| line.quiet as u64),
            sum(&|line| if is_ours(line) { line.excess } else { 0 }),
            sum(&|line| if is_ours(line) { 0 } else { line.excess }),
        ]);
    }
    report::align(&mut table, &[0, 2]);
    table
}
