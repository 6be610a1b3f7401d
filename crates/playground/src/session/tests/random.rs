//! Random requests to every algorithm: the totals are the sum of the decisions, and no limit is exceeded.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Told, setup};
use crate::algorithm::Algorithm;
use crate::bounds;
use crate::command::CheckedSend;
use crate::session::{Cursor, Session};
use crate::units::real;
use crate::wire::{Decision, Outcome, Shape};

/// The most permits that may be granted in any span of so many seconds.
struct Bound {
    seconds: f64,
    permits: u64,
}

/// Returns parameters of an algorithm, and what it may grant with them.
fn subject(algorithm: &Algorithm, limit: u64, window: f64) -> (Value, Vec<Bound>) {
    let bound = |seconds, permits| vec![Bound { seconds, permits }];
    let limited = json!({ "limit": limit, "window": window });
    let earned = json!({ "burst": limit, "permits": limit, "period": window });
    let has = |id: &str| algorithm.parameters.iter().any(|parameter| parameter.id == id);
    match algorithm.id {
        // A span of one period has at most one step in it, or two if it touches both.
        "interval_bucket" => (earned, bound(window * 0.999, 2 * limit)),
        "gcra" => {
            let interval = window / real(limit);
            let burst = json!({ "interval": interval, "tolerance": interval * real(limit - 1) });
            (burst, bound(window, 2 * limit))
        }
        // Permits leave one by one, but a request of up to five is told when the last of them has left.
        "leaky_queue" => {
            (json!({ "size": limit, "permits": limit, "period": window }), bound(window, limit + 5))
        }
        "fixed_window" => (limited, bound(window, 2 * limit)),
        // The estimate's own bound: less than twice the limit.
        "sliding_counter" => (limited, bound(window, 2 * limit - 1)),
        "several_windows" => {
            let (short, long) = (limit, 2 * limit);
            let parameters = json!({ "short_limit": short, "short_window": window, "long_limit": long, "long_window": 4.0 * window });
            let bounds = [(window, short), (4.0 * window, long)];
            (parameters, bounds.map(|(seconds, permits)| Bound { seconds, permits }).into())
        }
        "concurrency" => (json!({ "limit": limit }), Vec::new()),
        "shares" => {
            let burst = 8 + limit;
            let parameters = json!({ "burst": burst, "permits": limit, "period": window });
            (parameters, bound(window, burst + limit))
        }
        _ if has("burst") => (earned, bound(window, 2 * limit)),
        _ => (limited, bound(window, limit)),
    }
}

/// Checks the bound for every span (end - seconds, end] that ends with a grant. Instants are told to a
/// microsecond, so the span is that much shorter.
fn check(decisions: &[Decision], bound: &Bound) -> Result<(), TestCaseError> {
    let is_granted =
        |one: &&Decision| matches!(one.outcome, Outcome::Granted | Outcome::GrantedLate);
    let granted: Vec<_> = decisions.iter().filter(is_granted).collect();
    for (place, end) in granted.iter().enumerate() {
        let in_span = granted[..=place].iter().rev();
        let in_span = in_span.take_while(|one| one.at > end.at - bound.seconds + 2e-6);
        let permits: u64 = in_span.map(|one| one.cost).sum();
        prop_assert!(permits <= bound.permits, "{permits} of {} until {}", bound.permits, end.at);
    }
    Ok(())
}

