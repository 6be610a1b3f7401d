//! Requests that are to do harm.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use prost::Message as _;
use reqwest::Response;
use sluicegate::Clock;
use sluicegate::clock::UnixClock;
use sluicegate_serve::Bounds;
use sluicegate_serve::envoy::EnvoyLimits;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::RateLimitRequest;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_server::RateLimitService;
use sluicegate_serve::metrics::Metrics;
use tonic::{Code as Grpc, Request};

use super::served::{Served, Setup, descriptor_of_bytes, request};

const YAML: &str = "
domain: d
descriptors:
  - key: k
    rate_limit: { unit: year, requests_per_unit: 2 }
";

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(&path, YAML).unwrap();
    (folder, path)
}

/// Returns the code of the answer, or the status of the refusal to answer.
async fn ask(limits: &EnvoyLimits, request: RateLimitRequest) -> Result<Code, Grpc> {
    let answer = limits.should_rate_limit(Request::new(request)).await;
    answer.map(|answer| answer.get_ref().overall_code()).map_err(|status| status.code())
}

#[tokio::test]
async fn a_hundred_thousand_domains_take_no_memory_and_make_no_series() {
    let (_folder, path) = file();
    let limits = EnvoyLimits::with_clock(path, None, 1_000, UnixClock::new()).unwrap();
    let metrics = Metrics::new();
    limits.counted(&metrics);
    let before = metrics.page();
    for number in 0..100_000 {
        let domain = format!("domain-{number}");
        assert_eq!(ask(&limits, request(&domain, &[("k", "v")])).await, Ok(Code::Ok));
    }
    assert_eq!(metrics.page(), before);
    // There is room for all that could be counted.
    for number in 0..500 {
        let value = number.to_string();
        assert_eq!(ask(&limits, request("d", &[("k", &value)])).await, Ok(Code::Ok));
    }
}

#[tokio::test]
async fn more_than_a_hundred_thousand_values_are_refused_and_those_that_are_counted_are_answered() {
    const SPACE: u32 = 100_000;
    let (_folder, path) = file();
    let limits = EnvoyLimits::with_clock(path, None, SPACE as usize, UnixClock::new()).unwrap();
    assert_eq!(ask(&limits, request("d", &[("k", "honest")])).await, Ok(Code::Ok));
    let mut counted = 0;
    for number in 0..SPACE + 300 {
        match ask(&limits, request("d", &[("k", &number.to_string())])).await {
            Ok(code) => {
                assert_eq!(code, Code::Ok);
                counted += 1;
            }
            Err(status) => assert_eq!(status, Grpc::Unavailable),
        }
    }
    assert!((SPACE / 2..SPACE).contains(&counted), "{counted}");
    for code in [Code::Ok, Code::OverLimit] {
        assert_eq!(ask(&limits, request("d", &[("k", "honest")])).await, Ok(code));
    }
}

#[tokio::test]
async fn a_value_of_any_length_and_any_bytes_is_counted_by_itself() {
    let (_folder, path) = file();
    let served = Served::start(&path, 100).await;
    for length in [10, 100, 5_000, 5_001, 500_000] {
        let value = "x".repeat(length);
        for code in [Code::Ok, Code::Ok, Code::OverLimit] {
            let answer = served.ask(request("d", &[("k", &value)])).await.unwrap();
            assert_eq!(answer.overall_code(), code, "{length}");
        }
    }
    // Fields of HTTP have bytes of any sort, and Envoy hands them on.
    for value in [&b"\xff\xfe"[..], b"caf\xe9", b"caf\xe8", "caf\u{e9}".as_bytes(), b"k\0"] {
        for code in [Code::Ok, Code::Ok, Code::OverLimit] {
            let question = RateLimitRequest {
                descriptors: vec![descriptor_of_bytes(&[("k", value)])],
                ..request("d", &[])
            };
            let answer = served.ask(question).await.unwrap();
            assert_eq!(answer.overall_code(), code, "{}", value.escape_ascii());
        }
    }
    // Others in the question do not matter.
    let many: Vec<(&str, &str)> = vec![("k", "v"); 150];
    let mut question = request("d", &many);
    question.descriptors.extend(vec![question.descriptors[0].clone(); 150]);
    assert_eq!(served.ask(question).await.unwrap().overall_code(), Code::Ok);
}

/// A clock that stands, and counts how often it is read.
#[derive(Clone, Default)]
struct CountedClock {
    reads: Arc<AtomicU64>,
}

impl Clock for CountedClock {
    fn now_nanos(&self) -> u64 {
        self.reads.fetch_add(1, Relaxed);
        1_000_000_000_000_000_000
    }
}

