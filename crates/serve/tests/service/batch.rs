//! Several questions at once.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::running::{POLICY, Running, service_of};
use super::silent_server::{STORE, SilentServer, TWO};
use sluicegate_policy::RemoteVerb;
use sluicegate_serve::{Bounds, Limiters, Service, api};

#[tokio::test]
async fn each_check_of_a_batch_is_answered_by_itself_and_in_order() {
    let service = Running::of(POLICY).await;
    let checks = json!({ "checks": [
        { "limiter": "all", "cost": 4 },
        { "limiter": "all", "cost": 2 },
        { "limiter": "user", "key": "ada" },
        { "limiter": "all", "cost": 1 },
    ]});
    let (status, body) = service.post("/v1/check/batch", &checks).await;
    assert_eq!(status, 200);
    let decisions: Vec<_> =
        body["answers"].as_array().unwrap().iter().map(|answer| &answer["decision"]).collect();
    assert_eq!(decisions, ["granted", "denied", "granted", "granted"]);
    service.end().await;
}

#[tokio::test]
async fn all_or_none_takes_nothing_if_one_denies() {
    let service = Running::of(POLICY).await;
    let ask = |cost: u64| {
        json!({ "all_or_none": true, "checks": [
            { "limiter": "all", "cost": cost },
            { "limiter": "client", "key": ["192.0.2.1", "/"], "cost": 2 },
            { "limiter": "user", "key": "ada", "cost": 8 },
        ]})
    };
    let (_, granted) = service.post("/v1/check/batch", &ask(1)).await;
    assert_eq!(granted["decision"], "granted");
    assert!(granted.get("which").is_none());
    // Of the others one is a day from its permits, and one six hours.
    let (_, denied) = service.post("/v1/check/batch", &ask(1)).await;
    assert_eq!(
        (&denied["decision"], &denied["answers"][0]["decision"]),
        (&json!("denied"), &json!("granted"))
    );
    let wait = |place: usize| denied["answers"][place]["retry_after"].as_f64().unwrap();
    let longest = if wait(1) > wait(2) { 1 } else { 2 };
    assert_eq!(denied["which"], longest);
    let (_, never) = service.post("/v1/check/batch", &ask(9)).await;
    assert_eq!(never["which"], 0);
    // Nothing was taken of the first since.
    let (_, state) = service.post("/v1/peek", &json!({ "limiter": "all", "cost": 0 })).await;
    assert_eq!(state["remaining"], 4);
    service.end().await;
}

#[tokio::test]
async fn the_same_limiter_twice_in_all_or_none_is_counted_twice() {
    let service = Running::of(POLICY).await;
    let twice = |cost: u64| {
        let one = json!({ "limiter": "all", "cost": cost });
        json!({ "all_or_none": true, "checks": [one, one] })
    };
    let (_, denied) = service.post("/v1/check/batch", &twice(3)).await;
    assert_eq!((&denied["decision"], &denied["which"]), (&json!("denied"), &json!(1)));
    // What the first of them had taken was given back.
    let (_, granted) = service.post("/v1/check/batch", &twice(2)).await;
    assert_eq!(granted["decision"], "granted");
    assert_eq!(granted["answers"][1]["remaining"], 1);
    service.end().await;
}

/// A key in a map cannot be given back what it has granted.
#[tokio::test]
async fn the_same_key_three_times_in_all_or_none_is_looked_at_for_the_sum() {
    let service = Running::of(POLICY).await;
    let one = json!({ "limiter": "user", "key": "ada", "cost": 4 });
    let thrice = json!({ "all_or_none": true, "checks": [one, one, one] });
    let (_, denied) = service.post("/v1/check/batch", &thrice).await;
    assert_eq!((&denied["decision"], &denied["which"]), (&json!("denied"), &json!(2)));
    let peek = json!({ "limiter": "user", "key": "ada", "cost": 0 });
    assert_eq!(service.post("/v1/peek", &peek).await.1["remaining"], 10);
    service.end().await;
}

