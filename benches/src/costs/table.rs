//! The counts as a table.

use comfy_table::Table;

use super::{Cost, by_verb};
use crate::report::{self, Style};

/// Returns a table with a row for each verb and way that it can go. Limiters with the same
/// counts share a row.
#[must_use]
pub fn table(costs: &[Cost], style: Style) -> Table {
    let mut table = report::new_table(style);
    table.set_header(["verb", "clock", "shared", "terms", "stores", "RMWs", "limiters"]);
    for rows in by_verb(costs) {
        let &Cost { verb, clock_reads, loads, loads_of_terms, stores, rmws, .. } = rows[0];
        let counts = [clock_reads, loads, loads_of_terms, stores, rmws];
        let limiters: Vec<&str> = rows.iter().map(|cost| cost.limiter).collect();
        let cells = [verb.to_owned()].into_iter().chain(counts.map(|count| count.to_string()));
        table.add_row(cells.chain([limiters.join(", ")]));
    }
    report::align(&mut table, &[0, 6]);
    table
}
