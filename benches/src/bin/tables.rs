//! Writes the tables of docs/benchmarks.md from the files in docs/benchmarks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use sluicegate_benches::results;

/// Writes the tables of the page on benchmarks, from the files in the folder of its name.
#[derive(Debug, Parser)]
struct Args {
    /// The page
    #[arg(default_value = "docs/benchmarks.md")]
    page: PathBuf,
}

fn main() -> ExitCode {
    let Args { page } = Args::parse();
    match write(&page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tables: {}: {message}", page.display());
            ExitCode::FAILURE
        }
    }
}

fn write(page: &Path) -> Result<(), String> {
    let old = fs::read_to_string(page).map_err(|error| error.to_string())?;
    let new = results::rewrite(&old, &page.with_extension(""))?;
    fs::write(page, new).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_page_are_those_of_its_files() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md");
        let old = fs::read_to_string(&page).unwrap();
        let new = results::rewrite(&old, &page.with_extension("")).unwrap();
        for (number, (old, new)) in (1..).zip(old.lines().zip(new.lines())) {
            assert_eq!(old, new, "line {number} is not that of the data; run `tables`");
        }
        assert!(old == new, "the page is not as long as its data; run `tables`");
    }
}
