//! Decisions of every algorithm, worked out by hand: the examples of the documents on rate limiting.

use serde_json::json;

use super::support::Told;
use crate::wire::Outcome::{Granted, GrantedLate, Refused, Waiting};

#[test]
fn a_token_bucket_of_5_spends_what_it_has_and_earns_one_a_second() {
    let mut told = Told::one("token_bucket", &json!({ "burst": 5, "permits": 1, "period": 1 }));
    assert_eq!(told.send(0.0, 6, 1), [Granted, Granted, Granted, Granted, Granted, Refused]);
    assert_eq!(told.decisions[0][5].retry_after, Some(1.0));
    // A tenth of a token each: none is lost.
    told.until(0.5);
    assert_eq!(told.state(0)["level"], 0.5);
    assert_eq!(told.state(0)["full_at"], 5.0);
    assert_eq!((told.granted(0.999, 1), told.granted(1.0, 2)), (0, 1));
    // Idle for long: five, and no more.
    assert_eq!(told.granted(60.0, 7), 5);
    told.check_totals(0);
}

#[test]
fn an_interval_bucket_earns_whole_steps_and_loses_no_remainder() {
    // Ten tokens, ten a second, in steps of a second.
    let parameters = json!({ "burst": 10, "permits": 10, "period": 1 });
    let mut told = Told::one("interval_bucket", &parameters);
    assert_eq!(told.granted(0.0, 12), 10);
    told.until(0.4);
    let state = told.state(0);
    assert_eq!((&state["level"], &state["next_refill_at"]), (&json!(0.0), &json!(1.0)));
    assert_eq!(state["refill"], json!([10, 1.0]));
    assert_eq!(told.granted(0.999, 1), 0);
    assert_eq!(told.granted(1.7, 4), 4);
    // The step at 2 comes, whatever was asked at 1.7.
    assert_eq!((told.granted(1.9, 7), told.granted(2.0, 11)), (6, 10));
    told.check_totals(0);
}

#[test]
fn gcra_lets_a_cell_pass_each_interval_and_up_to_the_tolerance_earlier() {
    let mut told = Told::one("gcra", &json!({ "interval": 2, "tolerance": 4 }));
    assert_eq!(told.granted(0.0, 4), 3);
    told.until(1.0);
    assert_eq!(told.state(0)["level"], 0.5);
    assert_eq!(told.state(0)["capacity"], 3.0);
    assert_eq!((told.granted(1.999, 1), told.granted(2.0, 2), told.granted(8.0, 9)), (0, 1, 3));
    told.check_totals(0);
}

#[test]
fn a_leaky_bucket_as_a_meter_takes_what_has_leaked_out() {
    let mut told = Told::one("leaky_bucket", &json!({ "burst": 4, "permits": 1, "period": 2 }));
    assert_eq!((told.granted(0.0, 6), told.granted(2.0, 2), told.granted(6.0, 5)), (4, 1, 2));
    told.check_totals(0);
}

