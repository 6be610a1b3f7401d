//! No limiter admits more in any time than [`Kind::most_in`] says, whatever is asked of it.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{KeyedLimiter, ManualClock};
use sluicegate_policy::{CommonLimiter, Kind, Policies};

const EVERY_OPTION: &str = include_str!("policies/every_option.toml");
const SAMPLE: &str = include_str!("../../../replay/sample/policy.toml");

/// A Monday morning in 2026, a second before a full hour.
const START: Duration = Duration::from_secs(1_767_596_399);

fn kinds() -> Vec<(String, Kind)> {
    let mut kinds: Vec<(String, Kind)> = Vec::new();
    for text in [EVERY_OPTION, SAMPLE] {
        let policies = Policies::from_toml("p", text).unwrap();
        kinds.extend(policies.into_limiters().into_iter().map(|one| (one.name, one.kind)));
    }
    let more = r#"
[limiters.smooth]
policy = "token_bucket"
limit = 7
rate = { amount = 3, interval = "1 second" }

[limiters.short-window]
policy = "fixed_window"
limit = 3
interval = "300 ms"

[limiters.short-counter]
policy = "sliding_counter"
limit = 3
interval = "300 ms"

[limiters.short-first]
policy = "fixed_window"
limit = 3
interval = "300 ms"
start = "first"

[limiters.single]
policy = "sliding_counter"
limit = 1
interval = "300 ms"

[limiters.overfull]
policy = "token_bucket"
limit = 7
rate = { amount = 30, interval = "1 second" }
refill = "interval"

[limiters.every-second]
policy = "leaky_bucket"
mode = "min_interval"
interval = "1 second"

[limiters.ten-a-day]
policy = "budget"
amount = 10

[limiters.short-log]
policy = "sliding_log"
limit = 3
interval = "300 ms"
"#;
    let more = Policies::from_toml("p", more).unwrap();
    kinds.extend(more.limiters().iter().map(|one| (one.name.clone(), one.kind.clone())));
    kinds
}

/// Asks for one permit after the other until none is left, at each time, and returns the times of the
/// admissions in nanoseconds.
fn admissions(kind: &Kind, waits_nanos: &[u64]) -> Vec<(u64, u64)> {
    let clock = Arc::new(ManualClock::new());
    clock.advance(START);
    // Of the keys that have one in common: the robot of the bundled policy, and several others.
    let keys: [&[u8]; 4] = [b"127.0.0.50", b"a", b"b", b"POST"];
    let common = CommonLimiter::new(kind, clock.clone()).unwrap();
    let own = if common.is_none() { Some(kind.limiter(clock.clone()).unwrap()) } else { None };
    let mut turn = keys.iter().cycle();
    let mut is_granted = || match (&common, &own) {
        (Some(common), _) => {
            // Each of them is asked before a time is over.
            (0..keys.len()).any(|_| common.try_acquire(turn.next().unwrap(), 1).is_ok())
        }
        (None, own) => own.as_ref().is_some_and(|limiter| limiter.try_acquire(1).is_ok()),
    };
    let mut now = 0;
    let mut admitted = Vec::new();
    for wait in waits_nanos {
        now += wait;
        clock.advance(Duration::from_nanos(*wait));
        let mut count = 0;
        while count < 2_000 && is_granted() {
            count += 1;
        }
        admitted.push((now, count));
    }
    admitted
}

/// Checks all spans that begin with an admission.
fn check(waits: &[u64], span_nanos: u64) -> Result<(), TestCaseError> {
    for (name, kind) in kinds() {
        let most = kind.most_in(Duration::from_nanos(span_nanos));
        let admitted = admissions(&kind, waits);
        for (index, (first, _)) in admitted.iter().enumerate() {
            let in_span = admitted[index..].iter().take_while(|(at, _)| at - first < span_nanos);
            let sum: u64 = in_span.map(|(_, count)| count).sum();
            prop_assert!(sum <= most, "{name} admits {sum} in {span_nanos} ns, not {most}");
        }
    }
    Ok(())
}

