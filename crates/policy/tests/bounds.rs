//! No limiter admits more in any time than [`Kind::most_in`] says, whatever is asked of it.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::ManualClock;
use sluicegate_policy::{Kind, Policies};

const POLICIES: &str = include_str!("policies/every_option.toml");

/// A Monday morning in 2026, a second before a full hour.
const START: Duration = Duration::from_secs(1_767_596_399);

fn kinds() -> Vec<(String, Kind)> {
    let policies = Policies::from_toml("p", POLICIES).unwrap();
    let mut kinds: Vec<(String, Kind)> =
        policies.limiters().iter().map(|one| (one.name.clone(), one.kind.clone())).collect();
    let more = "
[limiters.smooth]
policy = \"token_bucket\"
limit = 7
rate = { amount = 3, interval = \"1 second\" }

[limiters.short-window]
policy = \"fixed_window\"
limit = 3
interval = \"300 ms\"

[limiters.short-counter]
policy = \"sliding_counter\"
limit = 3
interval = \"300 ms\"

[limiters.short-log]
policy = \"sliding_log\"
limit = 3
interval = \"300 ms\"
";
    let more = Policies::from_toml("p", more).unwrap();
    kinds.extend(more.limiters().iter().map(|one| (one.name.clone(), one.kind.clone())));
    kinds
}

/// Asks for one permit after the other until none is left, at each time, and returns the times of the
/// admissions in nanoseconds.
fn admissions(kind: &Kind, waits_nanos: &[u64]) -> Vec<(u64, u64)> {
    let clock = Arc::new(ManualClock::new());
    clock.advance(START);
    let limiter = kind.limiter(Arc::clone(&clock)).unwrap();
    let mut now = 0;
    let mut admitted = Vec::new();
    for wait in waits_nanos {
        now += wait;
        clock.advance(Duration::from_nanos(*wait));
        let mut count = 0;
        while count < 2_000 && limiter.try_acquire(1).is_ok() {
            count += 1;
        }
        admitted.push((now, count));
    }
    admitted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_time_admits_more_than_it_may(
        waits in prop::collection::vec(
            prop_oneof![0..400_000_000_u64, 0..100_u64, Just(300_000_000), 0..90_000_000_000_u64],
            1..60,
        ),
        span_nanos in prop_oneof![1..2_000_000_000_u64, 1..100_000_000_000_u64, Just(1_000_000_000)],
    ) {
        for (name, kind) in kinds() {
            let most = kind.most_in(Duration::from_nanos(span_nanos));
            let admitted = admissions(&kind, &waits);
            for (index, (first, _)) in admitted.iter().enumerate() {
                let in_span = admitted[index..].iter().take_while(|(at, _)| at - first < span_nanos);
                let sum: u64 = in_span.map(|(_, count)| count).sum();
                prop_assert!(sum <= most, "{name} admits {sum} in {span_nanos} ns, not {most}");
            }
        }
    }
}

#[test]
fn the_bound_is_met_where_it_can_be() {
    let most = |kind: &str, seconds| {
        let kinds = kinds();
        let (_, kind) = kinds.iter().find(|(name, _)| name == kind).unwrap();
        kind.most_in(Duration::from_secs(seconds))
    };
    // What it holds, and what it earns.
    assert_eq!(most("smooth", 1), 10);
    // The end of a window, and the beginning of the next.
    assert_eq!((most("first", 1), most("epoch", 3600), most("epoch", 3601)), (200, 200, 300));
    assert_eq!((most("log", 60), most("log", 61)), (100, 200));
    assert_eq!((most("windows", 1), most("windows", 60), most("windows", 3600)), (10, 200, 12_000));
    // Saturday and Friday, or Thursday and Friday.
    assert_eq!(most("budget", 3600), 11);
    assert_eq!(most("apart", 3600), 361);
    assert_eq!(most("bucket", 900), 520);
    assert_eq!(most("several", 1), 9);
}

#[test]
fn explanations_are_sentences() {
    let policies = Policies::from_toml("p", POLICIES).unwrap();
    let explain = |name: &str| policies.get(name).unwrap().explain();
    assert_eq!(
        explain("epoch"),
        [
            "Admits at most, for each key, 200 in any 1 second, 200 in any 1 minute and 200 in any 1 \
             hour (requests).",
            "Twice the limit may come together: at the end of one window and the beginning of the next.",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain(explain("epoch").pop())
        .collect::<Vec<_>>()
    );
    let table = explain("table").pop().unwrap();
    assert!(table.starts_with("Takes 64.0 KiB for about 5,461 keys at a time."), "{table}");
    assert!(explain("budget").iter().any(|line| line.contains("for key \"10.0.0.7\"")));
    for limiter in policies.limiters() {
        for sentence in limiter.explain() {
            assert!(sentence.ends_with('.'), "{sentence}");
        }
    }
}
