//! Peaks are the least limits that admit everything, by the engine's own verdict.

use std::sync::Arc;

use sluicegate::ManualClock;

use super::*;
use crate::policy::{Kind, Policy};

/// Limiters with a limit to be filled in, and whether they admit exactly as much. The others count in
/// steps or estimate, so they may refuse some below their limit.
const KINDS: [(&str, bool); 11] = [
    ("policy = \"token_bucket\"\nlimit = LIMIT\nrate = { amount = 7, interval = \"10 s\" }", true),
    (
        "policy = \"token_bucket\"\nlimit = LIMIT\nrefill = \"interval\"\nrate = { amount = 3, interval = \"5 s\" }",
        true,
    ),
    (
        "policy = \"leaky_bucket\"\nmode = \"meter\"\nlimit = LIMIT\nrate = { amount = 3, interval = \"4 s\" }",
        true,
    ),
    ("policy = \"fixed_window\"\nlimit = LIMIT\ninterval = \"7 s\"\nstart = \"epoch\"", true),
    ("policy = \"fixed_window\"\nlimit = LIMIT\ninterval = \"7 s\"", true),
    ("policy = \"sliding_log\"\nlimit = LIMIT\ninterval = \"7 s\"", true),
    ("policy = \"calendar_window\"\nlimit = LIMIT\nevery = \"minute\"", true),
    ("policy = \"budget\"\namount = LIMIT\nzone = \"Europe/Berlin\"", true),
    ("policy = \"sliding_window\"\nlimit = LIMIT\ninterval = \"7 s\"", false),
    ("policy = \"sliding_counter\"\nlimit = LIMIT\ninterval = \"7 s\"", false),
    ("policy = \"multi_window\"\nlimits = [{ limit = LIMIT, interval = \"7 s\" }]", false),
];

fn rule(fields: &str) -> Rule {
    let text = format!("[[limiter]]\nname = \"x\"\n{fields}\n");
    Policy::parse("test", &text).unwrap().rules.remove(0)
}

/// Returns the times of requests, in bursts and pauses.
fn times() -> Vec<u64> {
    let mut nanos = 1_431_857_103_000_000_000;
    (0_u64..400)
        .map(|turn| {
            let noise = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
            let pause = [0, 10_000_000, 333_333_333, 1_000_000_000, 2_500_000_000, 9_000_000_000];
            nanos += pause[(noise % 6) as usize] + noise % 1000;
            nanos
        })
        .collect()
}

fn peak_of(rule: &Rule, times: &[u64]) -> Peak {
    let mut peaks = Peaks::new(rule, 10);
    for now in times {
        peaks.count(b"key", 1, *now);
    }
    peaks.of_part(0).next().unwrap()
}

/// Returns the number of requests that the engine refuses.
fn refused(kind: &Kind, times: &[u64]) -> usize {
    let clock = Arc::new(ManualClock::at(times[0]));
    let limiter = kind.limiter(clock.clone()).unwrap();
    let refused = |now: &&u64| {
        clock.set_nanos(**now);
        limiter.try_acquire(1).is_err()
    };
    times.iter().filter(refused).count()
}

#[test]
fn a_peak_is_the_least_limit_that_refuses_nothing() {
    let times = times();
    for (fields, is_exact) in KINDS {
        let with = |limit: u64| rule(&fields.replace("LIMIT", &limit.to_string()));
        let peak = peak_of(&with(1), &times);
        assert!(peak.is_over && peak.permits > 2, "{fields}: {peak:?}");
        assert_eq!(peak_of(&with(peak.permits), &times), Peak { is_over: false, ..peak });
        assert!(refused(&with(peak.permits - 1).kind, &times) > 0, "{fields}: {peak:?}");
        if is_exact {
            assert_eq!(refused(&with(peak.permits).kind, &times), 0, "{fields}: {peak:?}");
        }
    }
}

#[test]
fn a_gcra_is_measured_in_requests_at_once_and_judged_by_its_tolerance() {
    let gcra = |tolerance: &str| {
        rule(&format!("policy = \"gcra\"\ninterval = \"1 s\"\ntolerance = \"{tolerance}\""))
    };
    // The third is ahead by 1.5 s.
    let times = [0, 0, 500_000_000];
    assert_eq!(refused(&gcra("1500 ms").kind, &times), 0);
    assert_eq!(peak_of(&gcra("1500 ms"), &times), Peak { permits: 2, is_over: false });
    assert_eq!(refused(&gcra("1499 ms").kind, &times), 1);
    assert_eq!(peak_of(&gcra("1499 ms"), &times), Peak { permits: 3, is_over: true });
}

