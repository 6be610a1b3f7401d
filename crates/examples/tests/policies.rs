//! Each command of the page on policies is run as it is written, in order and in one folder, and
//! prints what the page shows.
//!
//! A block `sh` is given to bash. The block `text` that follows is what it prints: the lines of the
//! block are in its output in the same order, and none is between them but where the block has a line
//! `...`. A block `toml` is a file, whose name is a comment in its first line. The lines
//! of a block `rust` are in the program in the same order.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::page::{self, Block, blocks, page, repository};

/// Runs commands in the folder, and returns all that they print.
fn run(folder: &Path, commands: &str) -> String {
    let script = format!("exec 2>&1; set -e\n{commands}");
    let path =
        format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    // A page whose program has died would wait for its answers for ever.
    let output = Command::new("timeout")
        .args(["300", "bash", "--norc", "-c", &script])
        .env("PATH", path)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    let printed = String::from_utf8(output.stdout).expect("the commands print UTF-8");
    assert!(output.status.success(), "{}:\n{commands}\n{printed}", output.status);
    printed
}

/// Panics unless the output has these lines.
fn assert_shows(printed: &str, shown: &str) {
    let mut lines = printed.lines().map(str::trim_end).peekable();
    let mut may_skip = false;
    for line in shown.lines().map(str::trim_end) {
        if line.trim() == "..." {
            may_skip = true;
            continue;
        }
        if may_skip {
            while lines.next_if(|printed| *printed != line).is_some() {}
        }
        assert_eq!(lines.next(), Some(line), "printed:\n{printed}\nthe page:\n{shown}");
        may_skip = false;
    }
    assert!(may_skip || lines.next().is_none(), "printed:\n{printed}\nthe page:\n{shown}");
}

#[test]
fn each_command_prints_what_the_page_shows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_sluicegate_of_pages"), bin.join("sluicegate")).unwrap();
    symlink(env!("CARGO_BIN_EXE_limits_server"), bin.join("limits_server")).unwrap();
    symlink(repository().join("crates"), folder.join("crates")).unwrap();

    let page = page("policies.md");
    let (mut printed, mut commands, mut outputs) = (None, 0, 0);
    for Block { language, text } in blocks(&page) {
        match language {
            "sh" => {
                printed = Some(run(folder, text));
                commands += 1;
            }
            "text" => {
                assert_shows(&printed.take().expect("a command comes before its output"), text);
                outputs += 1;
            }
            "toml" => {
                fs::write(folder.join(page::file_name(text)), text).unwrap();
            }
            "rust" => {}
            other => panic!("a block of `{other}`:\n{text}"),
        }
    }
    assert!(commands >= 10 && outputs >= 8, "{commands} commands, {outputs} outputs");
}

#[test]
fn the_program_has_the_lines_that_the_page_shows() {
    let path = repository().join("examples/limits_server.rs");
    let program = fs::read_to_string(path).unwrap();
    let mut lines = program.lines();
    let page = page("policies.md");
    let shown = blocks(&page).into_iter().filter(|block| block.language == "rust");
    let shown: Vec<&str> = shown.flat_map(|block| block.text.lines()).collect();
    assert!(!shown.is_empty());
    for line in shown.into_iter().filter(|line| !line.is_empty()) {
        assert!(lines.any(|other| other == line), "the program has no such line here: {line}");
    }
}
