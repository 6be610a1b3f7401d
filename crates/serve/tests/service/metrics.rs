//! The page that Prometheus reads.

use std::collections::{BTreeMap, BTreeSet};

use prometheus_parse::{Sample, Scrape, Value};
use reqwest::StatusCode;
use serde_json::{Value as Json, json};

use super::running::{POLICY, Running};

async fn scrape(service: &Running) -> Scrape {
    let response = service.get("/metrics").await;
    assert_eq!(response.status(), StatusCode::OK);
    let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(media_type.starts_with("application/openmetrics-text"), "{media_type}");
    let page = response.text().await.unwrap();
    assert!(page.ends_with("# EOF\n"), "{page}");
    Scrape::parse(page.lines().map(|line| Ok(line.to_owned()))).unwrap()
}

fn value(scrape: &Scrape, name: &str, labels: &[(&str, &str)]) -> u64 {
    let is_it = |sample: &&Sample| {
        let has = |(label, value): &(&str, &str)| sample.labels.get(label) == Some(*value);
        sample.metric == name && labels.iter().all(has)
    };
    match scrape.samples.iter().find(is_it).map(|sample| &sample.value) {
        Some(Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value))
            if value.fract() == 0.0 =>
        {
            *value as u64
        }
        other => panic!("{name} {labels:?} is {other:?} in {:#?}", scrape.samples),
    }
}

#[tokio::test]
async fn the_page_counts_decisions_by_limiter_and_outcome_and_requests_by_route_and_status() {
    let service = Running::of(POLICY).await;
    for _ in 0..7 {
        service.check(json!({ "limiter": "all" })).await;
    }
    service.check(json!({ "limiter": "user", "key": "ada" })).await;
    assert_eq!(service.failure("/v1/check", &json!({ "limiter": "none" })).await.0, 404);
    assert_eq!(service.get("/nowhere").await.status(), 404);
    let stranger =
        service.client.get(service.url("/v1/limiters")).header("host", "rebound.example");
    assert_eq!(stranger.send().await.unwrap().status(), 421);
    let page = scrape(&service).await;
    let all = ("limiter", "all");
    assert_eq!(value(&page, "sluicegate_grants_total", &[all]), 5);
    assert_eq!(value(&page, "sluicegate_denials_total", &[all, ("reason", "rate")]), 2);
    assert_eq!(value(&page, "sluicegate_granted_permits_total", &[("limiter", "user")]), 2);
    assert_eq!(value(&page, "sluicegate_keys", &[("limiter", "user")]), 1);
    let requests = |route, status| {
        let labels = [("route", route), ("status", status)];
        value(&page, "sluicegate_serve_requests_total", &labels)
    };
    assert_eq!(requests("/v1/check", "200"), 8);
    assert_eq!(requests("/v1/check", "404"), 1);
    assert_eq!(requests("/v1/check", "dropped"), 0);
    assert_eq!(requests("none", "404"), 1);
    assert_eq!(requests("none", "421"), 1);
    let count = [("route", "/v1/check")];
    let times = page.samples.iter().find(|sample| {
        sample.metric == "sluicegate_serve_request_seconds"
            && sample.labels.get("route") == Some("/v1/check")
    });
    let Some(Value::Histogram(buckets)) = times.map(|sample| &sample.value) else {
        panic!("no times of {count:?} in {:#?}", page.samples);
    };
    assert_eq!(buckets.last().map(|bucket| bucket.count), Some(9.0));
    assert!(value(&page, "sluicegate_serve_open_connections", &[]) >= 1);
    assert!(value(&page, "sluicegate_serve_connections_total", &[]) >= 1);
    service.end().await;
}

