//! Differences between the algorithms: the scenarios show what they claim.

use std::sync::Arc;

use super::support::Told;
use crate::scenario::Scenarios;
use crate::wire::{Decision, Outcome};

/// Plays a scenario until so many seconds after its last step.
fn play(id: &str, longer: f64) -> Told {
    let scenarios = Scenarios::new();
    let scenario = scenarios.by_id(id).unwrap();
    let told = scenarios.told.iter().find(|scenario| scenario.id == id).unwrap();
    let sides = serde_json::to_value(&told.setup.sides).unwrap();
    let mut played = Told::of(&sides);
    played.session.play(&Arc::clone(scenario));
    played.until(told.actions.last().unwrap().at + longer);
    let progress = played.frame.scenario.as_ref().unwrap();
    assert_eq!((progress.step, progress.of), (told.actions.len(), told.actions.len()));
    assert_eq!(&progress.say, told.actions.last().unwrap().say.as_ref().unwrap());
    played.check_totals(0);
    played.check_totals(1);
    played
}

fn granted(decisions: &[Decision], from: f64, to: f64) -> u64 {
    let is_granted = |decision: &&Decision| {
        let outcome = decision.outcome;
        let is_granted = matches!(outcome, Outcome::Granted | Outcome::GrantedLate);
        is_granted && decision.at > from && decision.at <= to
    };
    decisions.iter().filter(is_granted).map(|decision| decision.cost).sum()
}

/// Returns the most permits that were granted in any span of `length` seconds.
fn most_granted(decisions: &[Decision], length: f64) -> u64 {
    let ends = decisions.iter().map(|decision| decision.at);
    ends.map(|end| granted(decisions, end - length, end)).max().unwrap_or(0)
}

fn of_key<'d>(decisions: &'d [Decision], key: &'d str) -> Vec<Decision> {
    decisions.iter().filter(|decision| decision.key == key).cloned().collect()
}

#[test]
fn no_scenario_is_left_out_and_each_says_what_to_look_at() {
    let written: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("../../scenarios.json")).unwrap();
    let scenarios = Scenarios::new();
    assert_eq!(scenarios.told.len(), written.len());
    let ids: Vec<_> = scenarios.told.iter().map(|scenario| scenario.id.as_str()).collect();
    let wanted = [
        "edge_burst",
        "idle_then_burst",
        "steady_overload",
        "big_behind_small",
        "greedy_tenant",
        "shares",
    ];
    assert_eq!(ids, wanted);
    for scenario in &*scenarios.told {
        assert!(!scenario.watch.is_empty() && !scenario.summary.is_empty(), "{}", scenario.id);
        assert!(scenario.actions.is_sorted_by(|one, next| one.at <= next.at), "{}", scenario.id);
        let mut sends = scenario
            .actions
            .iter()
            .filter(|action| !action.send.is_empty() || action.streams.is_some());
        assert!(sends.next().unwrap().at <= 2.0, "{}: nothing is seen for long", scenario.id);
    }
}

#[test]
fn edge_burst_a_fixed_window_admits_twice_its_limit_around_an_edge_and_a_sliding_one_does_not() {
    let played = play("edge_burst", 1.0);
    let [fixed, sliding] = &played.decisions;
    assert_eq!((most_granted(fixed, 1.0), most_granted(fixed, 2.0)), (10, 10));
    assert_eq!(most_granted(sliding, 2.0), 5);
    // Then both grant again.
    assert_eq!((granted(fixed, 5.0, 6.0), granted(sliding, 5.0, 6.0)), (2, 2));
}

#[test]
fn idle_then_burst_a_bucket_grants_the_burst_at_once_and_a_queue_spreads_it() {
    let played = play("idle_then_burst", 1.0);
    let [bucket, queue] = &played.decisions;
    assert_eq!(granted(bucket, 6.999, 7.0), 10);
    assert_eq!(most_granted(queue, 0.499), 1);
    assert_eq!((granted(bucket, 0.0, 20.0), granted(queue, 0.0, 20.0)), (20, 20));
}

