//! Requests that are wrong, many descriptors, and many clients at once.

use std::fs;
use std::time::Duration;

use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::RateLimitOverride;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::RateLimitRequest;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;
use tonic::Code as Grpc;

use super::served::{Served, descriptor, request};

const YAML: &str = "
domain: d
descriptors:
  - key: k
    rate_limit: { unit: hour, requests_per_unit: 100 }
";

async fn served(max_keys: usize) -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), YAML).unwrap();
    Served::start(folder.path(), max_keys).await
}

#[tokio::test]
async fn a_request_that_is_wrong_is_told_what_is_right() {
    let served = served(100).await;
    let long = "x".repeat(5_000);
    let own = RateLimitOverride { requests_per_unit: 1, unit: 99 };
    let cases = [
        (request("", &[("k", "v")]), "`domain` is empty"),
        (
            RateLimitRequest { descriptors: Vec::new(), ..request("d", &[]) },
            "`descriptors` has 0: must be from 1 to 100",
        ),
        (
            RateLimitRequest {
                descriptors: vec![descriptor(&[("k", "v")]); 101],
                ..request("d", &[])
            },
            "`descriptors` has 101",
        ),
        (request("d", &[("k", "v"); 101]), "`descriptors[0].entries` has 101: must be at most 100"),
        (request("d", &[("k", &long)]), "must be at most 4096"),
        (
            RateLimitRequest {
                descriptors: vec![
                    descriptor(&[("k", "v")]),
                    RateLimitDescriptor { limit: Some(own), ..descriptor(&[("k", "v")]) },
                ],
                ..request("d", &[])
            },
            "`descriptors[1].limit.unit` is 99: must be second, minute",
        ),
    ];
    for (request, words) in cases {
        let status = served.ask(request).await.unwrap_err();
        assert_eq!(status.code(), Grpc::InvalidArgument);
        assert!(status.message().contains(words), "{}", status.message());
    }
    // Nothing was counted; and a descriptor without entries has no limit.
    let answer = served.ask(request("d", &[("k", "v")])).await.unwrap();
    assert_eq!(answer.statuses[0].limit_remaining, 99);
    let answer = served.ask(request("d", &[])).await.unwrap();
    assert_eq!(answer.overall_code, Code::Ok as i32);
}

#[tokio::test]
async fn more_descriptors_than_there_is_room_for_are_unavailable_until_windows_end() {
    let served = served(50).await;
    let mut answered = 0;
    for key in 0..200 {
        match served.ask(request("d", &[("k", &key.to_string())])).await {
            Ok(_) => answered += 1,
            Err(status) => {
                assert_eq!(status.code(), Grpc::Unavailable);
                assert!(status.message().contains("no space"), "{}", status.message());
            }
        }
    }
    assert!((1..=50).contains(&answered), "{answered}");
    // Those that are counted are answered as before.
    assert_eq!(
        served.ask(request("d", &[("k", "0")])).await.unwrap().statuses[0].limit_remaining,
        98
    );
    served.clock.advance(Duration::from_secs(3_600));
    for key in 200..220 {
        served.ask(request("d", &[("k", &key.to_string())])).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_clients_at_once_never_exceed_a_limit() {
    let served = served(100).await;
    let mut asked = Vec::new();
    for _ in 0..400 {
        let mut client = served.client.clone();
        asked.push(tokio::spawn(async move {
            let request = RateLimitRequest {
                descriptors: vec![descriptor(&[("k", "a")]), descriptor(&[("k", "b")])],
                ..request("d", &[])
            };
            let answer = client.should_rate_limit(request).await.unwrap().into_inner();
            u32::from(answer.overall_code == Code::Ok as i32)
        }));
    }
    let mut granted = 0;
    for ask in asked {
        granted += ask.await.unwrap();
    }
    assert_eq!(granted, 100);
}
