//! The tables of the repository, by the program.

use std::process::Command;

fn run(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_sluicegate-mutator"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.stdout.is_empty());
}

#[test]
fn every_mutant_is_one_of_the_sources_as_they_are() {
    run(&["check", "loom-tests/mutants", "crates/redis/mutants.toml"]);
}

#[test]
fn every_mutant_names_models_that_exist() {
    run(&["list", "loom-tests/mutants"]);
}
