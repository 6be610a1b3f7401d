//! The READMEs show lines of the documentation, which compile.

use std::fs;
use std::path::Path;

#[test]
fn the_lines_of_the_readmes_stand_in_the_documentation() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| fs::read_to_string(crates.join(path)).unwrap();
    let documented = ["http/src/lib.rs", "redis/src/lib.rs"].map(read).join("\n");
    let documented = documented.lines().filter_map(|line| line.strip_prefix("//!"));
    let documented: Vec<_> =
        documented.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    for (readme, programs) in [("../README.md", 2), ("http/README.md", 1)] {
        let page = read(readme);
        let shown: Vec<_> = blocks(&page).into_iter().filter(|(fence, _)| *fence == "rs").collect();
        assert_eq!(shown.len(), programs, "{readme}");
        for (_, program) in shown {
            let lines: Vec<_> = program.lines().collect();
            assert!(
                documented.windows(lines.len()).any(|some| some == lines),
                "{readme}: {program}"
            );
        }
    }
}

/// Returns the blocks of a page between fences, each with the word behind its first fence.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let inside = page.split("```").skip(1).step_by(2);
    inside.filter_map(|block| block.split_once('\n')).collect()
}

/// Returns true if a program names a crate.
fn names(program: &str, krate: &str) -> bool {
    let path = format!("{}::", krate.replace('-', "_"));
    let is_whole =
        |at: usize| !program[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    program.match_indices(&path).any(|(at, _)| is_whole(at))
}

#[test]
fn each_program_of_a_page_stands_below_or_beside_its_dependencies_and_they_are_those_of_the_tests()
{
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path| fs::read_to_string(crate_root.join(path)).unwrap();
    let manifest = read("Cargo.toml");
    let tested: toml::Table = manifest.parse().unwrap();
    for page in ["../../docs/http.md", "../../docs/http-client.md"] {
        let page = read(page);
        let blocks = blocks(&page);
        let mut needed = std::collections::BTreeSet::new();
        let mut shown = toml::Table::new();
        for (fence, text) in blocks {
            if fence.starts_with("rust") {
                for section in ["dependencies", "dev-dependencies"] {
                    let crates = tested[section].as_table().unwrap().keys();
                    needed.extend(crates.filter(|krate| names(text, krate)).cloned());
                }
            } else if fence == "toml" {
                let table: toml::Table = text.parse().unwrap();
                let table =
                    table.get("dependencies").and_then(toml::Value::as_table).unwrap_or(&table);
                shown.extend(table.clone());
            }
        }
        let known = |krate: &String| shown.contains_key(krate);
        assert!(needed.iter().all(known), "{needed:?}, {:?}", shown.keys().collect::<Vec<_>>());
        for (krate, wanted) in &shown {
            let dependency =
                |section: &str| tested[section].as_table().unwrap().get(krate).cloned();
            let ours = dependency("dependencies").or_else(|| dependency("dev-dependencies"));
            let version = |value: &toml::Value| {
                let version = value.as_str().or_else(|| value.get("version")?.as_str());
                version.map(str::to_owned)
            };
            let (ours, theirs) = (ours.unwrap(), version(wanted).unwrap());
            // Those of the workspace have a path.
            if let Some(ours) = version(&ours) {
                assert!(
                    ours == theirs || ours.starts_with(&format!("{theirs}.")),
                    "{krate}: {theirs}"
                );
            }
            if krate == "sluicegate-http" {
                let features = wanted["features"].as_array().unwrap();
                let there = tested["features"].as_table().unwrap();
                assert!(features.iter().all(|name| there.contains_key(name.as_str().unwrap())));
            }
        }
    }
}