#[tokio::test]
async fn clients_cannot_make_series() {
    let service = Running::of(POLICY).await;
    let names = |page: &Scrape| -> BTreeSet<String> {
        let series = page.samples.iter().filter(|sample| {
            // Those of the route that has answered the first time since the first page.
            sample.labels.get("route") != Some("/metrics")
        });
        let named = |sample: &Sample| {
            let labels: BTreeMap<_, _> = sample.labels.iter().collect();
            format!("{} {labels:?}", sample.metric)
        };
        series.map(named).collect()
    };
    service.check(json!({ "limiter": "user", "key": "first" })).await;
    service.get("/nowhere/0").await;
    service.failure("/v1/check", &json!({ "limiter": "none" })).await;
    let before = names(&scrape(&service).await);
    for number in 0..50 {
        service.get(&format!("/nowhere/{number}?{number}")).await;
        service.check(json!({ "limiter": "user", "key": format!("key-{number}") })).await;
        let unknown = json!({ "limiter": format!("limiter-{number}") });
        service.failure("/v1/check", &unknown).await;
    }
    let page = scrape(&service).await;
    assert_eq!(names(&page), before);
    assert_eq!(value(&page, "sluicegate_keys", &[("limiter", "user")]), 51);
    service.end().await;
}

const REASONS: &str = r#"
    [limiters.log-ins]
    key = "client"
    policy = "fixed_window"
    limit = 1
    interval = "1 day"
    penalty = { offences = 2, within = "1 day", refuse_for = "1 day", by = ["refusals"] }
    [limiters.named]
    key = { header = "x-api-key" }
    policy = "fixed_window"
    limit = 1
    interval = "1 day"
    wait = "1 s"
"#;

/// Five requests that a penalty refuses are not five for which the limit was too tight.
#[tokio::test]
async fn each_denial_is_counted_by_the_reason_of_its_answer() {
    let service = Running::of(REASONS).await;
    let mut told = BTreeMap::new();
    let mut tell = |limiter: &'static str, answer: &Json| {
        if let Some(reason) = answer["reason"].as_str() {
            *told.entry((limiter, reason.to_owned())).or_insert(0_u64) += 1;
        }
    };
    for _ in 0..5 {
        tell("log-ins", &service.check(json!({ "limiter": "log-ins", "key": "a" })).await);
        tell("named", &service.check(json!({ "limiter": "named", "key": "a" })).await);
        tell("named", &service.check(json!({ "limiter": "named", "key": "" })).await);
        let late = json!({ "limiter": "named", "key": "a", "wait": 1 });
        tell("named", &service.check(late).await);
        let dear = json!({ "limiter": "named", "key": "a", "cost": 2 });
        tell("named", &service.check(dear).await);
        let both = json!({ "all_or_none": true, "checks": [
            { "limiter": "log-ins", "key": "a" }, { "limiter": "named", "key": "" },
        ] });
        let (_, batch) = service.post("/v1/check/batch", &both).await;
        tell("log-ins", &batch["answers"][0]);
        tell("named", &batch["answers"][1]);
    }
    for reason in ["rate", "timed_out", "too_large", "missing_key"] {
        assert!(told.contains_key(&("named", reason.to_owned())), "{reason}: {told:?}");
    }
    let page = scrape(&service).await;
    let denials = page.samples.iter().filter(|sample| sample.metric == "sluicegate_denials_total");
    let counted = denials.filter_map(|sample| {
        let limiter = ["log-ins", "named"]
            .into_iter()
            .find(|name| sample.labels.get("limiter") == Some(name))?;
        let reason = sample.labels.get("reason")?.to_owned();
        let count = value(&page, &sample.metric, &[("limiter", limiter), ("reason", &reason)]);
        (count > 0).then_some(((limiter, reason), count))
    });
    assert_eq!(counted.collect::<BTreeMap<_, _>>(), told);
    // A proxy is told by the status alone.
    let url = service.url("/v1/auth?limiters=named");
    let request = service.client.get(url).header("x-forwarded-for", "192.0.2.7");
    assert_eq!(request.send().await.unwrap().status(), 429);
    let labels = [("limiter", "named"), ("reason", "missing_key")];
    let before = told[&("named", "missing_key".to_owned())];
    let page = scrape(&service).await;
    assert_eq!(value(&page, "sluicegate_denials_total", &labels), before + 1);
    service.end().await;
}
