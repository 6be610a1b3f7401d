//! Writes the tables of docs/benchmarks.md from the files in docs/benchmarks.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sluicegate_benches::results;

/// Writes the tables of the page on benchmarks, from the files in the folder of its name.
#[derive(Debug, Parser)]
struct Args {
    /// Write nothing, and fail if the tables are not those of the files
    #[arg(long)]
    check: bool,
    /// The page
    #[arg(default_value = "docs/benchmarks.md")]
    page: PathBuf,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tables: {}: {message}", args.page.display());
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let Args { check, page } = args;
    let old = fs::read_to_string(page).map_err(|error| error.to_string())?;
    let new = results::rewrite(&old, &page.with_extension(""))?;
    if !check {
        return fs::write(page, new).map_err(|error| error.to_string());
    }
    let differs = |(number, (old, new)): (usize, (&str, &str))| (old != new).then_some(number + 1);
    match old.lines().zip(new.lines()).enumerate().find_map(differs) {
        Some(line) => Err(format!("line {line} is not that of the data; run `tables`")),
        None if old != new => Err("it is not as long as its data; run `tables`".to_owned()),
        None => Ok(()),
    }
}
