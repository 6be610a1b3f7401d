//! The blocks of a page.

use std::fs;
use std::path::Path;

pub(crate) struct Block<'a> {
    pub(crate) language: &'a str,
    pub(crate) text: &'a str,
}

pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs").join(name)).expect("the page is there")
}

pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced
        .map(|block| block.split_once('\n').expect("a fence ends its line"))
        .map(|(language, text)| Block { language, text })
        .collect()
}

/// Returns the name of the file that a block is: a comment in its first line.
pub(crate) fn file_name(text: &str) -> &str {
    let comment = text.lines().next().and_then(|line| line.strip_prefix("# "));
    comment.filter(|comment| !comment.contains(' ')).expect("a file's name")
}
