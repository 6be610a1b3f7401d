//! The page that Prometheus reads.

use std::collections::{BTreeMap, BTreeSet};

use prometheus_parse::{Sample, Scrape, Value};
use reqwest::StatusCode;
use serde_json::json;

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
