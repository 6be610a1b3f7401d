//! Replays that delay instead of denying.

use super::{Folder, LOG, json, stderr, stdout};

#[test]
fn shaped_lines_wait_instead_of_being_denied() {
    let folder = Folder::new();
    folder.file(
        "policy.toml",
        r#"
[[limiter]]
name = "two each"
key = "client"
policy = "token_bucket"
limit = 2
rate = { amount = 1, interval = "1 hour" }
max_keys = 1

[[limiter]]
name = "by size"
key = "all"
policy = "token_bucket"
limit = 2
rate = { amount = 1, interval = "1 second" }
cost = "bytes"
"#,
    );
    folder.file("access.log", LOG.replacen("200 1\n", "200 3\n", 1));
    let args = ["--json", "--as-stamped", "--shape", "--shape-within", "59m 58s", "access.log"];
    let mut report = json(&folder.replay(&args, "").success());
    assert_eq!(
        report["limiters"].take(),
        json!([
            {
                "name": "two each",
                "keys": 2,
                "allowed": 6,
                "denied": 0,
                "top_denied": [],
                // Of client a, which begins at 10:05:03, the third line is of 10:05:05, and the
                // fourth of a second later.
                "waits": {
                    "delayed": 2,
                    "p50_nanos": 0,
                    "p90_nanos": 7_197_000_000_000_u64,
                    "p99_nanos": 7_197_000_000_000_u64,
                    "max_nanos": 7_197_000_000_000_u64,
                    "longer": 1,
                },
                "top_delayed": [
                    { "key": "a", "delayed": 2, "allowed": 4, "max_nanos": 7_197_000_000_000_u64, "first_seen": "2015-05-17T10:05:03Z", "last_seen": "2015-05-17T10:05:06Z" },
                ],
            },
            {
                "name": "by size",
                "keys": 1,
                "allowed": 5,
                "denied": 1,
                "top_denied": [{ "key": "all", "denied": 1, "allowed": 5, "first_seen": "2015-05-17T10:05:03Z", "last_seen": "2015-05-17T10:05:06Z" }],
                // Five permits from 10:05:04 on: two at once, then one each second.
                "waits": {
                    "delayed": 1,
                    "p50_nanos": 0,
                    "p90_nanos": 1_000_000_000,
                    "p99_nanos": 1_000_000_000,
                    "max_nanos": 1_000_000_000,
                    "longer": 0,
                },
                "top_delayed": [
                    { "key": "all", "delayed": 1, "allowed": 5, "max_nanos": 1_000_000_000, "first_seen": "2015-05-17T10:05:03Z", "last_seen": "2015-05-17T10:05:06Z" },
                ],
            },
        ])
    );
}

#[test]
fn the_report_for_people_shows_the_waits() {
    let folder = Folder::new();
    let report = stdout(&folder.replay(&["--shape", "access.log"], "").success());
    for text in [
        "\nwaits, each key has a queue\n",
        "  limiter       delayed  delayed %  p50  p90  p99  longest",
        "  two each            2       33.3   0s   2h   2h       2h\n",
        "\nmost delayed, seen in UTC\n",
        "  two each      a          2   4       50.0       2h    10:05:03   10:05:06\n",
        "\n  nothing was denied\n",
    ] {
        assert!(report.contains(text), "no {text:?} in\n{report}");
    }
    let args = ["--shape", "--shape-within", "90 min", "access.log"];
    let report = stdout(&folder.replay(&args, "").success());
    assert!(report.contains("  over 1h 30m"), "{report}");
    let plain = stdout(&folder.replay(&["access.log"], "").success());
    assert!(!plain.contains("waits") && !plain.contains("delayed"), "{plain}");
}

#[test]
fn a_bound_of_the_waits_is_a_time_and_needs_a_shape() {
    let folder = Folder::new();
    for args in [&["--shape-within", "2s"][..], &["--shape", "--shape-within", "soon"]] {
        let failed = folder.replay(args, "").failure().code(2);
        assert!(stderr(&failed).contains("--shape"), "{}", stderr(&failed));
    }
}
