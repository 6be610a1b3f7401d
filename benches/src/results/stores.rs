//! Stores of keys: a table for each number of keys.

use std::fmt::Write;

use comfy_table::Table;

use super::{Bytes, Measured, figure, times};
use crate::keyed::report::{grouped, names};
use crate::report::{self, Line, Style};

/// The columns of times: the operation, the number of threads, and the heading.
const TIMES: [(&str, usize, &str); 5] = [
    ("allow", 1, "known, ns"),
    ("allow", 2, "2 threads, ns"),
    ("deny", 1, "denied, ns"),
    ("insert", 1, "new, ns"),
    ("insert", 2, "2 threads, ns"),
];

/// Returns the tables for one kind of keys and one spread of the calls over them.
pub(super) fn tables(measured: &Measured, bytes: &[Bytes], key: &str, spread: &str) -> String {
    let is_wanted = |line: &&Line| {
        line.of_keys.is_some_and(|of| of.key == key && of.spread.to_string() == spread)
    };
    let lines: Vec<&Line> = measured.lines().iter().filter(is_wanted).collect();
    let mut sizes: Vec<u64> = lines.iter().map(|line| line.keys).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut text = String::new();
    for keys in sizes {
        let lines: Vec<&Line> = lines.iter().filter(|line| line.keys == keys).copied().collect();
        let bytes = |store: &str| Bytes::of(bytes, store, key, keys);
        let table = table(measured, &lines, &bytes);
        write!(text, "{} `{key}` keys:\n\n{table}\n\n", grouped(keys))
            .expect("a string takes everything");
    }
    text
}

fn table(measured: &Measured, lines: &[&Line], bytes: &dyn Fn(&str) -> Option<f64>) -> Table {
    let mut table = report::new_table(Style::Markdown);
    let mut header = vec!["store"];
    for (_, _, heading) in TIMES {
        header.extend([heading, "time"]);
    }
    header.extend(["slowest insert, us", "bytes a key"]);
    table.set_header(header);

    for store in names(lines) {
        let find = |op: &str, threads: usize| {
            let is_it =
                |line: &&&Line| line.store() == store && line.op == op && line.threads == threads;
            lines.iter().find(is_it).copied()
        };
        let mut row = vec![store.to_owned()];
        for (op, threads, _) in TIMES {
            let line = find(op, threads);
            row.push(line.map_or_else(String::new, |line| figure(line.ns_per_op.median)));
            row.push(times(line.and_then(|line| measured.time(line))));
        }
        row.push(find("insert", 1).map_or_else(String::new, Line::worst));
        row.push(bytes(store).map_or_else(String::new, |bytes| format!("{bytes:.1}")));
        table.add_row(row);
    }
    report::align(&mut table, &[0]);
    table
}
