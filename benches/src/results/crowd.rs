//! The figures of ten thousand threads, as `crowd --json` prints them.

use comfy_table::Table;
use serde_json::Value;

use crate::report::{self, Style};

/// The rows: their headings, and the figures in each.
const ROWS: [(&str, &[&str]); 7] = [
    ("threads; permits that each wants", &["/threads", "/share"]),
    ("threads that got none; less than that", &["/got_none", "/got_less"]),
    (
        "calls until served: p1, p50, p99, most",
        &[
            "/calls_per_thread/p1",
            "/calls_per_thread/p50",
            "/calls_per_thread/p99",
            "/calls_per_thread/max",
        ],
    ),
    (
        "us on a processor until served: p50, p99, most",
        &["/busy_us/p50", "/busy_us/p99", "/busy_us/max"],
    ),
    (
        "ms until served: p1, p50, p99, most",
        &[
            "/ms_until_served/p1",
            "/ms_until_served/p50",
            "/ms_until_served/p99",
            "/ms_until_served/max",
        ],
    ),
    ("admitted; at most; excess", &["/admitted", "/bound", "/excess"]),
    ("growth of memory from when all were up, KiB", &["/growth_kib"]),
];

/// Returns a table with a column for each limiter.
pub(super) fn table(text: &str) -> serde_json::Result<Table> {
    let crowds: Vec<Value> =
        text.lines().map(serde_json::from_str).collect::<serde_json::Result<_>>()?;
    let mut table = report::new_table(Style::Markdown);
    let names = crowds.iter().map(|crowd| crowd["limiter"].as_str().unwrap_or("").to_owned());
    table.set_header([String::new()].into_iter().chain(names));
    for (heading, figures) in ROWS {
        let cell = |crowd: &Value| {
            let figure = |path: &&str| {
                crowd.pointer(path).and_then(Value::as_f64).map(|figure| format!("{figure:.0}"))
            };
            figures.iter().filter_map(figure).collect::<Vec<_>>().join(", ")
        };
        table.add_row([heading.to_owned()].into_iter().chain(crowds.iter().map(cell)));
    }
    Ok(table)
}
