//! Requests that wait.

use serde_json::json;

use super::support::{Told, setup};
use crate::bounds;
use crate::wire::Outcome::{GaveUp, Granted, GrantedLate, Refused, Waiting};

fn waiting(algorithm: &str, parameters: &serde_json::Value, wait: f64) -> Told {
    Told::of(&json!([{ "algorithm": algorithm, "parameters": parameters, "wait": wait }]))
}

#[test]
fn a_request_is_granted_at_exactly_its_turn_and_those_behind_it_after_it() {
    let mut told = waiting("token_bucket", &json!({ "burst": 4, "permits": 2, "period": 1 }), 10.0);
    assert_eq!(told.send(0.0, 1, 4), [Granted]);
    assert_eq!(told.send(0.1, 1, 4), [Waiting]);
    assert_eq!(told.send(0.2, 2, 1), [Waiting, Waiting]);
    let line = &told.side(0).states[0].state.line;
    let shown: Vec<_> = line.iter().map(|one| (one.n, one.cost, one.since, one.turn_at)).collect();
    assert_eq!(shown, [(2, 4, 0.1, Some(2.0)), (3, 1, 0.2, Some(2.5)), (4, 1, 0.2, Some(3.0))]);
    told.until(5.0);
    let late = told.decisions[0].iter().filter(|decision| decision.outcome == GrantedLate);
    let late: Vec<_> = late.map(|decision| (decision.n, decision.at, decision.waited)).collect();
    assert_eq!(late, [(2, 2.0, Some(1.9)), (3, 2.5, Some(2.3)), (4, 3.0, Some(2.8))]);
    assert!(told.side(0).states[0].state.line.is_empty());
    told.check_totals(0);
}

#[test]
fn one_that_would_wait_too_long_is_refused_at_once() {
    let mut told = waiting("gcra", &json!({ "interval": 1, "tolerance": 0 }), 2.0);
    assert_eq!(told.send(0.0, 4, 1), [Granted, Waiting, Waiting, Refused]);
    let refused = &told.decisions[0][3];
    assert_eq!((refused.retry_after, refused.remaining), (Some(3.0), Some(0)));
    assert_eq!(refused.reason.as_deref(), Some("no permits before the deadline: try again in 3s"));
}

#[test]
fn one_that_would_leave_a_queue_too_late_is_told_when_to_come_again() {
    let mut told = waiting("leaky_queue", &json!({ "size": 9, "permits": 1, "period": 2 }), 5.0);
    assert_eq!(told.send(0.0, 3, 1), [Waiting, Waiting, Refused]);
    // It would leave at 6, a second too late.
    assert_eq!(told.decisions[0][2].retry_after, Some(1.0));
    assert_eq!(told.send(1.0, 1, 1), [Waiting]);
}

#[test]
fn every_algorithm_but_shares_has_a_line_and_nobody_waits_in_it_for_ever() {
    for algorithm in crate::algorithm::Algorithm::all().filter(|it| !it.has_shares()) {
        let mut told = waiting(algorithm.id, &json!({}), 30.0);
        let outcomes = told.send(0.0, 60, 1);
        assert!(outcomes.contains(&Waiting), "{algorithm}: {outcomes:?}");
        let waits = told.side(0).totals.waiting;
        let in_line = told.side(0).states[0].state.line.len() as u64;
        assert_eq!(in_line, waits, "{algorithm}");
        for second in 0..31 {
            told.until(f64::from(second));
            // Each that waits has one event at most, and so has each that is in flight.
            let ahead = told.session.events.len() as u64;
            let in_flight = told.state(0)["in_use"].as_array().map_or(0, Vec::len) as u64;
            assert!(ahead <= told.side(0).totals.waiting + in_flight, "{algorithm}: {ahead}");
        }
        told.until(31.0);
        told.check_totals(0);
        assert_eq!(told.side(0).totals.waiting, 0, "{algorithm}");
        let late = told.decisions[0].iter().filter(|decision| decision.outcome == GrantedLate);
        let turns: Vec<_> = late.map(|decision| decision.n).collect();
        assert!(!turns.is_empty() && turns.is_sorted(), "{algorithm}: {turns:?}");
        // What is left to happen is nothing: no event stays behind.
        assert_eq!(told.session.events.len(), 0, "{algorithm}");
    }
}

#[test]
fn a_line_has_so_many_places_and_no_more() {
    let line = bounds::LINE as u64;
    for (algorithm, parameters) in [
        ("gcra", json!({ "interval": 1, "tolerance": 0 })),
        ("sliding_log", json!({ "limit": 1, "window": 1 })),
        ("concurrency", json!({ "limit": 1 })),
    ] {
        let mut told = waiting(algorithm, &parameters, 3_600.0);
        for _ in 0..3 {
            told.send(0.0, 100, 1);
        }
        let totals = told.side(0).totals;
        assert_eq!((totals.granted, totals.waiting), (1, line), "{algorithm}");
        assert_eq!(totals.refused, 300 - 1 - line, "{algorithm}");
    }
}

