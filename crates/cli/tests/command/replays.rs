//! Replays as a program: sources, output on each stream, and exit status.

use std::process::{self, Stdio};

use serde_json::Value;

use super::{Folder, LOG, POLICY, gzip, json, sluicegate, stderr, stdout};

#[test]
fn json_is_one_object_with_fixed_names() {
    let replay = Folder::new().replay(&["--json", "access.log"], "").success();
    assert_eq!(stdout(&replay).matches('\n').count(), 1);
    let mostly = r#""mostly":{"agent":"-","agents":1,"path":"/","paths":1}"#;
    assert!(stdout(&replay).contains(r#""keys_hit":1"#), "{}", stdout(&replay));
    assert!(stdout(&replay).contains(mostly), "{}", stdout(&replay));
    assert_eq!(
        json(&replay),
        json!({
            "lines": 6,
            "skipped": 0,
            "late": 1,
            "misplaced": 0,
            "outliers": 0,
            "stamps": { "resolution_nanos": 1_000_000_000, "spread": true },
            "limiters": [
                {
                    "name": "two each",
                    "keys": 2,
                    "allowed": 4,
                    "denied": 2,
                    "top_denied": [{ "key": "a", "denied": 2, "allowed": 2, "first_seen": "2015-05-17T10:05:03Z", "last_seen": "2015-05-17T10:05:06Z" }],
                },
                {
                    "name": "three in all",
                    "keys": 1,
                    "allowed": 3,
                    "denied": 3,
                    "top_denied": [{ "key": "all", "denied": 3, "allowed": 3, "first_seen": "2015-05-17T10:05:03Z", "last_seen": "2015-05-17T10:05:06Z" }],
                },
            ],
        })
    );
    assert_eq!(stderr(&replay), "");
}

#[test]
fn limiters_of_several_parts_say_which_of_them_denied() {
    let folder = Folder::new();
    folder.file(
        "policy.toml",
        r#"
[[limiter]]
name = "windows"
key = "client"
policy = "multi_window"
limits = [{ limit = 2, interval = "1 second" }, { limit = 3, interval = "1 hour" }]

[[limiter]]
name = "kinds"
key = "all"
policy = "all"
of = [
    { policy = "token_bucket", limit = 4, rate = { amount = 1, interval = "1 hour" } },
    { policy = "fixed_window", limit = 1, interval = "1 second" },
]
"#,
    );
    let limiters = &json(&folder.replay(&["--json", "access.log"], "").success())["limiters"];
    assert_eq!((&limiters[0]["denied"], &limiters[1]["denied"]), (&json!(1), &json!(2)));
    assert_eq!(
        limiters[0]["denied_by"],
        json!([{ "part": "2 in any 1s", "denied": 0 }, { "part": "3 in any 1h", "denied": 1 }])
    );
    assert_eq!(
        limiters[1]["denied_by"],
        json!([
            { "part": "token bucket: 4, then 1 per 1h", "denied": 1 },
            { "part": "fixed window: 1 per 1s, starting at the first request", "denied": 1 },
        ])
    );
    let report = stdout(&folder.replay(&["access.log"], "").success());
    assert!(report.contains("\nlimiters of several parts\n"), "{report}");
    assert!(
        report.contains("  fixed window: 1 per 1s, starting at the first request       1"),
        "{report}"
    );
}

#[test]
fn stores_that_the_policy_chose_are_in_both_reports() {
    let folder = Folder::new();
    let (first, second) = POLICY.split_once("\n\n").unwrap();
    let table = "store = \"table\"\nmemory = \"1 KiB\"\nwhen_full = \"admit\"";
    folder.file("policy.toml", format!("{first}\n{table}\n{second}max_keys = 9"));
    let args = ["access.log"];

    let limiters = json(&folder.replay(&["--json", args[0]], "").success())["limiters"].take();
    let expected = json!({
        "name": "two each",
        "keys": 2,
        "allowed": 4,
        "denied": 2,
        "top_denied": [{ "key": "a", "denied": 2, "allowed": 2, "first_seen": "2015-05-17T10:05:03Z", "last_seen": "2015-05-17T10:05:06Z" }],
        "store": "table",
        "memory_bytes": 1024,
        "occupancy": { "places": 128, "live": 2, "expired": 0 },
        "full": 0,
    });
    assert_eq!(limiters[0], expected);
    let store = ["store", "max_keys", "known", "full"].map(|field| &limiters[1][field]);
    assert_eq!(store, [&json!("exact"), &json!(9), &json!(1), &json!(0)]);

    let report = stdout(&folder.replay(&args, "").success());
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let stores: Vec<String> = report
        .lines()
        .skip_while(|line| *line != "stores")
        .take_while(|line| !line.is_empty())
        .map(words)
        .collect();
    assert_eq!(
        stores,
        [
            "stores",
            "limiter store memory holds no room then",
            "two each table 1.00 KiB 2 of 128 0 admitted",
            "three in all exact 9 keys 1 at most 0 denied",
        ]
    );
}

#[test]
fn a_replay_through_a_full_table_says_the_same_again() {
    let folder = Folder::new();
    let table = "key = \"client\"\nstore = \"table\"\nmemory = \"128 B\"";
    folder.file("policy.toml", POLICY.replace("key = \"client\"", table));
    let log: String = (0..40).map(|client| LOG.replace("a -", &format!("a{client} -"))).collect();
    let replay = || json(&folder.replay(&["--json"], log.clone()).success());
    let first = replay();
    assert!(first["limiters"][0]["full"].as_u64() > Some(0));
    assert_eq!(first, replay());
}

#[test]
fn top_limits_the_keys_that_are_listed_and_0_does_not() {
    let folder = Folder::new();
    let log: String = (0..13)
        .map(|client| LOG.lines().next().unwrap().replacen('a', &format!("c{client:02}"), 1) + "\n")
        .collect();
    folder.file("many.log", log.repeat(3));
    for (args, listed) in [(&[] as &[&str], 10), (&["--top", "0"], 13), (&["--top", "2"], 2)] {
        let replay = folder.replay(&[args, &["--json", "many.log"]].concat(), "").success();
        let top = json(&replay)["limiters"][0]["top_denied"].as_array().unwrap().clone();
        assert_eq!(top.len(), listed);
        assert_eq!((&top[1]["key"], &top[1]["denied"]), (&json!("c01"), &json!(1)));
    }
}

#[test]
fn standard_input_files_and_gzip_are_read_alike() {
    let folder = Folder::new();
    folder.file("packed", gzip(LOG));
    let expected = json(&folder.replay(&["--json", "access.log"], "").success());
    assert_eq!(json(&folder.replay(&["--json"], LOG).success()), expected);
    assert_eq!(json(&folder.replay(&["--json", "-"], gzip(LOG)).success()), expected);
    assert_eq!(json(&folder.replay(&["--json", "packed"], "").success()), expected);

    let (first, second) = LOG.split_at(LOG.len() / 2);
    let (second, rest) = (second.split_once('\n').unwrap().1, second.split_once('\n').unwrap().0);
    let first = folder.file("first.log", format!("{first}{rest}\n"));
    let args = ["--json", first.to_str().unwrap(), "-"];
    assert_eq!(json(&folder.replay(&args, second).success()), expected);
}

#[test]
fn a_file_that_cannot_be_read_is_status_1_with_its_name() {
    let folder = Folder::new();
    let missing = folder.replay(&["no.log"], "").code(1);
    assert!(stderr(&missing).starts_with("error: no.log: No such file"), "{}", stderr(&missing));
    assert_eq!(stdout(&missing), "");

    let mut cut = gzip(&LOG.repeat(100));
    cut.truncate(cut.len() - 20);
    folder.file("cut.gz", cut);
    let cut = folder.replay(&["cut.gz"], "").code(1);
    assert!(stderr(&cut).contains("error: cut.gz: "), "{}", stderr(&cut));
    assert!(stdout(&cut).contains("limiters"), "what was read is reported: {}", stdout(&cut));

    let no_policy = sluicegate().args(["replay", "--policy", "no.toml"]).assert().code(1);
    assert!(stderr(&no_policy).starts_with("error: no.toml: "), "{}", stderr(&no_policy));
}

#[test]
fn without_arguments_the_bundled_log_is_replayed() {
    let report = stdout(&sluicegate().assert().success());
    for part in [
        "asked    what would the bundled policy have denied of the bundled sample?",
        "of 39 clients it would have refused",
        "looks like a scanner",
        "0 skipped",
        "\nlimiters",
        "\nnext     your own log: sluicegate suggest",
    ] {
        assert!(report.contains(part), "{part}:\n{report}");
    }
    assert!(report.lines().count() <= 36, "more than a screen:\n{report}");
    assert!(!report.contains('\x1b'), "colours in a pipe");
    let widest = report.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?} columns:\n{report}");
}

#[test]
fn long_and_hostile_keys_do_not_break_the_report() {
    let folder = Folder::new();
    let long = "\u{fc}\u{1b}[31m/".repeat(200);
    folder.file("policy.toml", POLICY.replace("two each", &"long name ".repeat(20)));
    let report = stdout(&folder.replay(&[], LOG.replace("a -", &format!("{long} -"))).success());
    assert!(!report.contains('\x1b'));
    let widest = report.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?} columns:\n{report}");
}

