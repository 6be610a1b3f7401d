//! Mistakes of somebody who uses the command for the first time.

use std::process::Command;

use super::{Folder, LOG, json, sluicegate, stderr, stdout};

/// Runs the command in the folder, and returns what it says on standard error.
fn said(folder: &Folder, args: &[&str], code: i32) -> String {
    let run = sluicegate().current_dir(folder.0.path()).args(args).write_stdin("").assert();
    stderr(&run.code(code))
}

#[test]
fn names_that_are_misspelt_are_answered_with_the_nearest() {
    let folder = Folder::new();
    for (args, nearest) in [
        (&["chekc", "policy.toml"][..], "'check'"),
        (&["replay", "--jsn", "access.log"], "'--json'"),
        (
            &["suggest", "--kind", "slidingwindow", "--interval", "1m", "access.log"],
            "'sliding_window'",
        ),
        (&["suggest", "--of", "request", "access.log"], "'requests'"),
        (&["suggest", "--kind", "gcra", "--interval", "1m", "--key", "clinet", "x"], "`client`"),
        (&["check", "--policy-format", "ymal", "policy.toml"], "'yaml'"),
    ] {
        let said = said(&folder, args, 2);
        assert!(said.contains(nearest), "{args:?}: {said}");
        assert!(!said.contains("To replay a log"), "{args:?}: {said}");
    }
}

#[test]
fn a_log_in_another_format_is_answered_with_the_option() {
    let folder = Folder::new();
    folder.file("own.log", "a;2015-05-17T10:05:03Z\n".repeat(20));
    for command in ["replay", "suggest"] {
        let help = "help: if the log is in another format, name it by --format";
        assert!(said(&folder, &[command, "own.log"], 3).contains(help));
        let read =
            said(&folder, &[command, "--format", "$remote_addr;$time_iso8601", "own.log"], 0);
        assert!(!read.contains(help), "{read}");
        // Lines are skipped in a log that is in the format.
        folder.file("some.log", format!("{LOG}junk\n"));
        let some = said(&folder, &[command, "some.log"], 0);
        assert!(some.contains("skipped some.log:7") && !some.contains(help), "{some}");
    }
}

#[test]
fn a_log_without_a_known_time_is_answered_with_the_option_and_its_names() {
    let folder = Folder::new();
    let line = r#"{"ip":"192.0.2.7","status":200,"requestTime":"17/May/2015:10:05:03 +0000"}"#;
    folder.file("own.log", format!("{line}\n").repeat(20));
    for command in ["replay", "suggest"] {
        let help = "help: `--fields time=NAME` says which field has it; the log has `requestTime`, `ip`, `status`";
        let answer = said(&folder, &[command, "own.log"], 3);
        assert!(answer.contains(help), "{answer}");
        let fields = ["--fields", "time=requestTime,client=ip", "own.log"];
        let read = said(&folder, &[&[command][..], &fields].concat(), 0);
        assert!(!read.contains("help: "), "{read}");
    }
}

#[test]
fn a_policy_in_the_place_of_a_log_is_answered_with_the_option() {
    let folder = Folder::new();
    folder.file("limits.YML", "x");
    for command in ["replay", "suggest"] {
        for policy in ["policy.toml", "limits.YML"] {
            let said = said(&folder, &[command, "access.log", policy], 2);
            assert!(said.contains(&format!("given by `--policy {policy}`")), "{said}");
        }
    }
}

#[test]
fn a_size_that_is_none_is_answered_with_an_example() {
    let folder = Folder::new();
    for command in ["replay", "suggest"] {
        let said = said(&folder, &[command, "--max-memory", "much", "access.log"], 2);
        assert!(said.contains("not a size; write, for example, `512 MiB`"), "{said}");
    }
}

#[test]
fn lines_that_are_not_in_order_within_a_minute_are_told() {
    let folder = Folder::new();
    let line = |second: u32| {
        LOG.lines().next().unwrap().replace("10:05:03", &format!("10:05:{second:02}"))
    };
    let log: String = (0..40).map(|n| line(59 - n) + "\n").collect();
    folder.file("shuffled.log", log);
    let mut replay = sluicegate();
    replay.current_dir(folder.0.path()).args(["replay", "--json", "shuffled.log"]);
    let replay = replay.assert().success();
    assert_eq!(json(&replay)["late"], 39);
    assert!(
        stderr(&replay).contains("39 of 40 lines are up to a minute older"),
        "{}",
        stderr(&replay)
    );
    assert!(
        !said(&folder, &["replay", "--json", "access.log"], 0).contains("up to a minute older")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_not_searched() {
    let folder = Folder::new();
    let fifo = folder.0.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for log in ["fifo", "/dev/zero"] {
        assert!(said(&folder, &["suggest", log], 2).contains("can be read only once"));
    }
}

#[test]
fn known_crawlers_are_named() {
    let folder = Folder::new();
    let line = "66.249.64.5 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"Googlebot/2.1\"\n";
    folder.file("access.log", line.repeat(9));
    folder.file("googlebot.json", r#"{"prefixes": [{"ipv4Prefix": "66.249.64.0/27"}]}"#);
    let args = [
        "replay",
        "--policy",
        "policy.toml",
        "--crawlers",
        "googlebot.json",
        "--html",
        "r.html",
        "access.log",
    ];
    let printed = |args: &[&str]| {
        stdout(&sluicegate().current_dir(folder.0.path()).args(args).assert().success())
    };
    let text = printed(&args);
    assert!(text.contains("googlebot: /a"), "{text}");
    let page = std::fs::read_to_string(folder.0.path().join("r.html")).unwrap();
    assert!(page.contains("mostly googlebot: /a, Googlebot/2.1"), "{page}");
    let args = [
        "suggest",
        "--policy",
        "policy.toml",
        "--json",
        "--crawlers",
        "googlebot.json",
        "--at-least",
        "0",
        "access.log",
    ];
    let text = printed(&args);
    assert!(text.contains("\"network\":\"googlebot\""), "{text}");
    folder.file("bad.txt", "google 66.249.64.0/99\n");
    let args = ["replay", "--policy", "policy.toml", "--crawlers", "bad.txt", "access.log"];
    let text = said(&folder, &args, 2);
    assert!(text.contains("bad.txt:1: `66.249.64.0/99` is not a network"), "{text}");
}