#[test]
fn a_leaky_queue_of_4_lets_one_leave_every_2_seconds_and_drops_what_finds_no_room() {
    let mut told = Told::one("leaky_queue", &json!({ "size": 4, "permits": 1, "period": 2 }));
    assert_eq!(told.send(0.0, 1, 1), [Waiting]);
    // At 2 the first leaves, and three come.
    assert_eq!(told.send(2.0, 3, 1), [Waiting; 3]);
    assert_eq!(told.decisions[0][1].outcome, GrantedLate);
    // At 3 there is room for one more.
    assert_eq!(told.send(3.0, 2, 1), [Waiting, Refused]);
    assert_eq!(told.state(0)["queued"], 4);
    let turns: Vec<_> = told.side(0).states[0].state.line.iter().map(|one| one.turn_at).collect();
    assert_eq!(turns, [4.0, 6.0, 8.0, 10.0].map(Some));
    // At 4 the second leaves, and its place is free.
    assert_eq!(told.send(4.0, 2, 1), [Waiting, Refused]);
    told.until(20.0);
    let left = told.decisions[0].iter().filter(|one| one.outcome == GrantedLate).map(|one| one.at);
    assert_eq!(left.collect::<Vec<_>>(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    told.check_totals(0);
}

#[test]
fn a_fixed_window_of_3_lets_3_pass_in_each_second() {
    let mut told = Told::one("fixed_window", &json!({ "limit": 3, "window": 1 }));
    for (second, arrivals) in [4, 5, 3, 4].into_iter().enumerate() {
        let at = f64::from(u32::try_from(second).unwrap()) + 0.5;
        assert_eq!(told.granted(at, arrivals), 3);
        let window = &told.state(0)["windows"][0];
        assert_eq!((&window["from"], &window["to"]), (&json!(at - 0.5), &json!(at + 0.5)));
        assert_eq!((&window["count"], &window["limit"]), (&json!(3), &json!(3)));
    }
    told.check_totals(0);
}

#[test]
fn a_sliding_log_of_5_in_60_seconds_counts_exactly() {
    let mut told = Told::one("sliding_log", &json!({ "limit": 5, "window": 60 }));
    assert_eq!((told.granted(10.0, 2), told.granted(20.0, 3), told.granted(30.0, 1)), (2, 3, 0));
    let entries = &told.state(0)["entries"];
    let entries = entries.as_array().unwrap().iter();
    let at: Vec<_> = entries.map(|entry| entry["at"].as_f64().unwrap().round()).collect();
    assert_eq!(at, [10.0, 10.0, 20.0, 20.0, 20.0]);
    assert_eq!(told.decisions[0][5].retry_after.map(f64::round), Some(40.0));
    // At 80, the entries up to 20 are gone. (The log dates them to some microseconds.)
    assert_eq!((told.granted(79.999, 6), told.granted(80.000_01, 6)), (2, 3));
    told.check_totals(0);
}

#[test]
fn a_sliding_window_of_6_slots_counts_a_slot_until_all_of_it_has_left() {
    let parameters = json!({ "limit": 10, "window": 60, "slots": 6 });
    let mut told = Told::one("sliding_window", &parameters);
    assert_eq!((told.granted(5.0, 4), told.granted(15.0, 4), told.granted(25.0, 4)), (4, 4, 2));
    let state = told.state(0);
    let counts: Vec<_> =
        state["windows"].as_array().unwrap().iter().map(|slot| &slot["count"]).collect();
    assert_eq!(counts, [4, 4, 2]);
    assert_eq!(
        (&state["windows"][1]["from"], &state["windows"][1]["to"]),
        (&json!(10.0), &json!(20.0))
    );
    // The slot from 0 to 10 may be in a window of 60 seconds until 70: one slot more than six counts.
    assert_eq!(told.granted(69.9, 9), 0);
    let state = told.state(0);
    let counts = state["windows"].as_array().unwrap().iter().map(|slot| &slot["count"]);
    assert_eq!(counts.collect::<Vec<_>>(), [4, 4, 2, 0, 0, 0, 0]);
    assert_eq!(told.granted(70.0, 9), 4);
    assert_eq!(told.state(0)["windows"][0]["from"], 10.0);
    told.check_totals(0);
}

#[test]
fn a_sliding_counter_weighs_the_window_before_by_its_overlap() {
    // Five in the minute before, two in this one, at a quarter of it: 2 + 5 x 0.75 = 5.75 of 7.
    let mut told = Told::one("sliding_counter", &json!({ "limit": 7, "window": 60 }));
    assert_eq!((told.granted(30.0, 5), told.granted(75.0, 2)), (5, 2));
    let windows = &told.state(0)["windows"];
    assert_eq!((&windows[0]["count"], &windows[0]["weight"]), (&json!(5), &json!(0.75)));
    assert_eq!((&windows[1]["count"], &windows[1]["weight"]), (&json!(2), &json!(null)));
    assert_eq!(told.granted(75.0, 2), 1);
    told.check_totals(0);

    // Nine before and five now, of ten: 9 x 0.75 + 5 = 11.75. Fewer than five fit to begin with.
    let mut told = Told::one("sliding_counter", &json!({ "limit": 10, "window": 60 }));
    assert_eq!((told.granted(30.0, 9), told.granted(75.0, 5)), (9, 3));
}

#[test]
fn several_windows_grant_what_all_of_them_have_room_for() {
    let parameters =
        json!({ "short_limit": 3, "short_window": 1, "long_limit": 5, "long_window": 10 });
    let mut told = Told::one("several_windows", &parameters);
    assert_eq!((told.granted(0.0, 4), told.granted(2.0, 4)), (3, 2));
    let which: Vec<_> = told.decisions[0].iter().map(|decision| decision.which).collect();
    // The short one refuses first, then the long one.
    assert_eq!(which[3], Some(0));
    assert_eq!(which[6..], [Some(1), Some(1)]);
    let windows = &told.state(0)["windows"];
    assert_eq!((&windows[0]["count"], &windows[1]["count"]), (&json!(2), &json!(5)));
    assert_eq!((&windows[0]["window"], &windows[1]["window"]), (&json!(1.0), &json!(10.0)));
    told.check_totals(0);
}

#[test]
fn permits_in_flight_come_back_when_their_requests_end() {
    let mut told = Told::one("concurrency", &json!({ "limit": 2 }));
    let held = json!({ "key": "a", "count": 3, "hold": 2 });
    assert_eq!(told.send_with(1.0, &held), [Granted, Granted, Refused]);
    let state = told.state(0);
    assert_eq!(state["limit"], 2);
    assert_eq!(state["in_use"][1], json!({ "key": "a", "since": 1.0, "until": 3.0, "cost": 1 }));
    assert_eq!((told.granted(2.999, 1), told.granted(3.0, 3)), (0, 2));
    told.check_totals(0);
}

#[test]
fn a_request_that_can_never_be_granted_says_so() {
    for (algorithm, limit) in [
        ("token_bucket", "burst"),
        ("fixed_window", "limit"),
        ("sliding_log", "limit"),
        ("leaky_queue", "size"),
    ] {
        let mut told = Told::one(algorithm, &json!({ limit: 5 }));
        assert_eq!(told.send(0.0, 1, 6), [Refused]);
        let decision = &told.decisions[0][0];
        assert_eq!(decision.retry_after, None);
        let reason = decision.reason.as_deref().unwrap();
        assert_eq!(reason, "requested more than the limit of 5: waiting will not help");
    }
}
