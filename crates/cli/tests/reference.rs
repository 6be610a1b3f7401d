//! The command reports, for every limiter and key, exactly what the definitions
//! give: it is compared with the same replay in rational numbers.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use assert_cmd::Command;
use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::Value;
use sluicegate_replay::log::Source;
use sluicegate_replay::policy::Policy;

use crate::support::{random_policies, reference};

/// The fields of the report that are about a store.
const STORE: [&str; 6] = ["store", "max_keys", "known", "memory_bytes", "occupancy", "full"];

/// Compares the command with the definitions. Those know nothing of stores but which keys an exact one
/// has no space for.
fn assert_exact(policy: &str, logs: &[&str]) {
    for as_stamped in ways() {
        let (denied, _) = assert_exact_in(policy, logs, as_stamped);
        assert!(
            denied.iter().all(|denied| *denied > 0),
            "a limiter was not put to the test: {denied:?}"
        );
    }
}

/// Returns the two ways to read stamps, or if `FULL_TESTS` is not set one of them, the other the next day.
fn ways() -> Vec<bool> {
    let today = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / 86_400;
    let is_full = std::env::var_os("FULL_TESTS").is_some();
    if is_full { vec![false, true] } else { vec![today.is_multiple_of(2)] }
}

/// Does the same in one way. Returns how many requests each limiter denied, and how many had keys without
/// space.
fn assert_exact_in(policy: &str, logs: &[&str], as_stamped: bool) -> (Vec<u64>, u64) {
    // An absolute path stays as it is.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let policy = root.join(policy);
    let logs: Vec<_> = logs.iter().map(|log| root.join(log)).collect();

    let output = Command::new(env!("CARGO_BIN_EXE_sluicegate"))
        .args(["replay", "--json", "--top", "0", "--policy"])
        .args([&policy])
        .args(as_stamped.then_some("--as-stamped"))
        .args(&logs)
        .assert()
        .success();
    let mut found: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let mut found_full = Vec::new();
    for limiter in found["limiters"].as_array_mut().unwrap() {
        let fields = limiter.as_object_mut().unwrap();
        found_full.push(fields.get("full").map_or(0, |full| full.as_u64().unwrap()));
        fields.retain(|name, _| !STORE.contains(&name.as_str()) && name != "as_stamped");
        // The reference does not look at the requests that a key was denied.
        for key in fields["top_denied"].as_array_mut().unwrap() {
            key.as_object_mut().unwrap().remove("mostly");
        }
    }

    let open = |log: &PathBuf| Source::File(log.clone()).open(&ProgressBar::hidden()).unwrap();
    let logs = logs.iter().map(open).collect();
    let policy = Policy::parse("policy", &fs::read_to_string(policy).unwrap()).unwrap();
    let (expected, full) = reference::replay(&policy, logs, as_stamped).unwrap();
    assert_eq!(found_full, full, "requests of keys without space");
    let denied = expected.limiters.iter().map(|limiter| limiter.denied).collect();
    found.as_object_mut().unwrap().remove("warnings");
    let expected = serde_json::to_value(&expected).unwrap();
    let limiters = |report: &Value| report["limiters"].as_array().unwrap().clone();
    for (found, expected) in limiters(&found).iter().zip(limiters(&expected)) {
        assert_eq!(*found, expected, "{}", expected["name"]);
    }
    assert_eq!(found, expected);
    (denied, full.iter().sum())
}

#[test]
fn the_bundled_policy_is_exact_on_the_bundled_log() {
    assert_exact("../replay/sample/policy.toml", &["../replay/sample/access.log.gz"]);
}

#[test]
fn awkward_numbers_are_exact_on_the_beginning_of_the_bundled_log() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../replay/sample/access.log.gz");
    let lines = BufReader::new(MultiGzDecoder::new(fs::File::open(sample).unwrap())).lines();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let beginning = lines.take(7_500).map(|line| line.unwrap() + "\n");
    fs::write(&log, beginning.collect::<String>()).unwrap();
    assert_exact("tests/policies/awkward.toml", &[log.to_str().unwrap()]);
}

#[test]
fn awkward_numbers_are_exact_on_a_log_that_is_out_of_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    fs::write(&log, (0..6000).map(scrambled_line).collect::<String>()).unwrap();
    assert_exact("tests/policies/awkward.toml", &[log.to_str().unwrap()]);
}

#[test]
fn expressions_filters_and_costs_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    fs::write(&log, (0..6000).map(line_of_many_clients).collect::<String>()).unwrap();
    assert_exact("tests/policies/requests.toml", &[log.to_str().unwrap()]);
}

