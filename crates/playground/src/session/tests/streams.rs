//! Streams of requests, and their keys.

use serde_json::json;

use super::support::Told;
use crate::bounds;
use crate::command::CheckedSend;

fn arrivals(told: &Told, key: &str) -> Vec<f64> {
    let of_key = told.decisions[0].iter().filter(|decision| decision.key == key);
    of_key.map(|decision| decision.at).collect()
}

#[test]
fn an_even_stream_sends_at_even_instants_until_others_take_its_place() {
    let mut told = Told::one("token_bucket", &json!({ "burst": 100 }));
    told.until(1.0);
    told.stream(
        &json!([{ "key": "a", "per_second": 2 }, { "key": "b", "per_second": 1, "cost": 3 }]),
    );
    told.until(2.9);
    told.stream(&json!([{ "key": "a", "per_second": 4 }]));
    told.until(3.5);
    told.stream(&json!([]));
    told.until(9.0);
    assert_eq!(arrivals(&told, "a"), [1.0, 1.5, 2.0, 2.5, 2.9, 3.15, 3.4]);
    assert_eq!(arrivals(&told, "b"), [1.0, 2.0]);
    assert!(told.decisions[0].iter().all(|one| (one.key == "b") == (one.cost == 3)));
}

#[test]
fn a_random_stream_has_the_rate_that_it_is_given() {
    let mut told = Told::one("token_bucket", &json!({}));
    told.stream(&json!([{ "key": "a", "per_second": 50, "spacing": "random" }]));
    told.until(100.0);
    // 5,000 on average, with a deviation of 71.
    let count = arrivals(&told, "a").len();
    assert!((4_700..5_300).contains(&count), "{count}");
}

#[test]
fn a_session_has_so_many_keys_and_a_stream_s_key_is_one_of_them() {
    let mut told = Told::of(&json!([{ "algorithm": "gcra", "per_key": true }]));
    let send = |key: usize| {
        let send = serde_json::from_value(json!({ "key": key.to_string() })).unwrap();
        CheckedSend::new(&send).unwrap()
    };
    told.stream(&json!([{ "key": "s", "per_second": 1 }]));
    for _ in 0..2 {
        for key in 1..bounds::KEYS {
            told.session.send(&send(key)).unwrap();
        }
        let refused = told.session.send(&send(bounds::KEYS)).unwrap_err();
        assert_eq!(refused.parameter, "key");
        told.until(0.5);
        assert_eq!(told.side(0).states.len(), bounds::KEYS);
        // The stream goes on, so its key still counts.
        told.session.reset();
    }
}
