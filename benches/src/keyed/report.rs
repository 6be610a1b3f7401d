//! The report of stores of keys: a table for each operation and number of keys.

use comfy_table::Table;

use super::{BASELINE, Skew};
use crate::report::{self, Line, Style};

/// The properties that all lines of one table share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic<'a> {
    /// The operation that is asked for.
    pub op: &'a str,
    /// The kind of key.
    pub key: &'static str,
    /// The spread of the calls over the keys.
    pub spread: Skew,
    /// Number of keys.
    pub keys: u64,
}

impl<'a> Topic<'a> {
    /// Returns the topic of a line, if the line has keys.
    #[must_use]
    pub fn of(line: &'a Line) -> Option<Topic<'a>> {
        let of_keys = line.of_keys?;
        let (key, spread, keys) = (of_keys.key, of_keys.spread, of_keys.keys);
        Some(Topic { op: &line.op, key, spread, keys })
    }

    /// Returns the topics of `lines`, each once, in their order.
    #[must_use]
    pub fn all(lines: &'a [Line]) -> Vec<Topic<'a>> {
        let mut all: Vec<Topic<'a>> = Vec::new();
        for topic in lines.iter().filter_map(Topic::of) {
            if !all.contains(&topic) {
                all.push(topic);
            }
        }
        all
    }

    /// The heading of its table.
    #[must_use]
    pub fn title(self) -> String {
        let Topic { op, key, spread, keys } = self;
        match op {
            "insert" => format!("insert, {} {key} keys", grouped(keys)),
            _ => format!("{op}, {} {key} keys, {spread}", grouped(keys)),
        }
    }
}

/// Formats a number with its digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", grouped(number / 1_000), number % 1_000)
}

/// Returns the lines of one topic as a table, all numbers of threads side by side.
#[must_use]
pub fn table(lines: &[Line], topic: Topic<'_>, threads: &[usize], style: Style) -> Table {
    let of_topic: Vec<&Line> = lines.iter().filter(|line| Topic::of(line) == Some(topic)).collect();
    let stores = names(&of_topic);
    let find = |store: &str, threads: usize| {
        let is_it = |line: &&&Line| line.store() == store && line.threads == threads;
        of_topic.iter().find(is_it).copied()
    };

    let mut table = report::new_table(style);
    let mut header = vec!["limiter".to_owned()];
    for threads in threads {
        let plural = if *threads == 1 { "" } else { "s" };
        header.push(format!("ns, {threads} thread{plural}"));
        header.extend(["min..max", "worst, us", "Mops", "throughput"].map(str::to_owned));
        if *threads > 1 {
            header.extend(["1 thread", "in 1 ms"].map(str::to_owned));
        }
    }
    header.extend(["quiet", "excess"].map(str::to_owned));
    table.set_header(header);
    for store in stores {
        let mut row = vec![store.to_owned()];
        let (mut quiet, mut rounds, mut excess) = (0, 0, 0);
        for &threads in threads {
            let width = if threads > 1 { 7 } else { 5 };
            let Some(line) = find(store, threads) else {
                row.resize(row.len() + width, String::new());
                continue;
            };
            row.push(format!("{:.1}", line.ns_per_op.median));
            row.push(format!("{:.1}..{:.1}", line.ns_per_op.min, line.ns_per_op.max));
            row.push(line.worst());
            row.push(format!("{:.2}", line.mops));
            let ratio = find(BASELINE, threads).map(|baseline| line.mops / baseline.mops);
            row.push(ratio.map_or_else(String::new, |ratio| format!("{ratio:.2} x")));
            if threads > 1 {
                let times = line.speed_up(lines);
                row.push(times.map_or_else(String::new, |times| format!("{times:.2} x")));
                row.push(line.fairness());
            }
            quiet += line.quiet;
            rounds += line.rounds;
            excess += line.excess;
        }
        row.push(format!("{quiet}/{rounds}"));
        row.push(excess.to_string());
        table.add_row(row);
    }
    report::align(&mut table, &[0]);
    table
}

/// Returns the names of the stores, each once, in the order of the lines.
pub(crate) fn names(lines: &[&Line]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in lines.iter().map(|line| line.store()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_threes() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(10_000_070), "10,000,070");
    }
}
