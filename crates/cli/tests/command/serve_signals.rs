//! Signals to `serve` as a process of its own.

use std::fs::{self, File};
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::serve::Served;

#[test]
fn a_hangup_changes_nothing_if_there_is_no_file() {
    let mut served = Served::start(&[]);
    served.signal("-HUP");
    served.wait_for("there is no file to read again");
    assert!(served.end("-TERM").success());
}

#[test]
fn the_files_for_envoy_are_read_again_when_a_signal_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    let limit = "  - key: k\n    rate_limit: { unit: hour, requests_per_unit: 5 }\n";
    fs::write(&file, format!("domain: a\ndescriptors:\n{limit}")).unwrap();
    let mut served = Served::start(&["--envoy", folder.path().to_str().unwrap()]);
    assert!(served.greeting.starts_with("1 domain of "), "{}", served.greeting);
    assert_eq!(served.ask("GET", "/readyz", "", "").0, 200);
    fs::write(folder.path().join("b.yaml"), "domain: b\n").unwrap();
    served.signal("-HUP");
    served.wait_for("2 domains of ");
    fs::write(&file, "domain: b\n").unwrap();
    served.signal("-HUP");
    served.wait_for("b.yaml: domain: is \"b\", as in ");
    served.wait_for("the limits for Envoy stay as they were");
    assert!(served.end("-TERM").success());
}

/// A file that is never read to its end stands for one on a file system that does not answer.
#[test]
fn a_signal_ends_the_service_while_a_file_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (file, pipe) = (folder.path().join("a.yaml"), folder.path().join("b.yaml"));
    fs::write(file, "domain: a\n").unwrap();
    let mut served = Served::start(&["--envoy", folder.path().to_str().unwrap()]);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    served.signal("-HUP");
    // When the service reads it.
    let writer = File::options().write(true).open(pipe).unwrap();
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(20));
        drop(writer);
    });
    served.signal("-TERM");
    let line = served.wait_for("");
    assert!(line.starts_with("ending"), "{line}");
    assert!(served.wait().success());
}