/// Returns one of some lines, 20 a second, with fields of many forms.
fn line_of_many_clients(number: i64) -> String {
    let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64).rotate_left(29);
    let pick = |below: i64, shift: u32| (noise >> shift).rem_euclid(below);
    let client = match pick(7, 3) {
        0 | 1 => format!("10.0.0.{}", pick(12, 9)),
        2 => format!("::ffff:10.0.0.{}", pick(12, 9)),
        3 => format!("2001:DB8:{:x}00::{:x}", pick(200, 9), pick(9, 13)),
        4 => format!("2001:db8::{:x}", pick(9, 13)),
        5 => format!("host{}.example", pick(3, 9)),
        _ => "192.0.2.1:80".to_owned(),
    };
    let user = ["-", "ada", "bob"][pick(3, 17) as usize];
    let path = [
        "/1",
        "/2",
        "/users/me",
        "/users/7",
        "/users/8/posts/1",
        "/users/",
        "/",
        "//x/y/z/",
        "/users/me/x",
    ][pick(9, 21) as usize];
    let referer = ["-", "http://a/", "1.5", "7", "2.0001", "", "1x"][pick(7, 25) as usize];
    let agent = ["-", "agent 1", "Agent 2", "Kube-Probe/1"][pick(4, 29) as usize];
    format!(
        "{client} - {user} [01/Mar/2025:10:{:02}:{:02} +0000] \"{} {path}?q=1 HTTP/1.1\" {} {} \"{referer}\" \"{agent}\"\n",
        number / 1200,
        number / 20 % 60,
        ["GET", "POST"][pick(2, 33) as usize],
        ["200", "304", "404", "500", "-"][pick(5, 37) as usize],
        pick(9_000, 41),
    )
}

#[test]
fn logs_that_overlap_are_exact_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let logs: Vec<PathBuf> = (0..3)
        .map(|log| {
            let path = folder.path().join(format!("access.log.{log}"));
            let lines = (0..6000)
                .filter(|number| (number / 2000 + number % 7) % 3 == log || number % 11 == log);
            fs::write(&path, lines.map(scrambled_line).collect::<String>()).unwrap();
            path
        })
        .collect();
    let [one, two, three] = [&logs[0], &logs[1], &logs[2]].map(|log| log.to_str().unwrap());
    assert_exact("tests/policies/awkward.toml", &[one, two, three]);
    assert_exact_in("tests/policies/awkward.toml", &[three, one, two], false);
}

/// Returns one of two thousand lines around each of some moments, eight per second, each up to
/// 40 s early or late and in some time zone.
fn scrambled_line(number: i64) -> String {
    // Clocks go forward in Berlin, back by half an hour on Lord Howe Island; a month
    // and a Sunday begin in New York, on the day on which clocks go back there.
    let moments = ["2015-03-29T01:00:00Z", "2015-04-04T15:00:00Z", "2015-11-01T04:00:00Z"];
    let moment: Timestamp = moments[(number / 2000) as usize].parse().unwrap();
    let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64).rotate_left(29);
    let pick = |below: i64, shift: u32| (noise >> shift).rem_euclid(below);
    let second = number % 2000 / 8 - 125 + pick(81, 3) - 40;
    let time = Timestamp::from_second(moment.as_second() + second).unwrap();
    let zone = Offset::from_hours(pick(25, 11) as i8 - 12).unwrap().to_time_zone();
    format!(
        "10.0.0.{} - - [{}] \"{} /{} HTTP/1.1\" {} {} \"-\" \"agent {}\"\n",
        pick(5, 17),
        time.to_zoned(zone).strftime("%d/%b/%Y:%H:%M:%S %z"),
        ["GET", "POST"][pick(2, 23) as usize],
        pick(30, 29),
        [200, 304, 404, 500][pick(4, 37) as usize],
        pick(90_000, 41),
        pick(3, 47),
    )
}

/// The variable with the number of random policies; a few if it is not set. `ci/random_policies.sh` sets
/// it.
const POLICIES: &str = "RANDOM_POLICIES";

/// Random policies after which one is replayed on the bundled log too.
const BUNDLED_EACH: u64 = 20;

#[test]
fn random_policies_are_exact_on_random_logs() {
    let asked = std::env::var(POLICIES).ok().map(|policies| policies.parse().unwrap());
    let (policies, lines) = asked.map_or((30, 500), |policies| (policies, 2500));
    let folder = tempfile::tempdir().unwrap();
    let [policy, log] = ["policy.toml", "access.log"].map(|name| folder.path().join(name));
    let [policy, log] = [&policy, &log].map(|path| path.to_str().unwrap());
    let (mut denied, mut full) = (0, 0);
    let mut kinds = BTreeMap::new();
    for seed in 0..policies {
        let text = random_policies::policy(seed);
        fs::write(policy, &text).unwrap();
        fs::write(log, random_policies::log(seed, lines)).unwrap();
        // What fails shows its seed, and its policy.
        println!("seed {seed}:\n{text}");
        let (of_seed, full_of_seed) = assert_exact_in(policy, &[log], seed % 4 == 3);
        full += full_of_seed;
        if asked.is_some() && seed % BUNDLED_EACH == 0 {
            assert_exact_in(policy, &["../replay/sample/access.log.gz"], false);
        }
        for (limiter, of_limiter) in text.split("[limiters.\"").skip(1).zip(&of_seed) {
            let kind = limiter.split(['"', ' ']).nth(1).unwrap().to_owned();
            let (limiters, denials) = kinds.entry(kind).or_insert((0_u64, 0_u64));
            (*limiters, *denials) = (*limiters + 1, *denials + of_limiter);
        }
        denied += of_seed.iter().sum::<u64>();
    }
    println!("limiters and denials of each kind: {kinds:?}");
    println!("requests of keys without space: {full}");
    assert!(full > 10 * policies, "stores have too much space to be put to the test: {full}");
    assert!(denied > 100 * policies, "the limits are too high to be put to the test: {denied}");
    // With a few policies, not all kinds can be among them.
    assert!(asked.is_none() || kinds.values().all(|(_, denied)| *denied > 0), "{kinds:?}");
}