#[test]
fn steady_overload_a_bucket_grants_evenly_and_a_window_all_and_then_nothing() {
    let played = play("steady_overload", 0.0);
    let [bucket, window] = &played.decisions;
    let by_second = |decisions| -> Vec<u64> {
        let seconds = (0..12).map(f64::from);
        seconds.map(|second| granted(decisions, second - 1e-6, second + 1.0 - 1e-6)).collect()
    };
    assert_eq!(by_second(bucket), [5; 12]);
    assert_eq!(by_second(window), [10, 10, 0, 0, 10, 10, 0, 0, 10, 10, 0, 0]);
}

#[test]
fn big_behind_small_a_big_request_is_granted_only_where_there_is_a_line() {
    let played = play("big_behind_small", 1.0);
    let [without, with] = played.decisions.each_ref().map(|decisions| of_key(decisions, "big"));
    assert_eq!((granted(&without, 0.0, 20.0), granted(&with, 0.0, 20.0)), (0, 12));
    assert!(with.iter().filter_map(|decision| decision.waited).all(|waited| waited <= 6.0));
    assert!(without.iter().all(|decision| decision.outcome == Outcome::Refused));
    // Nothing that came after a big one was granted before it.
    let grants = |decision: &&Decision| decision.outcome == Outcome::GrantedLate;
    let order: Vec<_> =
        played.decisions[1].iter().filter(grants).map(|decision| decision.n).collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn greedy_tenant_a_modest_one_is_refused_where_all_share_and_never_where_each_has_its_own() {
    let played = play("greedy_tenant", 1.0);
    let [shared, own] = played.decisions.each_ref().map(|decisions| of_key(decisions, "modest"));
    assert!(own.iter().all(|decision| decision.outcome == Outcome::Granted));
    let late = shared.iter().filter(|decision| decision.at > 5.0);
    let (granted, refused): (Vec<_>, Vec<_>) =
        late.partition(|decision| decision.outcome == Outcome::Granted);
    assert!(
        refused.len() > 2 * granted.len(),
        "{} refused, {} granted",
        refused.len(),
        granted.len()
    );
    // The greedy one takes most of the tokens.
    let all = |decisions: &[Decision]| {
        decisions.iter().filter(|decision| decision.outcome == Outcome::Granted).count()
    };
    let greedy = of_key(&played.decisions[0], "greedy");
    assert!(all(&greedy) > 2 * all(&shared));
    let keys: Vec<_> = played.side(1).states.iter().map(|state| state.key.as_deref()).collect();
    assert_eq!(keys, [Some("greedy"), Some("modest")]);
}

#[test]
fn shares_a_modest_tenant_is_never_refused_and_a_greedy_one_gets_all_the_rest() {
    let played = play("shares", 1.0);
    let [one, shares] = &played.decisions;
    let refused = |decisions: &[Decision], key| {
        let decisions = of_key(decisions, key);
        decisions.iter().filter(|decision| decision.outcome == Outcome::Refused).count()
    };
    assert_eq!(refused(shares, "modest"), 0);
    assert!(refused(one, "modest") > 5 && refused(shares, "greedy") > 50);
    let lent = |decisions: &[Decision]| decisions.iter().filter(|of| of.borrowed).count();
    assert_eq!((lent(one), lent(&of_key(shares, "modest"))), (0, 0));
    // While the modest one is silent, all of the rate is lent to the other, and both sides allow as much.
    let [one, shares] = [one, shares].map(|decisions| granted(decisions, 12.0, 15.0));
    assert!(lent(&played.decisions[1]) > 10 && shares >= 11 && one >= 11, "{one} {shares}");
    assert!(most_granted(&played.decisions[1], 1.0) <= 8 + 4);
    let keys: Vec<_> = played.side(1).states.iter().map(|state| state.key.as_deref()).collect();
    assert_eq!(keys, [None, Some("greedy"), Some("modest")]);
}
