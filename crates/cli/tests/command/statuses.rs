//! Exit statuses: each that a command's help lists is produced here, the manual lists the same, and no
//! other is produced.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, Stdio};

#[cfg(not(feature = "serve"))]
use super::stderr;
use super::{Folder, LOG, sluicegate, stdout};

/// Arguments in a folder that has `policy.toml`, `bad.toml`, `access.log`, `cut.gz` and `late.log`.
type Args = &'static [&'static str];

/// Commands with their statuses. A full device is where the output goes if a command ends with `FULL`.
const CASES: &[(&str, u8, Args)] = &[
    ("", 0, &[]),
    ("", 1, &["FULL"]),
    ("", 1, &["--help", "FULL"]),
    ("", 1, &["--version", "FULL"]),
    ("", 1, &["help", "suggest", "FULL"]),
    ("", 2, &["--none"]),
    ("", 3, &["replay", "empty.log"]),
    ("replay", 0, &["--policy", "policy.toml", "access.log"]),
    ("replay", 1, &["cut.gz"]),
    ("replay", 1, &["none.log"]),
    ("replay", 1, &["access.log", "FULL"]),
    ("replay", 1, &["--help", "FULL"]),
    ("replay", 2, &["--policy", "bad.toml", "access.log"]),
    ("replay", 2, &["--none"]),
    ("replay", 3, &["empty.log"]),
    ("replay", 3, &["late.log"]),
    ("suggest", 0, &["access.log"]),
    ("suggest", 1, &["cut.gz"]),
    ("suggest", 1, &["access.log", "FULL"]),
    ("suggest", 2, &["--at-least", "101", "access.log"]),
    ("suggest", 3, &["empty.log"]),
    ("policy", 0, &[]),
    ("policy", 1, &["FULL"]),
    ("policy", 2, &["--none"]),
    ("check", 0, &["policy.toml"]),
    ("check", 1, &["none.toml"]),
    ("check", 1, &["policy.toml", "FULL"]),
    ("check", 2, &["bad.toml"]),
    ("check", 2, &[]),
    ("explain", 0, &["policy.toml"]),
    ("explain", 1, &["none.toml"]),
    ("explain", 2, &["bad.toml"]),
    #[cfg(feature = "serve")]
    ("serve", 1, &["--policy", "policy.toml", "--admin-token-file", "none"]),
    #[cfg(feature = "serve")]
    ("serve", 2, &["--proxies", "0"]),
    ("completions", 0, &["bash"]),
    ("completions", 1, &["bash", "FULL"]),
    ("completions", 2, &["bush"]),
    ("man", 0, &[]),
    ("man", 1, &["FULL"]),
    ("man", 1, &["--dir", "access.log/man1"]),
    ("man", 2, &["none"]),
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("bad.toml", "[limiters.a]\npolicy = \"gcra\"\n");
    folder.file("empty.log", "");
    let cut = super::gzip(&LOG.repeat(100));
    folder.file("cut.gz", &cut[..cut.len() - 20]);
    let backwards: String =
        (0..20).rev().map(|hour| LOG.replace(":10:05", &format!(":{hour:02}:05"))).collect();
    folder.file("late.log", backwards);
    folder
}

fn status(folder: &Folder, command: &str, args: Args) -> Option<i32> {
    let command = Some(command).filter(|command| !command.is_empty());
    let is_full = args.last() == Some(&"FULL");
    let args = args.iter().filter(|arg| **arg != "FULL");
    let output = if is_full {
        Stdio::from(File::options().write(true).open("/dev/full").unwrap())
    } else {
        Stdio::null()
    };
    let mut sluicegate = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
    sluicegate.current_dir(folder.0.path()).args(command).args(args);
    sluicegate.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).status().unwrap().code()
}

/// Returns the statuses with their meanings that the help of a command lists.
fn listed(command: &str) -> BTreeMap<u8, String> {
    let command = Some(command).filter(|command| !command.is_empty());
    let help = stdout(&sluicegate().args(command).arg("--help").assert().success());
    let (_, list) = help.split_once("Exit status:\n").unwrap_or_else(|| panic!("{help}"));
    let mut statuses = BTreeMap::new();
    for line in list.lines() {
        if let Some((code, meaning)) = line.trim().split_once("  ") {
            assert_eq!(statuses.insert(code.parse().unwrap(), meaning.to_owned()), None);
        } else {
            // A longer one goes on in the next line.
            statuses.last_entry().unwrap().get_mut().extend([" ", line.trim()]);
        }
    }
    statuses
}

#[cfg(target_os = "linux")]
#[test]
fn each_status_that_is_listed_is_produced_and_no_other() {
    let folder = folder();
    let mut produced = BTreeMap::<_, Vec<_>>::new();
    // A service ends with 0 when a signal says so, which the tests of `serve` send.
    #[cfg(feature = "serve")]
    produced.insert("serve", vec![0]);
    for (command, code, args) in CASES {
        assert_eq!(status(&folder, command, args), Some(i32::from(*code)), "{command} {args:?}");
        produced.entry(command).or_default().push(*code);
    }
    for (command, mut codes) in produced {
        codes.dedup();
        assert_eq!(listed(command).into_keys().collect::<Vec<_>>(), codes, "{command}");
    }
}

#[cfg(not(feature = "serve"))]
#[test]
fn a_build_without_the_service_tells_how_to_get_it() {
    let asked = sluicegate().args(["serve", "--policy", "policy.toml", "-l", "[::1]:80"]).assert();
    let told = stderr(&asked.code(2));
    assert!(told.contains("cargo run --release --features serve -- serve"), "{told}");
}

#[test]
fn the_manual_lists_the_statuses_that_the_help_lists() {
    for command in
        ["", "replay", "suggest", "policy", "check", "explain", "serve", "completions", "man"]
    {
        let page = Some(command).filter(|command| !command.is_empty());
        let page = stdout(&sluicegate().arg("man").args(page).assert().success());
        let (_, list) =
            page.split_once(".SH \"EXIT STATUS\"\n").unwrap_or_else(|| panic!("{page}"));
        let list = list.replace('\\', "");
        for (code, meaning) in listed(command) {
            assert!(list.contains(&format!(".TP\n{code}\n{meaning}\n")), "{command}: {list}");
        }
    }
}

#[test]
fn the_page_on_policies_lists_the_statuses_that_the_help_lists() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("\n| status | ").unwrap();
    let mut rows = table.lines().map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    // The first row begins behind the name of its first column.
    let head = rows.next().unwrap();
    let columns: Vec<Vec<&str>> =
        head.iter().map(|column| column.split('`').skip(1).step_by(2).collect()).collect();
    let mut found: BTreeMap<&str, BTreeMap<u8, String>> = BTreeMap::new();
    for row in rows.skip(1).take_while(|row| row.len() > 1) {
        for (commands, meaning) in
            columns.iter().zip(&row[2..]).filter(|(_, text)| !text.is_empty())
        {
            for command in commands {
                found
                    .entry(command)
                    .or_default()
                    .insert(row[1].parse().unwrap(), (*meaning).to_owned());
            }
        }
    }
    assert_eq!(found.len(), 7);
    for (command, statuses) in found {
        assert_eq!(statuses, listed(command), "{command}");
    }
}
