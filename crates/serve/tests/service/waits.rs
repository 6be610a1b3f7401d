//! Checks that wait in line.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::running::Running;

/// A limiter that refills in a moment, and one of which nobody sees the next permit.
pub(super) const POLICY: &str = r#"
[limiters.fast]
policy = "token_bucket"
key = "all"
limit = 1
rate = { amount = 1, interval = "20 ms" }
wait = "1 minute"

[limiters.slow]
policy = "token_bucket"
key = "user"
limit = 1
rate = { amount = 1, interval = "1 hour" }
wait = "3 hours"

[limiters.strict]
policy = "token_bucket"
key = "all"
limit = 1
rate = { amount = 1, interval = "1 hour" }
"#;

async fn waiting(service: &Running) -> u64 {
    let page = service.get("/metrics").await.text().await.unwrap();
    let start = "sluicegate_waiting{limiter=\"slow\"} ";
    page.lines().find_map(|line| line.strip_prefix(start)).unwrap().parse::<f64>().unwrap() as u64
}

/// Looks until the number of keys that are waited for is this one.
pub(super) async fn until_waiting(service: &Running, number: u64) {
    let looks = async {
        while waiting(service).await != number {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(600), looks).await;
    assert!(found.is_ok(), "{} wait", waiting(service).await);
}

#[tokio::test]
async fn checks_that_wait_are_all_granted() {
    let service = Running::of(POLICY).await;
    let asks = (0..10).map(|_| {
        let request = service.client.post(service.url("/v1/check"));
        let request = request.json(&json!({ "limiter": "fast", "wait": 50 }));
        tokio::spawn(async move { request.send().await.unwrap().json::<Value>().await.unwrap() })
    });
    for ask in asks.collect::<Vec<_>>() {
        let answer = ask.await.unwrap();
        assert_eq!(answer["decision"], "granted", "{answer}");
    }
    service.end().await;
}

#[tokio::test]
async fn a_check_is_refused_at_once_if_its_permits_come_too_late() {
    let service = Running::of(POLICY).await;
    let ada = |wait: f64| json!({ "limiter": "slow", "key": "ada", "wait": wait });
    assert_eq!(service.check(ada(0.5)).await["decision"], "granted");
    let denied = service.check(ada(60.0)).await;
    assert_eq!((&denied["decision"], &denied["reason"]), (&json!("denied"), &json!("timed_out")));
    let retry_after = denied["retry_after"].as_f64().unwrap();
    assert!(retry_after > 3_500.0 && retry_after <= 3_600.0, "{denied}");
    // The policy's own bound counts too, and the cost is more than the limit.
    let dear = json!({ "limiter": "slow", "key": "ada", "wait": 1e9, "cost": 2 });
    assert_eq!(service.check(dear).await["reason"], "too_large");
    // Without a `wait` in the policy nobody waits.
    let strict = json!({ "limiter": "strict", "wait": 1e9 });
    assert_eq!(service.check(strict.clone()).await["decision"], "granted");
    assert_eq!(service.check(strict).await["decision"], "denied");
    service.end().await;
}

#[tokio::test]
async fn a_client_that_goes_away_gives_its_place_back() {
    let service = Running::of(POLICY).await;
    let ada = json!({ "limiter": "slow", "key": "ada" });
    assert_eq!(service.check(ada.clone()).await["decision"], "granted");
    let body = r#"{"limiter":"slow","key":"ada","wait":7200}"#;
    let head = "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let mut client = TcpStream::connect(service.address).await.unwrap();
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    client.write_all(request.as_bytes()).await.unwrap();
    until_waiting(&service, 1).await;
    // Over HTTP/2, where other requests of the connection go on.
    let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let bob = |wait: u32| {
        let ask = json!({ "limiter": "slow", "key": "bob", "wait": wait });
        http2.post(service.url("/v1/check")).json(&ask).send()
    };
    assert_eq!(bob(0).await.unwrap().status(), 200);
    let waits = tokio::spawn(bob(7_200));
    until_waiting(&service, 2).await;
    waits.abort();
    until_waiting(&service, 1).await;
    drop(client);
    until_waiting(&service, 0).await;
    assert_eq!(bob(0).await.unwrap().status(), 200);
    service.end().await;
}

#[tokio::test]
async fn a_wait_that_is_no_time_is_told_so() {
    let service = Running::of(POLICY).await;
    for (wait, words) in [
        (json!(-1), "`wait`: -1 is no time: must be 0 seconds or more"),
        (json!("1 s"), "`wait`: invalid type"),
    ] {
        let (status, detail) =
            service.failure("/v1/check", &json!({ "limiter": "fast", "wait": wait })).await;
        assert!(status == 400 && detail.contains(words), "{detail}");
    }
    let batch = json!({ "checks": [{ "limiter": "fast", "wait": 1 }] });
    let (status, detail) = service.failure("/v1/check/batch", &batch).await;
    assert!(status == 400 && detail.contains("checks[0]: `wait`"), "{detail}");
    service.end().await;
}
