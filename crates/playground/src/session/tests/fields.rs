//! Response fields.

use serde_json::{Value, json};

use super::support::Told;

/// Returns the status and the fields after the last decision of the first side.
fn fields(told: &Told) -> (u16, Value) {
    let fields = told.side(0).fields.clone().unwrap();
    let headers = fields.headers.into_iter().map(|(name, value)| (name, json!(value)));
    (fields.status, headers.collect())
}

#[test]
fn fields_are_those_of_the_layer_for_web_servers() {
    let mut told = Told::one("token_bucket", &json!({ "burst": 2, "permits": 1, "period": 5 }));
    assert_eq!(told.side(0).fields, None);
    told.send(0.0, 1, 1);
    let granted =
        json!({ "ratelimit-policy": "\"default\";q=2;w=10", "ratelimit": "\"default\";r=1;t=5" });
    assert_eq!(fields(&told), (200, granted));
    told.send(0.5, 2, 1);
    let refused = json!({
        "ratelimit-policy": "\"default\";q=2;w=10",
        "ratelimit": "\"default\";r=0;t=5",
        "retry-after": "5",
    });
    assert_eq!(fields(&told), (429, refused));
}

#[test]
fn of_several_windows_the_one_with_least_left_is_told() {
    let parameters =
        json!({ "short_limit": 3, "short_window": 1, "long_limit": 4, "long_window": 10 });
    let mut told = Told::one("several_windows", &parameters);
    let told_by = |fields: &Value| {
        let limit = fields["ratelimit"].as_str().unwrap();
        limit.split(";t=").next().unwrap().to_owned()
    };
    told.send(0.0, 1, 1);
    assert_eq!(told_by(&fields(&told).1), "\"short\";r=2");
    told.send(2.0, 1, 1);
    told.send(4.0, 1, 1);
    assert_eq!(told_by(&fields(&told).1), "\"long\";r=1");
    told.send(6.0, 2, 1);
    let (status, fields) = fields(&told);
    assert_eq!((status, &*told_by(&fields)), (429, "\"long\";r=0"));
}

#[test]
fn too_much_in_flight_is_the_fault_of_the_server_or_of_the_client() {
    for (per_key, status) in [(false, 503), (true, 429)] {
        let side =
            json!({ "algorithm": "concurrency", "parameters": { "limit": 1 }, "per_key": per_key });
        let mut told = Told::of(&json!([side]));
        told.send(0.0, 1, 1);
        assert_eq!(fields(&told).0, 200);
        told.send(0.0, 1, 1);
        assert_eq!(fields(&told).0, status);
    }
}
