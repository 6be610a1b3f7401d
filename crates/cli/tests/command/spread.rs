//! Lines that have the same whole second.

use std::fmt::Write;

use super::{Folder, json, stderr, stdout};

/// Limits of exactly ten a second.
const EXACT: &str = r#"
[[limiter]]
name = "multi window"
key = "all"
policy = "multi_window"
limits = [{ limit = 10, interval = "1 s" }]

[[limiter]]
name = "sliding log"
key = "all"
policy = "sliding_log"
limit = 10
interval = "1 s"

[[limiter]]
name = "min interval"
key = "all"
policy = "leaky_bucket"
mode = "min_interval"
interval = "100 ms"

[[limiter]]
name = "bucket of one"
key = "all"
policy = "token_bucket"
limit = 1
rate = { amount = 10, interval = "1 s" }

[[limiter]]
name = "a minute"
key = "all"
policy = "sliding_log"
limit = 600
interval = "1 minute"
"#;

/// Returns ten lines for each of so many seconds.
fn steady(seconds: usize) -> String {
    steady_at(10, seconds)
}

/// Returns so many lines for each of so many seconds.
fn steady_at(rate: usize, seconds: usize) -> String {
    let mut log = String::new();
    for line in 0..seconds * rate {
        let (minute, second) = (line / rate / 60, line / rate % 60);
        writeln!(
            log,
            "a - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 1"
        )
        .unwrap();
    }
    log
}

#[test]
fn a_steady_rate_is_within_limits_of_that_rate() {
    let folder = Folder::new();
    folder.file("policy.toml", EXACT);
    let found = json(&folder.replay(&["--json"], steady(120)).success());
    let denied: Vec<_> =
        found["limiters"].as_array().unwrap().iter().map(|l| &l["denied"]).collect();
    // The multi window counts a line for up to a slot more than its second: when the first of ten lines is
    // a second old it still counts, and one in eleven is denied. So the report says.
    assert_eq!(denied, [&json!(109), &json!(0), &json!(0), &json!(0), &json!(0)]);
    let report = stdout(&folder.replay(&[], steady(120)).success());
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        report.contains(
            "multi window Counts requests for up to a slot (16.7ms) too long: of a steady rate of \
             exactly 10 per 1s, it denies up to 1 in 11."
        ),
        "{report}"
    );
}

/// A third of a second has no whole number of nanoseconds. Lines that were 333,333,333 ns apart would come
/// too early for a limit of three a second.
#[test]
fn a_steady_rate_that_divides_no_second_is_within_limits_of_that_rate() {
    let folder = Folder::new();
    for rate in [3, 7, 30, 97, 499] {
        folder.file(
            "policy.toml",
            format!(
                "
[limiters.bucket]
policy = \"token_bucket\"
limit = 1
rate = {{ amount = {rate}, interval = \"1 s\" }}

[limiters.meter]
policy = \"leaky_bucket\"
mode = \"meter\"
limit = 1
rate = {{ amount = {rate}, interval = \"1 s\" }}

[limiters.distance]
policy = \"leaky_bucket\"
mode = \"min_interval\"
rate = {{ amount = {rate}, interval = \"1 s\" }}

[limiters.log]
policy = \"sliding_log\"
limit = {rate}
interval = \"1 s\"

[limiters.second]
policy = \"fixed_window\"
limit = {rate}
interval = \"1 s\"
start = \"epoch\"

[limiters.first]
policy = \"fixed_window\"
limit = {rate}
interval = \"1 s\"
"
            ),
        );
        let found = json(&folder.replay(&["--json"], steady_at(rate, 60)).success());
        for limiter in found["limiters"].as_array().unwrap() {
            assert_eq!(limiter["denied"], json!(0), "{rate} a second: {limiter}");
        }
    }
}

#[test]
fn as_stamped_all_lines_come_at_the_beginning_of_their_second() {
    let folder = Folder::new();
    folder.file("policy.toml", EXACT);
    let plain = json(&folder.replay(&["--json"], steady(10)).success());
    let stamped = json(&folder.replay(&["--json", "--as-stamped"], steady(10)).success());
    assert_eq!(stamped["stamps"]["spread"], json!(false));
    assert_eq!(stamped["limiters"][2]["denied"], json!(90));
    for limiter in 0..5 {
        let [plain, stamped] = [&plain, &stamped].map(|found| &found["limiters"][limiter]);
        assert_eq!(stamped.get("as_stamped"), None);
        // Both figures are told of limiters of a few seconds.
        let both = (limiter < 4)
            .then(|| json!({ "allowed": stamped["allowed"], "denied": stamped["denied"] }));
        assert_eq!(plain.get("as_stamped"), both.as_ref());
    }
}

#[test]
fn the_report_says_how_stamps_were_taken() {
    let folder = Folder::new();
    folder.file("policy.toml", EXACT);
    let report = stdout(&folder.replay(&[], steady(10)).success());
    assert!(report.contains("lines are spread evenly over their 1 s"), "{report}");
    assert!(report.contains("\nlimiters of a few seconds"), "{report}");
    let report = stdout(&folder.replay(&["--as-stamped"], steady(10)).success());
    assert!(report.contains("all lines come at the beginning"), "{report}");
    assert!(!report.contains("\nlimiters of a few seconds"), "{report}");
}

#[test]
fn a_second_with_very_many_lines_is_judged_in_bounded_memory() {
    let folder = Folder::new();
    let line = "a - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n";
    // More than are kept at a time.
    let lines = (1 << 18) + 1_000;
    let replay = folder.replay(&["--json"], line.repeat(lines)).success();
    assert_eq!(json(&replay)["lines"], json!(lines));
    assert_eq!(stderr(&replay), "");
}
