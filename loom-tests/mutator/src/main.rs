//! Mutants by tables: `loom-tests/mutants` for the engine, `crates/redis/mutants.toml` for leases.
//!
//! ```text
//! mutator check TABLES...             each mutant is one of the sources as they are
//! mutator names TABLES                the names
//! mutator list TABLES                 NAME HASH MODEL,MODEL of each, see `ledger`
//! mutator models                      FILE MODEL HASH of each model, see `ledger`
//! mutator apply TABLES NAME FOLDER    writes the mutant into this copy of the sources
//! mutator restore TABLES NAME FOLDER  puts the sources back
//! ```
//!
//! `TABLES` is a file or a folder of them. Sources are read below the current folder, which is the
//! root of the repository.

mod ledger;
mod table;

use std::path::Path;
use std::process::ExitCode;

use self::table::{read, table_with};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mutator: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    match *arguments {
        ["check", ref tables @ ..] if !tables.is_empty() => check(tables),
        ["names", tables] => {
            for name in read(tables)?.keys() {
                println!("{name}");
            }
            Ok(())
        }
        ["list", tables] => ledger::print_mutants(&read(tables)?),
        ["models"] => ledger::print_models(),
        ["apply", tables, name, folder] => {
            write(folder, &table_with(&read(tables)?, name)?.applied()?)
        }
        ["restore", tables, name, folder] => {
            write(folder, &table_with(&read(tables)?, name)?.sources()?)
        }
        _ => Err("usage: mutator check TABLES... | names TABLES | list TABLES | models | \
                  apply TABLES NAME FOLDER | restore TABLES NAME FOLDER"
            .to_owned()),
    }
}

/// Applies each mutant, and writes nothing.
fn check(tables: &[&str]) -> Result<(), String> {
    let mut count = 0;
    let mut errors = Vec::new();
    for path in tables {
        for (name, mutant) in &read(path)? {
            count += 1;
            errors.extend(mutant.applied().err().map(|error| format!("{name}: {error}")));
        }
    }
    if !errors.is_empty() {
        return Err(format!("{} of {count} do not apply:\n{}", errors.len(), errors.join("\n")));
    }
    println!("{count} mutants, each at one place");
    Ok(())
}

fn write(folder: &str, files: &[(String, String)]) -> Result<(), String> {
    for (file, text) in files {
        let path = Path::new(folder).join(file);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