#[test]
fn a_minimum_interval_is_a_burst_of_one() {
    let rule = rule("policy = \"leaky_bucket\"\nmode = \"min_interval\"\ninterval = \"10 s\"");
    let second = 1_000_000_000;
    assert_eq!(peak_of(&rule, &[0, 10 * second]), Peak { permits: 1, is_over: false });
    assert_eq!(peak_of(&rule, &[0, 10 * second - 1]), Peak { permits: 2, is_over: true });
}

#[test]
fn a_budget_is_judged_by_the_amount_of_the_day() {
    let rule = rule("policy = \"budget\"\namount = 3\non = { sunday = 1 }\nzone = \"UTC\"");
    // The first day of 1970 was a Thursday.
    let day = 86_400_000_000_000;
    assert_eq!(peak_of(&rule, &[0, 1, 2]), Peak { permits: 3, is_over: false });
    assert_eq!(peak_of(&rule, &[3 * day, 3 * day + 1]), Peak { permits: 2, is_over: true });
    assert_eq!(Peaks::new(&rule, 9).parts()[0].limits(), [1, 3]);
}

#[test]
fn each_part_of_a_limiter_has_peaks() {
    let rule = rule(
        "policy = \"all\"\nof = [\n\
         { policy = \"multi_window\", limits = [{ limit = 2, interval = \"1 s\" }, { limit = 9, interval = \"1 h\" }] },\n\
         { policy = \"gcra\", interval = \"1 s\", tolerance = \"0 s\" },\n]",
    );
    let mut peaks = Peaks::new(&rule, 10);
    for now in [0, 0, 0, 2_000_000_000] {
        peaks.count(b"key", 1, now);
    }
    let found: Vec<(u64, bool)> = (0..3)
        .map(|part| peaks.of_part(part).next().unwrap())
        .map(|peak| (peak.permits, peak.is_over))
        .collect();
    assert_eq!(found, [(3, true), (4, false), (3, true)]);
    let names: Vec<_> = peaks.parts().iter().filter_map(Part::name).collect();
    assert_eq!(names[..2], ["2 in any 1s", "9 in any 1h"]);
    assert!(names[2].starts_with("gcra"));
}

#[test]
fn of_too_many_keys_a_sample_is_kept_whose_peaks_are_exact() {
    let rule = rule("policy = \"fixed_window\"\nlimit = 2\ninterval = \"1 h\"");
    let mut peaks = Peaks::new(&rule, 1000);
    for turn in 0..3_u64 {
        for key in 0..50_000_u64 {
            if key % 5 >= turn {
                peaks.count(&key.to_be_bytes(), 1, turn);
            }
        }
    }
    assert!(peaks.keys.len() <= 1000 && peaks.sampled() >= 64, "{}", peaks.sampled());
    let estimate = peaks.keys.len() as u64 * peaks.sampled();
    assert!((40_000..60_000).contains(&estimate), "{estimate}");
    let over = peaks.of_part(0).filter(|peak| peak.is_over).count() as u64 * peaks.sampled();
    assert!((22_000..38_000).contains(&over), "{over} of 30,000");
    for (key, levels) in &peaks.keys {
        let key = u64::from_be_bytes(key.as_slice().try_into().unwrap());
        assert_eq!(peaks.parts[0].peak(&levels[0]).permits, 3.min(key % 5 + 1), "{key}");
    }
}

#[test]
fn memory_is_bounded_by_bytes_too() {
    let rule = rule("policy = \"sliding_log\"\nlimit = 2\ninterval = \"1 day\"");
    let mut peaks = Peaks::new(&rule, 1 << 20);
    for turn in 0..3_000_000_u64 {
        peaks.count(&(turn % 5000).to_be_bytes(), 1, turn * 1_000_000);
    }
    assert!(peaks.bytes() <= MAX_BYTES as u64 && peaks.sampled() > 1);
    let exact: usize = peaks
        .keys
        .iter()
        .map(|(key, levels)| {
            ENTRY_BYTES + key.len() + levels.iter().map(Level::bytes).sum::<usize>()
        })
        .sum();
    assert_eq!(exact as u64, peaks.bytes());
}
