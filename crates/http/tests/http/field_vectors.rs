//! Responses of other servers and of the drafts, as facts:
//!
//! * the headers that express-rate-limit sends (its `test/library/headers-test.ts`). It has spaces after
//!   semicolons, which RFC 9651 allows and does not write; so its lists are compared as they are parsed.
//! * the examples of draft-ietf-httpapi-ratelimit-headers-10

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac_sha256::Hash;
use http::{HeaderMap, StatusCode};
use sluicegate::window::WindowFromFirst;
use sluicegate::{FixedWindow, ManualClock, Rate};
use sluicegate_http::fields::*;

const MINUTE: Duration = Duration::from_secs(60);
const NOW: u64 = 1_790_000_000;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(NOW * 1_000 + 300)
}

/// Writes the response to the first request of a window that begins with it.
fn first_response(version: FieldVersion, policies: &[QuotaPolicy]) -> HeaderMap {
    let states: Vec<_> = policies
        .iter()
        .enumerate()
        .map(|(which, policy)| {
            let rate = Rate::new(policy.quota(), policy.window().unwrap()).unwrap();
            let window = WindowFromFirst::with_clock(rate, ManualClock::new()).unwrap();
            PolicyState::granted(&window.try_acquire(1).unwrap()).of_policy(which)
        })
        .collect();
    let mut headers = HeaderMap::new();
    let writer = FieldWriter::new(version, policies.iter().cloned()).unwrap();
    writer.write(&mut headers, &states, now());
    headers
}

fn five_a_minute(version: FieldVersion) -> HeaderMap {
    first_response(version, &[QuotaPolicy::new(5).per(MINUTE)])
}

