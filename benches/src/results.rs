//! The tables of `docs/benchmarks.md`, made from the files in `docs/benchmarks`.
//!
//! A table stands between two comments, of which the first says what it shows and which files
//! it is made from:
//!
//! ```text
//! <!-- table: limiters allow 1 amd.jsonl -->
//! ...
//! <!-- end of table -->
//! ```
//!
//! The rest of the page stays as it is.

mod bytes;
mod crowd;
mod limiters;
mod losses;
mod measured;
mod runs;
mod stores;
mod tails;
mod waits;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use comfy_table::Table;

use self::bytes::Bytes;
use self::losses::Reasons;
use self::measured::Measured;
use crate::costs;
use crate::report::{self, Style};

const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end of table -->";

/// Returns `page` with all its tables made anew from the files in `folder`.
///
/// # Errors
///
/// If the page wants a table that is not known or has no end, or if a file cannot be read.
pub fn rewrite(page: &str, folder: &Path) -> Result<String, String> {
    let mut rewritten = String::with_capacity(page.len());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        rewritten.push_str(line);
        rewritten.push('\n');
        let Some(wanted) = wanted(line) else { continue };
        let end = lines.find(|line| *line == END || self::wanted(line).is_some());
        if end != Some(END) {
            return Err(format!("the table \"{wanted}\" has no end"));
        }
        let tables = tables(wanted, folder).map_err(|error| format!("{wanted}: {error}"))?;
        write!(rewritten, "\n{}\n\n{END}\n", tables.trim()).expect("a string takes everything");
    }
    Ok(rewritten)
}

/// Returns the words that say what is in the table that begins at `line`, if one does.
fn wanted(line: &str) -> Option<&str> {
    line.strip_prefix(BEGIN)?.strip_suffix(" -->")
}

fn tables(wanted: &str, folder: &Path) -> Result<String, String> {
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let text = |file: &str| {
        fs::read_to_string(folder.join(file)).map_err(|error| format!("{file}: {error}"))
    };
    let measured =
        |file: &str| Measured::parse(&text(file)?).map_err(|error| format!("{file}, {error}"));
    match words[..] {
        ["runs", file] => Ok(runs::table(&measured(file)?).to_string()),
        ["limiters", op, threads, file] => {
            let threads = threads.parse().map_err(|error| format!("{threads}: {error}"))?;
            Ok(limiters::table(&measured(file)?, op, threads).to_string())
        }
        ["stores", key, spread, file, bytes] => {
            let bytes = Bytes::parse_all(&text(bytes)?).map_err(|error| error.to_string())?;
            Ok(stores::tables(&measured(file)?, &bytes, key, spread))
        }
        ["losses", file, reasons] => {
            let reasons = Reasons::parse(&text(reasons)?).map_err(|error| error.to_string())?;
            Ok(losses::table(&measured(file)?, &reasons).to_string())
        }
        ["tails", file] => Ok(tails::table(&measured(file)?).to_string()),
        ["crowd", file] => {
            crowd::table(&text(file)?).map(|table| table.to_string()).map_err(|e| e.to_string())
        }
        ["waits", file] => waits::table(&text(file)?, Style::Markdown)
            .map(|table| table.to_string())
            .map_err(|e| e.to_string()),
        ["counted"] => Ok(costs::table(&costs::all(), Style::Markdown).to_string()),
        ["csv", file] => {
            csv_table(&text(file)?).map(|table| table.to_string()).map_err(|e| e.to_string())
        }
        _ => Err("no such table is known".to_owned()),
    }
}

/// Returns the table of what `waits --json` printed, for a terminal.
///
/// # Errors
///
/// If a line is not one of those.
pub fn waits(text: &str) -> serde_json::Result<Table> {
    waits::table(text, Style::Plain)
}

/// Returns the rows of a CSV file, of which the first is the header.
fn csv_table(csv: &str) -> csv::Result<Table> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let mut table = report::new_table(Style::Markdown);
    table.set_header(reader.headers()?);
    for record in reader.records() {
        table.add_row(&record?);
    }
    Ok(table)
}

/// Formats a time to about three digits.
fn figure(number: f64) -> String {
    let decimals = match number.abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

/// Formats a ratio with two decimals, or as "" if there is none.
fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
}

/// Joins two figures with a stroke; one that is alone stays as it is.
fn beside(own: Option<String>, peer: Option<String>) -> String {
    [own, peer].into_iter().flatten().collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests;