#[test]
fn an_empty_log_has_a_report_too() {
    let report = stdout(&Folder::new().replay(&[], "").code(3));
    assert!(report.contains("no line was judged"), "{report}");
    assert!(report.contains("0 judged, 0 skipped, 0 late"), "{report}");
    assert!(report.contains("nothing was denied"), "{report}");
}

#[test]
fn the_bundled_policy_can_be_printed_and_used() {
    let folder = Folder::new();
    let policy = stdout(&sluicegate().arg("policy").assert().success());
    folder.file("policy.toml", &policy);
    let copied = json(&folder.replay(&["--sample", "--json"], "").success());
    let bundled = json(&sluicegate().args(["replay", "--sample", "--json"]).assert().success());
    assert_eq!(copied, bundled);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [&[] as &[&str], &["replay", "--sample", "--json"], &["policy"]] {
        let mut child = process::Command::new(env!("CARGO_BIN_EXE_sluicegate"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

/// `cargo run` in a clone asks for no `--bin`.
#[test]
fn the_command_is_the_only_program_that_cargo_builds_by_default() {
    let metadata = process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let of_default = metadata["workspace_default_members"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let targets = packages
        .iter()
        .filter(|package| of_default.contains(&package["id"]))
        .flat_map(|package| package["targets"].as_array().unwrap());
    let programs: Vec<&Value> = targets
        .filter(|target| target["kind"] == json!(["bin"]))
        .map(|target| &target["name"])
        .collect();
    assert_eq!(programs, ["sluicegate"]);
}
