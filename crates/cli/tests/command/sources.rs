//! Sources that are no files, or files that change while they are read.

#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use super::{Folder, LOG, json, stderr};

/// Creates a pipe with a name in the folder.
fn fifo(folder: &Folder, name: &str) -> std::path::PathBuf {
    let path = folder.0.path().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn a_folder_and_a_path_through_a_file_are_errors_with_their_names() {
    let folder = Folder::new();
    fs::create_dir(folder.0.path().join("logs")).unwrap();
    for (log, why) in [
        ("logs", "error: logs: is a directory"),
        (".", "error: .: is a directory"),
        ("access.log/x", "error: access.log/x: "),
    ] {
        let failed = folder.replay(&["access.log", log], "").code(1);
        assert!(stderr(&failed).starts_with(why), "{log}: {}", stderr(&failed));
    }
}

#[test]
fn a_pipe_with_a_name_is_read_to_its_end() {
    let folder = Folder::new();
    let expected = json(&folder.replay(&["--json", "access.log"], "").success());
    let path = fifo(&folder, "pipe");
    let writer = thread::spawn(move || File::create(path).unwrap().write_all(LOG.as_bytes()));
    assert_eq!(json(&folder.replay(&["--json", "pipe"], "").success()), expected);
    writer.join().unwrap().unwrap();
}

#[test]
fn a_pipe_that_nobody_wrote_to_is_an_empty_log() {
    let folder = Folder::new();
    let path = fifo(&folder, "pipe");
    let writer = thread::spawn(move || drop(File::create(path).unwrap()));
    let found = json(&folder.replay(&["--json", "pipe"], "").code(3));
    assert_eq!((&found["lines"], &found["skipped"]), (&Value::from(0), &Value::from(0)));
    writer.join().unwrap();
}

/// The command reads as much as there is when it comes to the end. The last line may then be a part of
/// one.
#[test]
fn a_log_that_grows_while_it_is_read_is_read_to_some_end() {
    let folder = Folder::new();
    let path = folder.file("growing.log", LOG.repeat(2000));
    let child = Command::new(env!("CARGO_BIN_EXE_sluicegate"))
        .current_dir(folder.0.path())
        .args(["replay", "--json", "--policy", "policy.toml", "growing.log"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = OpenOptions::new().append(true).open(path).unwrap();
    for _ in 0..200 {
        log.write_all(LOG.repeat(10).as_bytes()).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    let lines = found["lines"].as_u64().unwrap();
    assert!((12_000..=24_000).contains(&lines), "{lines}: {errors}");
    assert!(found["skipped"].as_u64() <= Some(1), "{errors}");
}