/// The number of readings is that of the counts that were looked at: the time tells whether one makes room.
#[tokio::test]
async fn a_refusal_for_lack_of_space_looks_at_no_more_counts_in_a_large_store_than_in_a_small_one()
{
    for space in [2_000_u64, 40_000] {
        let (_folder, path) = file();
        let clock = CountedClock::default();
        let limits = EnvoyLimits::with_clock(path, None, space as usize, clock.clone()).unwrap();
        let mut refusals = Vec::new();
        for number in 0..2 * space {
            if refusals.len() == 100 {
                break;
            }
            let before = clock.reads.load(Relaxed);
            if ask(&limits, request("d", &[("k", &number.to_string())])).await.is_err() {
                refusals.push(clock.reads.load(Relaxed) - before);
            }
        }
        let most = refusals.iter().max().copied().unwrap_or_default();
        assert!(refusals.len() == 100 && most <= 300, "{space}: {refusals:?}");
    }
}

#[tokio::test]
async fn a_question_for_which_there_is_no_space_is_told_to_come_again() {
    let (_folder, path) = file();
    let bounds = Bounds { bodies: 100, ..Bounds::default() };
    let served = Served::with(&path, Setup { bounds, ..Setup::default() }).await;
    let status = served.ask(request("d", &[("k", "v")])).await.unwrap_err();
    assert_eq!(status.code(), Grpc::Unavailable, "{status}");
    assert!(status.message().contains("ask again in a second"), "{status}");
}

#[tokio::test]
async fn a_question_with_a_field_that_is_not_known_is_refused_and_charges_nothing() {
    let (_folder, path) = file();
    let served = Served::start(&path, 100).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let url = format!(
        "http://{}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
        served.address
    );
    let post = async |message: Vec<u8>| -> Vec<u8> {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let body = [&[0][..], &length, &message].concat();
        let request = client.post(&url).header("content-type", "application/grpc");
        let response = request.header("te", "trailers").body(body).send().await.unwrap();
        response
            .headers()
            .get("grpc-status")
            .map_or(b"0".to_vec(), |status| status.as_bytes().to_vec())
    };
    let message = request("d", &[("k", "v")]).encode_to_vec();
    // A field of the request, and one of the descriptor, whose length is in the byte before it.
    let of_request = [&message[..], &[0x28, 1]].concat();
    let mut of_descriptor = [&message[..], &[0x28, 1]].concat();
    of_descriptor[4] += 2;
    assert_eq!(of_descriptor[3], 0x12);
    for unknown in [of_request, of_descriptor] {
        // UNIMPLEMENTED.
        assert_eq!(post(unknown).await, b"12");
    }
    // Those that are known may have the values that others leave out.
    let zeros = [&message[..], &[0x18, 0]].concat();
    for expected in [Code::Ok, Code::OverLimit] {
        assert_eq!(post(zeros.clone()).await, b"0");
        let answer = served.ask(request("d", &[("k", "v")])).await.unwrap();
        assert_eq!(answer.overall_code(), expected);
    }
}

#[tokio::test]
async fn messages_that_are_none_are_refused_and_the_next_is_answered() {
    let (_folder, path) = file();
    let served = Served::start(&path, 100).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let url = format!(
        "http://{}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
        served.address
    );
    let post = async |body: Vec<u8>| -> Response {
        let request = client.post(&url).header("content-type", "application/grpc");
        request.header("te", "trailers").body(body).send().await.unwrap()
    };
    // A frame has a flag, a length of 4 bytes, and a message.
    let frame = |length: u32, message: &[u8]| [&[0][..], &length.to_be_bytes(), message].concat();
    let wrong = [
        frame(4, &[0xff; 4]),
        frame(4, b"\x0a\xff\xff\xff"),
        frame(u32::MAX, b"short"),
        frame(8 << 20, &vec![0; 8 << 20]),
        vec![7; 5],
        vec![1, 0, 0, 0, 1, 0],
        b"no frame".to_vec(),
        Vec::new(),
    ];
    let count = wrong.len();
    for body in wrong {
        let start: Vec<u8> = body.iter().copied().take(12).collect();
        let response = post(body).await;
        let status = response.headers().get("grpc-status").map(|status| status.as_bytes().to_vec());
        assert!(status.is_some_and(|status| status != b"0"), "{start:?}");
        let answer = served.ask(request("d", &[("k", "v"), ("k", "v")])).await.unwrap();
        assert_eq!(answer.overall_code(), Code::Ok);
    }
    // Each is counted: the status of the most is INTERNAL.
    let page = served.metrics.page();
    let refused = page.lines().filter(|line| line.starts_with("sluicegate_envoy_refused_total"));
    let refused = refused.map(|line| line.rsplit_once(' ').unwrap().1.parse::<usize>().unwrap());
    assert_eq!(refused.sum::<usize>(), count, "{page}");
}