/// Checks that so much is in flight at most, whenever a request begins.
fn check_in_flight(decisions: &[Decision], limit: u64, hold: f64) -> Result<(), TestCaseError> {
    check(decisions, &Bound { seconds: hold, permits: limit })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn totals_are_the_sum_of_decisions_and_no_limit_is_exceeded(
        which in 0..Algorithm::all().count(),
        limit in 2_u64..20,
        window in prop::sample::select(vec![0.5, 1.0, 3.0, 10.0]),
        wait in prop::option::of(0.0_f64..20.0),
        per_second in 1.0_f64..60.0,
        seed in 0_u64..1_000,
        bursts in prop::collection::vec((0.0_f64..20.0, 1_u64..30, 1_u64..6), 0..12),
    ) {
        let algorithm = Algorithm::all().nth(which).unwrap();
        let (parameters, bounds) = subject(algorithm, limit, window);
        let side = json!({ "algorithm": algorithm.id, "parameters": parameters, "wait": wait });
        let mut told = Told::seeded(&json!([side]), seed);
        told.stream(&json!([
            { "key": "a", "per_second": per_second, "spacing": "random", "hold": 0.7 },
            { "key": "b", "per_second": per_second / 3.0, "cost": 2, "hold": 0.7 },
        ]));
        let mut bursts = bursts;
        bursts.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (at, count, cost) in bursts {
            told.send_with(at, &json!({ "key": "c", "count": count, "cost": cost, "hold": 0.7 }));
        }
        told.until(25.0);
        told.check_totals(0);
        for bound in &bounds {
            check(&told.decisions[0], bound)?;
        }
        if algorithm.holds() {
            check_in_flight(&told.decisions[0], limit, 0.7)?;
        }
        // From a leaky queue nothing leaves at once, so it may refuse all callers with a short wait.
        if algorithm.id != "leaky_queue" || wait.is_none() {
            prop_assert!(told.side(0).totals.granted > 0);
        }
    }

    #[test]
    fn the_same_seed_is_the_same_session(seed in 0_u64..1_000) {
        let run = |seed| {
            let sides = json!([{ "algorithm": "token_bucket" }, { "algorithm": "sliding_counter", "wait": 2 }]);
            let mut told = Told::seeded(&sides, seed);
            told.stream(&json!([{ "key": "a", "per_second": 7, "spacing": "random" }]));
            told.until(20.0);
            told.decisions
        };
        prop_assert_eq!(run(seed), run(seed));
        prop_assert_ne!(run(seed), run(seed + 1));
    }
}

#[test]
fn a_frame_has_no_more_than_so_many_decisions_and_says_how_many_it_leaves_out() {
    let sides = json!([{ "algorithm": "token_bucket" }, { "algorithm": "fixed_window" }]);
    let mut session = Session::new(setup(&sides, 1));
    let mut cursor = Cursor::default();
    session.frame(&mut cursor, false);
    let send = serde_json::from_value(json!({ "key": "a", "count": 1_000 })).unwrap();
    session.send(&CheckedSend::new(&send).unwrap()).unwrap();
    assert!(session.has_news(&cursor));
    let frame = session.frame(&mut cursor, false);
    let told: usize = frame.sides.iter().map(|side| side.decisions.len()).sum();
    assert_eq!((told, frame.dropped), (500, 1_500));
    assert_eq!(frame.sides[0].totals.granted + frame.sides[0].totals.refused, 1_000);
    // The latest: their numbers end with the last request.
    assert_eq!(frame.sides[1].decisions.last().unwrap().n, 1_000);
    assert!(!session.has_news(&cursor));
    assert_eq!(session.frame(&mut cursor, false).sides[0].decisions, []);
}

#[test]
fn a_frame_of_full_limiters_is_bounded_whatever_they_hold() {
    let log = json!({ "algorithm": "sliding_log", "parameters": { "limit": 1_000, "window": 3_600 }, "per_key": true, "wait": 3_600 });
    let held = json!({ "algorithm": "concurrency", "parameters": { "limit": 50 }, "per_key": true, "wait": 3_600 });
    let mut session = Session::new(setup(&json!([log, held]), 1));
    for key in 0..bounds::KEYS {
        for _ in 0..2 {
            let send = json!({ "key": key.to_string(), "count": 1_000, "hold": 3_600 });
            let send = serde_json::from_value(send).unwrap();
            session.send(&CheckedSend::new(&send).unwrap()).unwrap();
        }
    }
    let frame = session.frame(&mut Cursor::default(), false);
    let totals = frame.sides.iter().map(|side| side.totals).collect::<Vec<_>>();
    assert_eq!((totals[0].granted, totals[0].waiting), (16 * 1_000, 16 * 25));
    assert_eq!((totals[1].granted, totals[1].waiting), (16 * 50, 16 * 25));
    for state in &frame.sides[0].states {
        let Shape::Log { entries, .. } = &state.state.shape else { panic!("{state:?}") };
        assert!(entries.len() <= bounds::ENTRIES);
        // None is left out.
        assert_eq!(entries.iter().map(|entry| entry.cost).sum::<u64>(), 1_000);
    }
    let bytes = serde_json::to_vec(&frame).unwrap().len();
    assert!(bytes < 500_000, "{bytes}");
}
