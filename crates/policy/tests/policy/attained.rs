//! The bounds of [`Kind::most_in`] against all ways in which requests can come at a few instants: none is
//! exceeded, and most are met.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::ManualClock;
use sluicegate_policy::{Kind, Policies};

/// Kinds with small numbers, each with its period in seconds, and for each of the spans a 1 if the bound
/// is met at these instants. (Three windows in a row need a span that is 2 ns longer than one. The counter
/// meets no bound: that is for windows whose requests all come at their end.)
const KINDS: [(&str, u64, &str); 15] = [
    ("policy = \"token_bucket\"\nlimit = 2\nrate = { amount = 1, interval = \"1 s\" }", 1, "11111"),
    (
        "policy = \"token_bucket\"\nlimit = 3\nrate = { amount = 2, interval = \"1 s\" }\nrefill = \"interval\"",
        1,
        "11111",
    ),
    (
        "policy = \"leaky_bucket\"\nmode = \"meter\"\nlimit = 2\nrate = { amount = 1, interval = \"1 s\" }",
        1,
        "11111",
    ),
    ("policy = \"gcra\"\ninterval = \"1 s\"\ntolerance = \"1 s\"", 1, "11111"),
    ("policy = \"leaky_bucket\"\nmode = \"min_interval\"\ninterval = \"1 s\"", 1, "11111"),
    ("policy = \"fixed_window\"\nlimit = 2\ninterval = \"1 s\"\nstart = \"epoch\"", 1, "01101"),
    ("policy = \"fixed_window\"\nlimit = 2\ninterval = \"1 s\"", 1, "01101"),
    ("policy = \"sliding_window\"\nlimit = 2\ninterval = \"1 s\"\nslots = 2", 1, "11101"),
    ("policy = \"sliding_counter\"\nlimit = 2\ninterval = \"1 s\"", 1, "00000"),
    ("policy = \"sliding_log\"\nlimit = 2\ninterval = \"1 s\"", 1, "11111"),
    ("policy = \"weighted_log\"\nlimit = 2\ninterval = \"1 s\"", 1, "11111"),
    (
        "policy = \"multi_window\"\nlimits = [{ limit = 2, interval = \"1 s\" }, { limit = 3, interval = \"2 s\" }]\nslots = 2",
        1,
        "11101",
    ),
    ("policy = \"calendar_window\"\nlimit = 2\nevery = \"minute\"", 60, "01101"),
    ("policy = \"budget\"\namount = 2", 86_400, "01101"),
    (
        "policy = \"all\"\nof = [{ policy = \"token_bucket\", limit = 2, rate = { amount = 1, interval = \"1 s\" } }, { policy = \"sliding_log\", limit = 2, interval = \"2 s\" }]",
        1,
        "11111",
    ),
];

/// A Monday morning in 2026, a whole number of days since 1970.
const START: Duration = Duration::from_secs(1_767_571_200);

/// At each instant: no request, one, or as many as are granted.
const CHOICES: u32 = 3;

/// The times at which requests may come, in nanoseconds.
fn instants(period: u64) -> [u64; 8] {
    let half = period / 2;
    [0, half, period - 1, period, period + 1, 2 * period - 1, 2 * period, 3 * period - 1]
}

/// Returns the grants at each instant, if requests come as the digits of `pattern` say.
fn grants(kind: &Kind, instants: &[u64], mut pattern: u32) -> Vec<u64> {
    let clock = Arc::new(ManualClock::new());
    clock.advance(START);
    let limiter = kind.limiter(clock.clone()).unwrap();
    let mut before = 0;
    instants
        .iter()
        .map(|instant| {
            clock.advance(Duration::from_nanos(instant - before));
            before = *instant;
            let most = [0, 1, 20][(pattern % CHOICES) as usize];
            pattern /= CHOICES;
            (0..most).take_while(|_| limiter.try_acquire(1).is_ok()).count() as u64
        })
        .collect()
}

/// Returns the most that all patterns admit in a span of this length.
fn most_seen(kind: &Kind, period: u64, spans: &[u64]) -> Vec<u64> {
    let instants = instants(period);
    let mut most = vec![0; spans.len()];
    for pattern in 0..CHOICES.pow(instants.len() as u32) {
        let grants = grants(kind, &instants, pattern);
        for (most, span) in most.iter_mut().zip(spans) {
            for (first, from) in instants.iter().enumerate() {
                let in_span = instants[first..].iter().zip(&grants[first..]);
                let in_span = in_span.take_while(|(at, _)| *at - from < *span);
                *most = (*most).max(in_span.map(|(_, granted)| granted).sum());
            }
        }
    }
    most
}

#[test]
fn no_way_to_come_exceeds_the_bound_and_most_meet_it() {
    for (fields, seconds, met) in KINDS {
        let text = format!("[limiters.a]\n{fields}\n");
        let kind = Policies::from_toml("p", &text).unwrap().limiters()[0].kind.clone();
        let period = seconds * 1_000_000_000;
        let spans = [1, period / 2, period, period + 1, 2 * period];
        let said: Vec<u64> =
            spans.iter().map(|span| kind.most_in(Duration::from_nanos(*span))).collect();
        let most = most_seen(&kind, period, &spans);
        for ((most, said), met) in most.iter().zip(&said).zip(met.chars()) {
            assert!(most <= said, "{kind}: {most} admitted, not {said}");
            assert_eq!(most == said, met == '1', "{kind}: {most} of {said}");
        }
    }
}
