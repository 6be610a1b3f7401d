//! The page of recipes quotes the programs as they are.

use std::path::Path;

/// Returns the file at `path` of the repository.
fn file(path: &str) -> String {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(repository.join(path)).expect("the file is there")
}

/// Returns the lines of all blocks of code in a section.
fn quoted(section: &str) -> Vec<&str> {
    let blocks = section.split("```").skip(1).step_by(2);
    blocks.flat_map(|block| block.lines().skip(1)).filter(|line| !line.is_empty()).collect()
}

#[test]
fn each_line_of_a_recipe_is_in_its_program_in_the_same_order() {
    let page = file("docs/recipes.md");
    let mut programs = 0;
    for section in page.split("\n## ") {
        let Some((_, name)) = section.split_once(".rs`][") else { continue };
        let name = name.split(']').next().unwrap_or_default();
        let program = file(&format!("examples/{name}.rs"));
        let mut lines = program.lines();
        let quoted = quoted(section);
        assert!(!quoted.is_empty(), "nothing is quoted from {name}");
        for quote in quoted {
            assert!(lines.any(|line| line == quote), "{name} has no such line here: {quote}");
        }
        programs += 1;
    }
    assert_eq!(programs, 10);
}
