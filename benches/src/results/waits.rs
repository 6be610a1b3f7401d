//! The figures of tasks that wait, as `waits --json` prints them.

use comfy_table::Table;

use super::figure;
use crate::keyed::report::grouped;
use crate::report::{self, Style};
use crate::waiting::Outcome;

/// Returns a table with a row for each limiter and number of tasks.
pub(super) fn table(text: &str, style: Style) -> serde_json::Result<Table> {
    let mut table = report::new_table(style);
    table.set_header([
        "waiting",
        "limiter",
        "granted / earned",
        "wake-ups",
        "CPU, us",
        "bytes",
        "late p50, us",
        "p99",
        "worst",
    ]);
    for line in text.lines() {
        let outcome: Outcome = serde_json::from_str(line)?;
        let Outcome { late_us, .. } = outcome;
        table.add_row([
            grouped(outcome.waiters as u64),
            outcome.limiter,
            format!("{:.4}", outcome.rate_ratio),
            figure(outcome.wakes_per_grant),
            figure(outcome.cpu_us_per_grant),
            format!("{:.0}", outcome.bytes_per_waiter),
            format!("{:.0}", late_us.p50),
            format!("{:.0}", late_us.p99),
            format!("{:.0}", late_us.max),
        ]);
    }
    report::align(&mut table, &[1]);
    Ok(table)
}