/// Asks the routes themselves, without a connection.
async fn ask(routes: &Router, path: &str, body: &Value) -> Value {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = routes.clone().oneshot(request).await.unwrap();
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

#[tokio::test]
async fn a_caller_that_goes_away_half_way_gives_back_all_that_it_has_taken() {
    let bucket = |name: &str, fields: &str| {
        format!(
            "[limiters.{name}]\npolicy = \"token_bucket\"\nkey = \"all\"\nlimit = 5\n\
             rate = {{ amount = 1, interval = \"1 day\" }}\n{fields}\n"
        )
    };
    let policies = [bucket("first", ""), bucket("silent", STORE), bucket("third", "")].concat();
    let server = SilentServer::default();
    let routes = api::routes(Service::new(Limiters::new(server.registry(&policies))));
    let left = async || {
        let peek = async |name: &str| {
            let peek = json!({ "limiter": name, "cost": 0 });
            ask(&routes, "/v1/peek", &peek).await["remaining"].as_u64().unwrap()
        };
        [peek("first").await, peek("third").await]
    };
    let checks = json!([
        { "limiter": "first", "cost": 2 },
        { "limiter": "silent" },
        { "limiter": "first", "cost": 1 },
        { "limiter": "third", "cost": 4 },
    ]);
    let batch = json!({ "all_or_none": true, "checks": checks });
    let call = ask(&routes, "/v1/check/batch", &batch);
    server.cancel_when_asked(call, async || assert_eq!(left().await, [2, 1])).await;
    assert_eq!(left().await, [5, 5]);
}

#[tokio::test]
async fn servers_are_asked_side_by_side() {
    for (silent, all_or_none) in [(RemoteVerb::Take, false), (RemoteVerb::Peek, true)] {
        let registry = SilentServer::in_pairs(silent).registry(TWO);
        let routes = api::routes(Service::new(Limiters::new(registry)));
        // More than are on their way at once.
        let checks = vec![["one", "other"].map(|name| json!({ "limiter": name })); 50].concat();
        let batch = json!({ "all_or_none": all_or_none, "checks": checks });
        let answer = ask(&routes, "/v1/check/batch", &batch);
        let answer = tokio::time::timeout(Duration::from_secs(600), answer).await.unwrap();
        for answer in answer["answers"].as_array().unwrap() {
            assert_eq!(answer["decision"], "granted", "{silent:?}");
        }
    }
}

#[tokio::test]
async fn a_batch_with_a_wrong_check_takes_nothing() {
    let service = Running::of(POLICY).await;
    let body = json!({ "checks": [{ "limiter": "all" }, { "limiter": "nobody" }] });
    let (status, detail) = service.failure("/v1/check/batch", &body).await;
    assert!(status == 404 && detail.starts_with("checks[1]: `limiter`: "), "{detail}");
    let body = json!({ "checks": [{ "limiter": "all" }, { "limiter": "all", "cost": "1" }] });
    let (status, detail) = service.failure("/v1/check/batch", &body).await;
    assert!(status == 400 && detail.starts_with("`checks[1].cost`: "), "{detail}");
    let (_, state) = service.post("/v1/peek", &json!({ "limiter": "all", "cost": 0 })).await;
    assert_eq!(state["remaining"], 5);
    service.end().await;
}

#[tokio::test]
async fn an_empty_batch_is_answered_and_one_too_large_is_not() {
    let service = Running::start(service_of(POLICY).max_checks(3), Bounds::default()).await;
    let of = |checks: usize, all_or_none: bool| {
        let check = json!({ "limiter": "all", "cost": 0 });
        json!({ "checks": vec![check; checks], "all_or_none": all_or_none })
    };
    assert_eq!(service.post("/v1/check/batch", &of(0, false)).await.1, json!({ "answers": [] }));
    let empty = json!({ "decision": "granted", "answers": [] });
    assert_eq!(service.post("/v1/check/batch", &of(0, true)).await.1, empty);
    assert_eq!(service.post("/v1/check/batch", &of(3, false)).await.0, 200);
    let (status, detail) = service.failure("/v1/check/batch", &of(4, false)).await;
    assert_eq!((status, &detail[..]), (413, "`checks` has 4 elements: must be at most 3"));
    service.end().await;
}

#[tokio::test]
async fn denials_of_all_or_none_are_in_the_metrics() {
    let service = Running::of(POLICY).await;
    let checks = json!([{ "limiter": "user", "key": "ada" }, { "limiter": "all", "cost": 6 }]);
    let batch = json!({ "all_or_none": true, "checks": checks });
    assert_eq!(service.post("/v1/check/batch", &batch).await.1["which"], 1);
    let page = service.get("/metrics").await.text().await.unwrap();
    for (limiter, permits) in [("all", 6), ("user", 0)] {
        let line = format!("sluicegate_denied_permits_total{{limiter=\"{limiter}\"}} {permits}\n");
        assert!(page.contains(&line), "{line}: {page}");
    }
    service.end().await;
}

#[tokio::test]
async fn looks_and_all_or_none_tell_what_a_limiter_that_only_counts_would_deny() {
    let service = Running::of(POLICY).await;
    let ada = json!({ "limiter": "counted", "key": "ada" });
    let all = json!({ "all_or_none": true, "checks": [ada, { "limiter": "all" }] });
    for would_deny in [None, Some(&json!(true))] {
        let (_, peek) = service.post("/v1/peek", &ada).await;
        assert_eq!((&peek["decision"], peek.get("would_deny")), (&json!("granted"), would_deny));
        let (_, batch) = service.post("/v1/check/batch", &all).await;
        assert_eq!(batch["decision"], "granted");
        assert_eq!(batch["answers"][0].get("would_deny"), would_deny);
    }
    service.end().await;
}
