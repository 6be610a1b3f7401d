//! Requests that are wrong, many descriptors, and many clients at once.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::ManualClock;
use sluicegate_policy::RemoteVerb;
use sluicegate_serve::Limiters;
use sluicegate_serve::envoy::EnvoyLimits;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::RateLimitOverride;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::RateLimitRequest;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_server::RateLimitService;
use tonic::{Code as Grpc, Request};

use super::served::{Served, descriptor, request};
use crate::service::silent_server::{STORE, SilentServer, TWO};

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
    let own = RateLimitOverride { requests_per_unit: 1, unit: 99 };
    let cases = [
        (request("", &[("k", "v")]), "`domain` is empty"),
        (
            RateLimitRequest { descriptors: Vec::new(), ..request("d", &[]) },
            "`descriptors` has 0: must be from 1 to 1000",
        ),
        (
            RateLimitRequest {
                descriptors: vec![descriptor(&[("k", "v")]); 1_001],
                ..request("d", &[])
            },
            "`descriptors` has 1001",
        ),
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
async fn hits_are_given_back_only_if_the_service_is_started_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), YAML).unwrap();
    let limits = EnvoyLimits::with_clock(folder.path(), None, 10, Arc::new(ManualClock::new()));
    let limits = limits.unwrap();
    let ask = async |question| limits.should_rate_limit(Request::new(question)).await;
    ask(request("d", &[("k", "v")])).await.unwrap();
    let mut back = request("d", &[("k", "v")]);
    back.descriptors.push(back.descriptors[0].clone());
    back.descriptors[1].is_negative_hits = true;
    let status = ask(back).await.unwrap_err();
    assert_eq!(status.code(), Grpc::Unimplemented);
    let words = "`descriptors[1].is_negative_hits` is for a service that is started with `--envoy-give-back`";
    assert!(status.message().contains(words), "{status}");
    // Nothing was counted, in either descriptor.
    let answer = ask(request("d", &[("k", "v")])).await.unwrap();
    assert_eq!(answer.get_ref().statuses[0].limit_remaining, 98);
}

#[tokio::test]
async fn a_caller_that_goes_away_half_way_gives_back_all_hits_of_its_request() {
    let policies = format!(
        "[limiters.bucket]\npolicy = \"token_bucket\"\nkey = \"all\"\nlimit = 5\n\
         rate = {{ amount = 1, interval = \"1 day\" }}\n\
         [limiters.silent]\npolicy = \"fixed_window\"\nkey = \"all\"\nlimit = 5\n\
         interval = \"1 day\"\n{STORE}\n"
    );
    let yaml = "domain: d\ndescriptors:\n  - key: window\n    \
                rate_limit: { unit: day, requests_per_unit: 5 }\n  - key: silent\n    \
                rate_limit: { limiter: silent }\n  - key: bucket\n    \
                rate_limit: { limiter: bucket }\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), yaml).unwrap();
    let server = SilentServer::default();
    let registry = server.registry(&policies);
    let (clock, limiters) = (Arc::new(ManualClock::new()), Limiters::new(registry.clone()));
    let limits = EnvoyLimits::with_clock(folder.path(), Some(limiters), 100, clock).unwrap();
    let of = |keys: &[&str]| {
        let descriptors = keys.iter().map(|key| descriptor(&[(key, "v")])).collect();
        Request::new(RateLimitRequest { descriptors, ..request("d", &[]) })
    };
    let bucket = || registry.limiter("bucket").unwrap().peek(0).unwrap().remaining();
    let call = limits.should_rate_limit(of(&["window", "silent", "bucket"]));
    server.cancel_when_asked(call, async || assert_eq!(bucket(), 4)).await;
    assert_eq!(bucket(), 5);
    let answer = limits.should_rate_limit(of(&["window"])).await.unwrap();
    assert_eq!(answer.get_ref().statuses[0].limit_remaining, 4);
}

#[tokio::test]
async fn the_servers_of_several_descriptors_are_asked_side_by_side() {
    let yaml = "domain: d\ndescriptors:\n  - key: one\n    rate_limit: { limiter: one }\n  \
                - key: other\n    rate_limit: { limiter: other }\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), yaml).unwrap();
    // Hits that may be used already are taken without a look.
    for (silent, hits_addend) in [(RemoteVerb::Peek, 0), (RemoteVerb::Take, 2)] {
        let limiters = Limiters::new(SilentServer::in_pairs(silent).registry(TWO));
        let clock = Arc::new(ManualClock::new());
        let limits = EnvoyLimits::with_clock(folder.path(), Some(limiters), 100, clock).unwrap();
        let descriptors = ["one", "other"].map(|key| descriptor(&[(key, "v")])).into();
        let question = RateLimitRequest { descriptors, hits_addend, ..request("d", &[]) };
        let answer = limits.should_rate_limit(Request::new(question));
        let answer = tokio::time::timeout(Duration::from_secs(600), answer).await.unwrap();
        assert_eq!(answer.unwrap().get_ref().overall_code, Code::Ok as i32, "{silent:?}");
    }
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
