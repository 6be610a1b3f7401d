//! The memory that a replay takes for its keys is about what it says, which `--max-memory` bounds.

use std::fmt::Write;
use std::io::Cursor;
use std::process::Command;
use std::{env, fs};

use sluicegate_replay::log::Merged;
use sluicegate_replay::policy::Policy;
use sluicegate_replay::replay::{Options, Replay};

const KINDS: [(&str, bool); 8] = [
    ("policy = \"token_bucket\"\nlimit = 5\nrate = { amount = 1, interval = \"1 hour\" }", false),
    ("policy = \"gcra\"\ninterval = \"1 hour\"\ntolerance = \"9 hours\"", false),
    ("policy = \"gcra\"\ninterval = \"1 hour\"\ntolerance = \"9 hours\"", true),
    ("policy = \"fixed_window\"\nlimit = 5\ninterval = \"1 hour\"\nmax_keys = 99_999", false),
    ("policy = \"sliding_window\"\nlimit = 5\ninterval = \"1 hour\"", false),
    ("policy = \"sliding_window\"\nlimit = 5\ninterval = \"1 hour\"", true),
    ("policy = \"weighted_log\"\nlimit = 50\ninterval = \"1 hour\"", false),
    (
        "policy = \"multi_window\"\nlimits = [{ limit = 5, interval = \"1 hour\" }, \
         { limit = 9, interval = \"1 day\" }]",
        false,
    ),
];

/// Numbers of keys around a doubling of a hash table, when it is fullest and emptiest.
const KEYS: [u32; 2] = [14_000, 15_000];

/// The variable by which the test tells a process of its own which kind to measure, and with how many
/// keys.
const CASE: &str = "SLUICEGATE_MEMORY_CASE";

/// Returns the bytes of memory that this process takes at present.
fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let resident: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    resident * 4096
}

/// Replays a log of so many keys, and prints the bytes that were said and those that were taken.
fn measure(kind: &str, shape: bool, keys: u32) {
    let mut log = String::new();
    for key in 0..keys {
        let [_, high, middle, low] = key.to_be_bytes();
        writeln!(
            log,
            "10.{high}.{middle}.{low} - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1"
        )
        .unwrap();
    }
    // It stays, so that nothing is given back meanwhile.
    let log: &str = log.leak();
    let replayed = |kind: &str| {
        let policy = Policy::parse("p", &format!("[limiters.a]\n{kind}\n")).unwrap();
        let options = Options { shape, as_stamped: true, tally_keys: 2, ..Options::default() };
        let mut replay = Replay::with_options(policy, options);
        replay.read(&mut Merged::of_log("log", Cursor::new(log))).unwrap();
        replay
    };
    // What reading takes is there before.
    let before = replayed(&format!("{kind}\nkey = \"all\""));
    let resident = resident_bytes();
    let replay = replayed(kind);
    println!("case {} {}", replay.judges()[0].bytes(), resident_bytes().saturating_sub(resident));
    drop((before, replay));
}

#[test]
fn the_memory_of_keys_is_about_what_is_said() {
    if let Ok(case) = env::var(CASE) {
        let (kind, keys) = case.split_once(' ').unwrap();
        let (kind, shape) = KINDS[kind.parse::<usize>().unwrap()];
        return measure(kind, shape, keys.parse().unwrap());
    }
    for (place, (kind, shape)) in KINDS.iter().enumerate() {
        for keys in KEYS {
            // The least of a few: the system may give a process more than it asks for, such as large
            // pages, and whether it does differs from run to run.
            let mut measured = (0, u64::MAX);
            for _ in 0..5 {
                let (said, taken) = measured_apart(place, keys);
                measured = (said, taken.min(measured.1));
                if is_about(measured) {
                    break;
                }
            }
            let (said, taken) = measured;
            assert!(
                is_about(measured),
                "{kind}, {keys} keys, shape {shape}: {said} bytes, not {taken}"
            );
        }
    }
}

fn is_about((said, taken): (u64, u64)) -> bool {
    said.abs_diff(taken) * 100 <= taken * 20
}

/// Measures in a process of its own, since memory that was freed is not given back at once.
fn measured_apart(place: usize, keys: u32) -> (u64, u64) {
    // On one processor, since each thread that reads has a heap of its own.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let (_, allowed) = status.split_once("Cpus_allowed_list:").unwrap();
    let processor = allowed.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap();
    let output = Command::new("taskset")
        .args(["--cpu-list", processor])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "memory::the_memory_of_keys_is_about_what_is_said", "--nocapture"])
        .env(CASE, format!("{place} {keys}"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let case = text.lines().find_map(|line| line.split_once("case "));
    let (_, case) = case.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let (said, taken) = case.split_once(' ').unwrap();
    (said.parse().unwrap(), taken.parse().unwrap())
}
