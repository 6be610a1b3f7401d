//! Answers to Envoy besides codes: limits in shadow and in quota mode, and metadata of the file.

use std::fs;

use prost_types::value::Kind;
use prost_types::{Struct, Value};
use serde_json::{Value as Json, json};
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_server::RateLimitService;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::{
    RateLimitRequest, RateLimitResponse,
};
use tonic::Request;

use super::served::{Served, descriptor, request};

const YAML: &str = "
domain: d
descriptors:
  - key: new
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1, name: checkout }
  - key: path
    value: /é*
    descriptors:
      - key: user
        shadow_mode: true
        rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: service
    value: one
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
    metadata: { backends: { one: { weight: 3, zones: [a, true, null] } }, first: 1 }
  - key: service
    value: two
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
    metadata: { backends: { two: 2.5 }, first: 2 }
";

async fn served() -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), YAML).unwrap();
    Served::start(folder.path(), 100).await
}

fn of(descriptors: &[&[(&str, &str)]]) -> RateLimitRequest {
    let descriptors = descriptors.iter().map(|entries| descriptor(entries)).collect();
    RateLimitRequest { descriptors, ..request("d", &[]) }
}

fn json(value: &Value) -> Json {
    match value.kind.as_ref().unwrap() {
        Kind::NullValue(_) => Json::Null,
        Kind::BoolValue(truth) => json!(truth),
        Kind::NumberValue(number) => json!(number),
        Kind::StringValue(text) => json!(text),
        Kind::ListValue(list) => list.values.iter().map(json).collect(),
        Kind::StructValue(structure) => fields(structure),
    }
}

fn fields(structure: &Struct) -> Json {
    structure.fields.iter().map(|(name, value)| (name.clone(), json(value))).collect()
}

fn metadata(answer: &RateLimitResponse) -> Json {
    answer.dynamic_metadata.as_ref().map_or(Json::Null, fields)
}

#[tokio::test]
async fn a_request_that_a_limit_in_shadow_mode_would_have_refused_is_told_and_counted() {
    let served = served().await;
    let question = of(&[&[("nothing", "v")], &[("new", "v")], &[("path", "/é"), ("user", "u")]]);
    let answer = served.ask(question.clone()).await.unwrap();
    let named = |answer: &RateLimitResponse| {
        let fields = answer.response_headers_to_add.iter();
        let field = fields.clone().find(|field| field.key == "RateLimit-Shadow");
        field.map(|field| field.value.clone())
    };
    assert_eq!((named(&answer), metadata(&answer)), (None, Json::Null));
    let answer = served.ask(question).await.unwrap();
    assert_eq!(answer.overall_code(), Code::Ok);
    assert_eq!(named(&answer).unwrap(), "checkout, path=/?*.user");
    assert_eq!(metadata(&answer), json!({ "shadowModeViolations": [1.0, 2.0] }));
    let page = served.metrics.page();
    for limit in ["checkout", "path=/é*.user"] {
        let line = format!("sluicegate_envoy_shadowed_total{{domain=\"d\",limit=\"{limit}\"}} 1\n");
        assert!(page.contains(&line), "{line} is not in {page}");
    }
    // One series for each limit in shadow mode, whatever clients send.
    let series = page.lines().filter(|line| line.starts_with("sluicegate_envoy_shadowed_total"));
    assert_eq!(series.count(), 2);
}

#[tokio::test]
async fn quotas_that_are_used_up_are_told_and_metadata_of_those_that_are_not() {
    let served = served().await;
    let question = of(&[&[("service", "one")], &[("service", "two")]]);
    let answer = served.ask(question.clone()).await.unwrap();
    let one = json!({ "weight": 3.0, "zones": ["a", true, null] });
    let both = json!({ "metadata": { "backends": { "one": one, "two": 2.5 }, "first": 1.0 } });
    assert_eq!(metadata(&answer), both);
    let answer = served.ask(question.clone()).await.unwrap();
    let second = json!({
        "quotaModeViolations": [0.0],
        "metadata": { "backends": { "two": 2.5 }, "first": 2.0 },
    });
    assert_eq!((answer.overall_code(), metadata(&answer)), (Code::Ok, second));
    let answer = served.ask(question).await.unwrap();
    let none = json!({ "quotaModeViolations": [0.0, 1.0] });
    assert_eq!((answer.overall_code(), metadata(&answer)), (Code::OverLimit, none));
}

#[tokio::test]
async fn the_question_is_in_the_metadata_if_asked_for() {
    let served = served().await;
    let limits = served.limits.clone().with_question_in_metadata();
    let mut question = of(&[&[("new", "v"), ("more", "w")], &[("service", "two")]]);
    question.hits_addend = 3;
    question.descriptors[0].hits_addend = Some(0);
    question.descriptors[0].entries[1].value = b"\xc3\xa9 \xe9".to_vec();
    let answer = limits.should_rate_limit(Request::new(question)).await.unwrap();
    let expected = json!({
        "domain": "d",
        "descriptors": [
            { "entries": ["new=v", "more=é \\xe9"], "hitsAddend": 0.0 },
            { "entries": ["service=two"] },
        ],
        "hitsAddend": 3.0,
        "quotaModeEnabled": true,
        "quotaModeViolations": [1.0],
    });
    assert_eq!(metadata(answer.get_ref()), expected);
}
