//! The fields that Envoy adds to the response of the client.

use std::fs;
use std::time::Duration;

use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::RateLimitRequest;

use super::served::{Served, descriptor, request};

const YAML: &str = "
domain: d
descriptors:
  - key: few
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: many
    rate_limit: { unit: hour, requests_per_unit: 100 }
  - key: free
    rate_limit: { unlimited: true }
";

fn of(keys: &[&str]) -> RateLimitRequest {
    let descriptors = keys.iter().map(|key| descriptor(&[(key, "v")])).collect();
    RateLimitRequest { descriptors, ..request("d", &[]) }
}

async fn fields(served: &Served, keys: &[&str]) -> Vec<(String, String)> {
    let answer = served.ask(of(keys)).await.unwrap();
    answer.response_headers_to_add.into_iter().map(|field| (field.key, field.value)).collect()
}

fn three(limit: &str, remaining: &str, reset: &str) -> Vec<(String, String)> {
    let names = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
    let values = [limit, remaining, reset];
    names.iter().zip(values).map(|(name, value)| (name.to_string(), value.to_owned())).collect()
}

#[tokio::test]
async fn the_limit_that_is_exceeded_or_has_least_left_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), YAML).unwrap();
    let served = Served::start(folder.path(), 100).await;
    served.clock.advance(Duration::from_millis(10_500));
    assert_eq!(fields(&served, &["many", "few"]).await, three("2", "1", "50"));
    assert_eq!(fields(&served, &["free", "many"]).await, three("100", "98", "3590"));
    assert_eq!(fields(&served, &["few"]).await, three("2", "0", "50"));
    // Over the limit of `few`; nothing of `many` is counted.
    assert_eq!(fields(&served, &["many", "few"]).await, three("2", "0", "50"));
    assert_eq!(fields(&served, &["many"]).await, three("100", "97", "3590"));
    assert_eq!(fields(&served, &["free", "unknown"]).await, []);
}

#[tokio::test]
async fn no_field_is_told_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), YAML).unwrap();
    let served = Served::start(folder.path(), 100).await;
    let limits = served.limits.clone();
    let answer = sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_server::RateLimitService::should_rate_limit(&limits, tonic::Request::new(of(&["few"])));
    let answer = answer.await.unwrap().into_inner();
    assert_eq!((answer.statuses.len(), answer.response_headers_to_add.len()), (1, 0));
}