/// A quarter of the cases, or all of them if `FULL_TESTS` is set.
fn cases() -> ProptestConfig {
    ProptestConfig::with_cases(if std::env::var_os("FULL_TESTS").is_some() { 48 } else { 12 })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_time_of_days_admits_more_than_it_may(
        waits in prop::collection::vec(
            prop_oneof![0..200_000_u64, 0..10_u64, Just(86_400), Just(3_600)],
            1..60,
        ),
        span_secs in prop_oneof![1..2_000_000_u64, Just(86_400), Just(604_800), Just(691_200)],
    ) {
        let waits: Vec<u64> = waits.into_iter().map(|secs| secs * 1_000_000_000).collect();
        check(&waits, span_secs * 1_000_000_000)?;
    }

    #[test]
    fn no_time_admits_more_than_it_may(
        waits in prop::collection::vec(
            prop_oneof![0..400_000_000_u64, 0..100_u64, Just(300_000_000), 0..90_000_000_000_u64],
            1..60,
        ),
        span_nanos in prop_oneof![1..2_000_000_000_u64, 1..100_000_000_000_u64, Just(1_000_000_000)],
    ) {
        check(&waits, span_nanos)?;
    }
}

#[test]
fn the_bound_is_met_where_it_can_be() {
    let most = |kind: &str, seconds| {
        let kinds = kinds();
        let (_, kind) = kinds.iter().find(|(name, _)| name == kind).unwrap();
        kind.most_in(Duration::from_secs(seconds))
    };
    // What it holds, and what it earns until just before the end.
    assert_eq!((most("smooth", 1), most("overfull", 2)), (9, 21));
    // The end of a window, and the beginning of the next.
    assert_eq!((most("first", 1), most("epoch", 3600), most("epoch", 3601)), (199, 200, 300));
    assert_eq!((most("log", 60), most("log", 61)), (100, 200));
    assert_eq!((most("windows", 1), most("windows", 60), most("windows", 3600)), (10, 200, 12_000));
    // Saturday and Friday, or Thursday and Friday.
    assert_eq!(most("budget", 3600), 11);
    // As many days as eight days of a clock touch.
    assert_eq!((most("ten-a-day", 8 * 86_400), most("ten-a-day", 14 * 86_400)), (90, 150));
    assert_eq!((most("apart", 3600), most("apart", 3601)), (360, 361));
    assert_eq!((most("every-second", 1), most("every-second", 60)), (1, 60));
    assert_eq!((most("counter", 1), most("counter", 60), most("counter", 61)), (199, 199, 300));
    assert_eq!(most("bucket", 900), 40);
    assert_eq!(most("several", 1), 9);
    assert!(kinds().iter().all(|(_, kind)| kind.most_in(Duration::ZERO) == 0));
}

#[test]
fn explanations_are_sentences() {
    let policies = Policies::from_toml("p", EVERY_OPTION).unwrap();
    let explain = |name: &str| policies.get(name).unwrap().explain();
    assert_eq!(
        explain("epoch"),
        [
            "For each key, admits at most 200 requests in any second, 200 in any minute, 200 in any hour.",
            "About twice the limit can be admitted in a short time: at the end of one window and the \
             beginning of the next.",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain(explain("epoch").pop())
        .collect::<Vec<_>>()
    );
    let table = explain("table").pop().unwrap();
    assert!(table.starts_with("Takes 64.0 KiB for about 5,461 keys at a time; "), "{table}");
    assert!(explain("budget").iter().any(|line| line.contains("For key \"10.0.0.7\"")));
    assert!(explain("gcra")[0].starts_with("Shadow mode: nothing is denied."));
    let bucket = explain("bucket");
    for sentence in [
        "For each key, admits at most 13 requests in any second, 13 in any minute, 33 in any hour.",
        "Each request takes 3 permits: at most 40 permits in any second, 40 in any minute, 100 in any \
         hour.",
        "A program that forces permits may borrow up to 7 more (`max_debt`).",
        "A request that would be denied waits instead, if it can be admitted within 2s.",
    ] {
        assert!(bucket.iter().any(|line| line == sentence), "{sentence} is not in {bucket:?}");
    }
    assert!(explain("meter").iter().all(|line| !line.contains("borrow")));
    for limiter in policies.limiters() {
        for sentence in limiter.explain() {
            assert!(sentence.ends_with('.'), "{sentence}");
        }
    }
}
