//! The health of services of gRPC, and the counts of requests.

use std::fs;

use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::served::{Served, request};

const YAML: &str = "
domain: d
descriptors:
  - key: k
    rate_limit: { unit: hour, requests_per_unit: 2 }
";

async fn served() -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), YAML).unwrap();
    Served::start(folder.path(), 100).await
}

#[tokio::test]
async fn the_service_and_the_server_are_healthy_and_another_is_not_known() {
    let served = served().await;
    let mut client = HealthClient::new(served.channel.clone());
    let mut check = async |service: &str| {
        client.check(HealthCheckRequest { service: service.to_owned() }).await
    };
    for service in ["", "envoy.service.ratelimit.v3.RateLimitService"] {
        let status = check(service).await.unwrap().into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{service:?}");
    }
    assert_eq!(check("other").await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn requests_are_counted_by_domains_that_are_configured_and_by_answer() {
    let served = served().await;
    for _ in 0..3 {
        served.ask(request("d", &[("k", "v")])).await.unwrap();
    }
    served.ask(request("other", &[("k", "v")])).await.unwrap();
    served.limits.reload().unwrap_err();
    served.ask(request("d", &[("k", "v")])).await.unwrap();
    let page = served.metrics.page();
    let counts: Vec<&str> =
        page.lines().filter(|line| line.starts_with("sluicegate_envoy_requests_total")).collect();
    assert_eq!(counts.len(), 2, "{page}");
    for count in [
        "sluicegate_envoy_requests_total{domain=\"d\",code=\"ok\"} 2",
        "sluicegate_envoy_requests_total{domain=\"d\",code=\"over_limit\"} 2",
    ] {
        assert!(counts.contains(&count), "{counts:?}");
    }
}
