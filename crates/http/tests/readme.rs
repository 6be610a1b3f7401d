//! The READMEs show lines of the documentation, which compile.

use std::fs;
use std::path::Path;

#[test]
fn the_lines_of_the_readmes_stand_in_the_documentation() {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(crate_root.join("src/lib.rs")).unwrap();
    let documented = source.lines().filter_map(|line| line.strip_prefix("//!"));
    let documented: Vec<_> =
        documented.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    for readme in ["../../README.md", "README.md"] {
        let readme = fs::read_to_string(crate_root.join(readme)).unwrap();
        let (_, rest) = readme.split_once("```rs\n").unwrap();
        let (shown, _) = rest.split_once("```").unwrap();
        let shown: Vec<_> = shown.lines().collect();
        assert!(shown.len() > 3 && documented.windows(shown.len()).any(|lines| lines == shown));
    }
}