#[track_caller]
fn is(headers: &HeaderMap, expected: &[(&str, &str)]) {
    let found: Vec<_> = headers.iter().map(|(n, v)| (n.as_str(), v.to_str().unwrap())).collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (name, value) in expected {
        assert_eq!(headers.get(*name).map(|value| value.to_str().unwrap()), Some(*value), "{name}");
    }
}

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn parsed(fields: &[(&'static str, &str)]) -> ResponseFields {
    ResponseFields::parse(&headers(fields), now())
}

/// Compares what is parsed of a response with that of another server's.
#[track_caller]
fn same(ours: &HeaderMap, theirs: &[(&'static str, &str)]) {
    let theirs = parsed(theirs);
    assert!(!theirs.policies.is_empty() && !theirs.limits.is_empty());
    assert_eq!(ResponseFields::parse(ours, now()), theirs);
}

/// Returns the partition key of express-rate-limit: the first 12 hexadecimal digits of a hash.
fn partition_of(key: &str) -> String {
    Hash::hash(key.as_bytes())
        .iter()
        .take(6)
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn named(name: &str, quota: u64, seconds: u64) -> QuotaPolicy {
    let policy = QuotaPolicy::new(quota).named(name).unwrap().per(Duration::from_secs(seconds));
    policy.partition(partition_of("foo").as_bytes())
}

fn limits(fields: &ResponseFields) -> Vec<(&str, u64, Option<u64>)> {
    let limits = fields.limits.iter();
    limits
        .map(|limit| {
            let reset = limit.reset_after.map(|wait| wait.as_secs());
            (limit.name.as_deref().unwrap(), limit.remaining, reset)
        })
        .collect()
}

fn policies(fields: &ResponseFields) -> Vec<(&str, u64, u64)> {
    let policies = fields.policies.iter();
    policies.map(|p| (p.name().unwrap(), p.quota(), p.window().unwrap().as_secs())).collect()
}

#[test]
fn express_legacy_x_ratelimit() {
    let reset = (NOW + 61).to_string();
    is(
        &five_a_minute(FieldVersion::Legacy(ResetAs::UnixTime)),
        &[
            ("x-ratelimit-limit", "5"),
            ("x-ratelimit-remaining", "4"),
            ("x-ratelimit-reset", &reset),
        ],
    );
    is(
        &five_a_minute(FieldVersion::Legacy(ResetAs::SecondsLeft)),
        &[("x-ratelimit-limit", "5"), ("x-ratelimit-remaining", "4"), ("x-ratelimit-reset", "60")],
    );
}

#[test]
fn express_draft_6() {
    is(
        &five_a_minute(FieldVersion::Draft6),
        &[
            ("ratelimit-policy", "5;w=60"),
            ("ratelimit-limit", "5"),
            ("ratelimit-remaining", "4"),
            ("ratelimit-reset", "60"),
        ],
    );
}

#[test]
fn express_draft_7() {
    is(
        &five_a_minute(FieldVersion::Draft7),
        &[("ratelimit-policy", "5;w=60"), ("ratelimit", "limit=5, remaining=4, reset=60")],
    );
}

#[test]
fn express_draft_8() {
    let ours = first_response(FieldVersion::Draft8, &[named("5-in-2hrs", 5, 7_200)]);
    same(
        &ours,
        &[
            ("ratelimit-policy", r#""5-in-2hrs"; q=5; w=7200; pk=:MmMyNmI0NmI2OGZm:"#),
            ("ratelimit", r#""5-in-2hrs"; r=4; t=7200"#),
        ],
    );
}

#[test]
fn express_draft_8_multiple() {
    let ours = first_response(
        FieldVersion::Draft8,
        &[
            named("1-in-5sec", 1, 5),
            named("5-in-1min", 5, 60),
            named("6-in-1hr", 6, 3_600),
            named("7-in-1day", 7, 86_400),
            named("8-in-2days", 8, 172_800),
        ],
    );
    same(
        &ours,
        &[
            (
                "ratelimit-policy",
                r#""1-in-5sec"; q=1; w=5; pk=:MmMyNmI0NmI2OGZm:, "5-in-1min"; q=5; w=60; pk=:MmMyNmI0NmI2OGZm:, "6-in-1hr"; q=6; w=3600; pk=:MmMyNmI0NmI2OGZm:, "7-in-1day"; q=7; w=86400; pk=:MmMyNmI0NmI2OGZm:, "8-in-2days"; q=8; w=172800; pk=:MmMyNmI0NmI2OGZm:"#,
            ),
            (
                "ratelimit",
                r#""1-in-5sec"; r=0; t=5, "5-in-1min"; r=4; t=60, "6-in-1hr"; r=5; t=3600, "7-in-1day"; r=6; t=86400, "8-in-2days"; r=7; t=172800"#,
            ),
        ],
    );
}

#[test]
fn express_draft_8_named() {
    let ours = first_response(FieldVersion::Draft8, &[named("keep-kalm", 5, 7_200)]);
    is(
        &ours,
        &[
            ("ratelimit-policy", r#""keep-kalm";q=5;w=7200;pk=:MmMyNmI0NmI2OGZm:"#),
            ("ratelimit", r#""keep-kalm";r=4;t=7200"#),
        ],
    );
    same(
        &ours,
        &[
            ("ratelimit-policy", r#""keep-kalm"; q=5; w=7200; pk=:MmMyNmI0NmI2OGZm:"#),
            ("ratelimit", r#""keep-kalm"; r=4; t=7200"#),
        ],
    );
}

#[test]
fn express_retry_after_on_429() {
    let window =
        WindowFromFirst::with_clock(Rate::per_minute(1).unwrap(), ManualClock::new()).unwrap();
    let writer = FieldWriter::new(FieldVersion::Draft8, [QuotaPolicy::new(1).per(MINUTE)]).unwrap();
    let mut granted = HeaderMap::new();
    writer.write(&mut granted, &[PolicyState::granted(&window.try_acquire(1).unwrap())], now());
    assert!(!granted.contains_key("retry-after"));
    let mut denied = HeaderMap::new();
    let state = PolicyState::denied(&window.try_acquire(1).unwrap_err());
    writer.write(&mut denied, &[state], now());
    assert_eq!(denied["retry-after"], "60");
}

/// A window of Express that has just expired has nothing left of its time.
#[test]
fn express_draft_6_reset_0() {
    let window = FixedWindow::with_clock(Rate::per_minute(5).unwrap(), ManualClock::new()).unwrap();
    let grant = window.try_acquire(1).unwrap();
    let state = PolicyState { reset_after: Some(Duration::ZERO), ..PolicyState::granted(&grant) };
    let mut headers = HeaderMap::new();
    let policy = QuotaPolicy::new(5).per(MINUTE);
    FieldWriter::new(FieldVersion::Draft6, [policy]).unwrap().write(&mut headers, &[state], now());
    assert_eq!(
        (&headers["ratelimit-reset"], &headers["ratelimit-remaining"]),
        (&"0".parse().unwrap(), &"4".parse().unwrap())
    );
}

#[test]
fn draft_two_policies() {
    let fields = parsed(&[("ratelimit-policy", r#""burst";q=100;w=60,"daily";q=1000;w=86400"#)]);
    assert_eq!(policies(&fields), [("burst", 100, 60), ("daily", 1_000, 86_400)]);
}

/// The key is base64 with bits behind its end, which RFC 9651 (section 4.2.7) tells parsers to accept.
#[test]
fn draft_partition_key_and_unit() {
    let fields = parsed(&[(
        "ratelimit-policy",
        r#""peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:"#,
    )]);
    assert_eq!(policies(&fields), [("peruser", 65_535, 10)]);
    assert_eq!(*fields.policies[0].unit(), QuotaUnit::ContentBytes);
    let key: &[u8] = &[0xb1, 0xd7, 0xe3, 0x2c, 0x95, 0x0e, 0x50];
    assert_eq!(fields.policies[0].partition_key(), Some(key));
}

#[test]
fn draft_service_limit() {
    assert_eq!(
        limits(&parsed(&[("ratelimit", r#""default";r=50;t=30"#)])),
        [("default", 50, Some(30))]
    );
}

#[test]
fn draft_no_reset() {
    let fields = parsed(&[("ratelimit", r#""default";r=999;pk=:dHJpYWwxMjEzMjM=:"#)]);
    assert_eq!(limits(&fields), [("default", 999, None)]);
    assert_eq!(fields.limits[0].partition.as_deref(), Some(&b"trial121323"[..]));
}

#[test]
fn draft_big_quota() {
    let fields = parsed(&[("ratelimit", r#""default";r=300000000;t=60;pk=:QXBwLTk5OQ==:"#)]);
    assert_eq!(limits(&fields), [("default", 300_000_000, Some(60))]);
    assert_eq!(fields.limits[0].partition.as_deref(), Some(&b"App-999"[..]));
}

#[test]
fn draft_429_with_date() {
    let fields = parsed(&[
        ("date", "Mon, 05 Aug 2019 09:27:00 GMT"),
        ("retry-after", "Mon, 05 Aug 2019 09:27:05 GMT"),
        ("ratelimit", r#""default";r=0;t=5"#),
    ]);
    assert_eq!(fields.retry_after, Some(Duration::from_secs(5)));
    assert_eq!(limits(&fields), [("default", 0, Some(5))]);
    assert_eq!(fields.wait(), Duration::from_secs(5));
    assert_eq!(
        ProblemType::from("https://iana.org/assignments/http-problem-types#quota-exceeded"),
        ProblemType::QuotaExceeded
    );
}

#[test]
fn draft_two_policies_one_limit() {
    let fields = parsed(&[
        ("ratelimit-policy", r#""hour";q=1000;w=3600, "day";q=5000;w=86400"#),
        ("ratelimit", r#""day";r=100;t=36000"#),
    ]);
    assert_eq!(policies(&fields), [("hour", 1_000, 3_600), ("day", 5_000, 86_400)]);
    assert_eq!(limits(&fields), [("day", 100, Some(36_000))]);
    assert_eq!(fields.policy_of(&fields.limits[0]), Some(&fields.policies[1]));
}

#[test]
fn draft_retry_after_wins() {
    let fields = parsed(&[
        ("retry-after", "20"),
        ("ratelimit-policy", r#""dynamic";q=100;w=60"#),
        ("ratelimit", r#""dynamic";r=15;t=40"#),
    ]);
    assert_eq!(fields.wait(), Duration::from_secs(20));
}

#[test]
fn draft_problem_types() {
    let quota = Problem::new(ProblemType::QuotaExceeded).violating(["daily", "bandwidth"]);
    let json: serde_json::Value = serde_json::from_slice(&quota.to_json()).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429,
            "violated-policies": ["daily", "bandwidth"],
        })
    );

    let parse = |body: &str| Problem::from_json(body.as_bytes()).unwrap();
    let reduced = parse(
        r#"{
          "type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
          "title": "Request cannot be satisfied due to temporary server capacity constraints",
          "violated-policies": ["hourly"]
        }"#,
    );
    assert_eq!(reduced.kind, ProblemType::TemporaryReducedCapacity);
    assert_eq!(reduced.kind.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(reduced.violated_policies, ["hourly"]);
    let abnormal = parse(
        r#"{"type": "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"}"#,
    );
    assert_eq!(abnormal.kind.status(), Some(StatusCode::TOO_MANY_REQUESTS));
}