#[test]
fn a_request_in_line_for_permits_in_flight_gives_up_when_its_time_is_over() {
    let mut told = waiting("concurrency", &json!({ "limit": 1 }), 1.0);
    let held = json!({ "key": "a", "hold": 1.5, "count": 2 });
    assert_eq!(told.send_with(0.0, &held), [Granted, Waiting]);
    // Nobody knows its turn.
    assert_eq!(told.side(0).states[0].state.line[0].turn_at, None);
    assert_eq!(told.send_with(0.8, &held)[0], Waiting);
    told.until(10.0);
    let ends: Vec<_> = told.decisions[0].iter().map(|one| (one.n, one.at, one.outcome)).collect();
    let expected = [
        (1, 0.0, Granted),
        (2, 0.0, Waiting),
        (3, 0.8, Waiting),
        (4, 0.8, Waiting),
        (2, 1.0, GaveUp),
        (3, 1.5, GrantedLate),
        (4, 1.8, GaveUp),
    ];
    assert_eq!(ends, expected);
    told.check_totals(0);
}

#[test]
fn other_terms_of_the_same_algorithm_keep_what_was_used_and_those_in_line() {
    let mut told =
        waiting("token_bucket", &json!({ "burst": 4, "permits": 1, "period": 10 }), 100.0);
    told.send(0.0, 4, 1);
    assert_eq!(told.send(0.0, 1, 1), [Waiting]);
    let faster = json!([{ "algorithm": "token_bucket", "parameters": { "burst": 9, "permits": 1, "period": 1 }, "wait": 100 }]);
    told.until(1.0);
    told.session.change(setup(&faster, 1));
    // A tenth was earned before, and the rest in 0.9 s.
    told.until(1.899);
    assert_eq!(told.side(0).totals.waiting, 1);
    told.until(1.9);
    assert_eq!(told.decisions[0].last().map(|one| (one.at, one.outcome)), Some((1.9, GrantedLate)));
    told.check_totals(0);
}

#[test]
fn another_algorithm_is_a_new_limiter_and_those_in_line_give_up() {
    let mut told = waiting("fixed_window", &json!({ "limit": 2, "window": 100 }), 100.0);
    assert_eq!(told.send(1.0, 3, 1), [Granted, Granted, Waiting]);
    let other =
        json!([{ "algorithm": "sliding_log", "parameters": { "limit": 2, "window": 100 } }]);
    told.session.change(setup(&other, 1));
    assert_eq!(told.send(1.0, 3, 1), [Granted, Granted, Refused]);
    let outcomes: Vec<_> = told.decisions[0].iter().map(|decision| decision.outcome).collect();
    assert_eq!(outcomes[2..4], [Waiting, GaveUp]);
    told.check_totals(0);
}

#[test]
fn another_length_of_a_window_is_a_new_limiter_and_another_limit_is_not() {
    for algorithm in ["fixed_window", "sliding_window", "sliding_counter", "sliding_log"] {
        let side = |limit: u64, window: u64| json!([{ "algorithm": algorithm, "parameters": { "limit": limit, "window": window } }]);
        let mut told = Told::of(&side(2, 100));
        assert_eq!(told.granted(1.0, 3), 2);
        told.session.change(setup(&side(3, 100), 1));
        assert_eq!(told.granted(1.0, 3), 1, "{algorithm}");
        told.session.change(setup(&side(3, 50), 1));
        assert_eq!(told.granted(1.0, 4), 3, "{algorithm}");
        told.check_totals(0);
    }
    let side = |slots: u64| json!([{ "algorithm": "sliding_window", "parameters": { "limit": 2, "window": 100, "slots": slots } }]);
    let mut told = Told::of(&side(10));
    assert_eq!(told.granted(1.0, 3), 2);
    told.session.change(setup(&side(20), 1));
    assert_eq!(told.granted(1.0, 3), 2);
}

#[test]
fn a_reset_begins_the_clock_anew_and_streams_go_on() {
    let mut told = waiting("fixed_window", &json!({ "limit": 3, "window": 100 }), 100.0);
    told.stream(&json!([{ "key": "a", "per_second": 1 }]));
    told.until(4.5);
    assert_eq!((told.side(0).totals.granted, told.side(0).totals.waiting), (3, 2));
    told.session.reset();
    told.decisions = Default::default();
    told.until(0.5);
    assert_eq!((told.frame.run, told.frame.at), (2, 0.5));
    assert_eq!((told.side(0).totals.granted, told.side(0).totals.waiting), (1, 0));
    told.check_totals(0);
}

#[test]
fn a_side_that_comes_again_is_a_new_one_and_all_of_its_decisions_are_told() {
    let one = json!([{ "algorithm": "gcra" }]);
    let two = json!([{ "algorithm": "gcra" }, { "algorithm": "fixed_window", "wait": 5 }]);
    let mut told = Told::of(&two);
    told.send(0.0, 9, 1);
    told.session.change(setup(&one, 1));
    told.send(0.0, 1, 1);
    told.session.change(setup(&two, 1));
    told.decisions[1].clear();
    told.send(0.0, 6, 1);
    let numbers: Vec<_> = told.decisions[1].iter().map(|decision| decision.n).collect();
    assert_eq!(numbers, [11, 12, 13, 14, 15, 16]);
    told.until(60.0);
    told.check_totals(1);
}
