//! Tests of the command as a program: the sources that it reads from, its output
//! on each stream, and its exit status.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::{Value, json};
use tempfile::TempDir;

mod columns;
mod copies;
mod formats;
mod html;
mod malformed;
mod malformed_formats;
mod manual;
mod operator;
mod order;
mod policies;
mod policy_input;
mod presets;
mod replays;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "redis")]
mod serve_redis;
#[cfg(feature = "serve")]
mod serve_signals;
mod shape;
mod silent;
mod sources;
mod spread;
mod statuses;
mod suggest;
mod unanswered;

const POLICY: &str = r#"
[[limiter]]
name = "two each"
key = "client"
policy = "token_bucket"
limit = 2
rate = { amount = 1, interval = "1 hour" }

[[limiter]]
name = "three in all"
key = "all"
policy = "gcra"
interval = "1 hour"
tolerance = "2 hours"
"#;

/// Clients a, a, b, a, a and b.
const LOG: &str = r#"a - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1
a - - [17/May/2015:10:05:04 +0000] "GET / HTTP/1.1" 200 1
b - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1
a - - [17/May/2015:10:05:05 +0000] "GET / HTTP/1.1" 200 1
a - - [17/May/2015:10:05:06 +0000] "GET / HTTP/1.1" 200 1
b - - [17/May/2015:10:05:06 +0000] "GET / HTTP/1.1" 200 1
"#;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.file("policy.toml", POLICY);
        folder.file("access.log", LOG);
        folder
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs `sluicegate replay --policy policy.toml` in the folder, with more arguments.
    fn replay(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> Assert {
        sluicegate()
            .current_dir(self.0.path())
            .args(["replay", "--policy", "policy.toml"])
            .args(args)
            .write_stdin(stdin)
            .assert()
    }
}

fn sluicegate() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sluicegate"))
}

fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// Returns the object that was printed, without what is told of the requests that limiters denied: tests of its
/// own look at that.
fn json(assert: &Assert) -> Value {
    let mut object: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    for limiter in object["limiters"].as_array_mut().into_iter().flatten() {
        limiter.as_object_mut().unwrap().remove("keys_hit");
        for key in limiter.get_mut("top_denied").and_then(Value::as_array_mut).into_iter().flatten()
        {
            key.as_object_mut().unwrap().remove("mostly");
        }
    }
    object
}

fn gzip(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::fast())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}
