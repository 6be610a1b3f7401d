//! Descriptors that a limiter of the policy decides on.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::{
    RateLimitRequest, RateLimitResponse,
};
use tonic::Code as Grpc;

use super::served::{Served, Setup, descriptor, request};

const POLICY: &str = r#"
[limiters.pages]
policy = "sliding_window"
key = { client = { ipv4 = 32, ipv6 = 64 } }
limit = 3
interval = "1 hour"

[limiters.logins]
policy = "token_bucket"
key = { header = "x-api-key" }
limit = 2
rate = { amount = 1, interval = "1 hour" }

[limiters.both]
policy = "multi_window"
key = "client"
limits = [{ limit = 2, interval = "1 hour" }, { limit = 3, interval = "1 day" }]

[limiters.all]
policy = "fixed_window"
key = "all"
limit = 4
interval = "1 day"

[limiters.tried]
policy = "fixed_window"
key = "client"
limit = 1
interval = "1 day"
shadow = true

[limiters.tenants]
key = { header = "x-tenant" }
policy = "shares"
limit = 8
rate = { amount = 1, interval = "1 day" }
shares = [{ tenants = "acme", assured = { limit = 3, rate = { amount = 1, interval = "1 day" } } }]

[limiters.classes]
key = { header = "x-class" }
policy = "priorities"
limit = 4
rate = { amount = 1, interval = "1 day" }
classes = [{ name = "pay" }, { name = "rest", reserve_percent = 50 }]
"#;

const YAML: &str = "
domain: d
descriptors:
  - key: remote_address
    rate_limit: { limiter: pages, name: pages }
  - key: x-api-key
    rate_limit: { limiter: logins }
  - key: both
    descriptors:
      - key: masked_remote_address
        rate_limit: { limiter: both }
  - key: all
    rate_limit: { limiter: all }
  - key: tried
    descriptors:
      - key: remote_address
        rate_limit: { limiter: tried }
  - key: shadow
    descriptors:
      - key: remote_address
        shadow_mode: true
        rate_limit: { limiter: pages }
  - key: window
    rate_limit: { unit: day, requests_per_unit: 2 }
  - key: x-tenant
    rate_limit: { limiter: tenants }
  - key: x-class
    rate_limit: { limiter: classes }
";

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(&path, YAML).unwrap();
    (folder, path)
}

async fn served() -> Served {
    let (_folder, path) = file();
    Served::with(&path, Setup { policy: POLICY, ..Setup::default() }).await
}

fn of(descriptors: &[&[(&str, &str)]]) -> RateLimitRequest {
    let descriptors = descriptors.iter().map(|entries| descriptor(entries)).collect();
    RateLimitRequest { descriptors, ..request("d", &[]) }
}

fn codes(answer: &RateLimitResponse) -> Vec<Code> {
    let statuses = answer.statuses.iter().map(sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::DescriptorStatus::code);
    [answer.overall_code()].into_iter().chain(statuses).collect()
}

#[tokio::test]
async fn a_sliding_window_decides_by_the_clients_network_as_the_policy_says() {
    let served = served().await;
    let addresses = ["2001:db8::1", "2001:DB8::2", "2001:db8::3"];
    for (address, left) in addresses.iter().zip([2, 1, 0]) {
        let answer = served.ask(request("d", &[("remote_address", address)])).await.unwrap();
        let status = &answer.statuses[0];
        assert_eq!((status.code(), status.limit_remaining), (Code::Ok, left));
        let limit = status.current_limit.as_ref().unwrap();
        assert_eq!((limit.requests_per_unit, limit.unit, &limit.name[..]), (3, 0, "pages"));
    }
    let answer = served.ask(request("d", &[("remote_address", "2001:db8::4")])).await.unwrap();
    assert_eq!(codes(&answer), [Code::OverLimit, Code::OverLimit]);
    assert!(answer.statuses[0].duration_until_reset.unwrap().seconds > 3_000);
    let answer = served.ask(request("d", &[("remote_address", "2001:db8:1::4")])).await.unwrap();
    assert_eq!(codes(&answer), [Code::Ok, Code::Ok]);
}

#[tokio::test]
async fn tenants_have_their_shares_and_classes_leave_their_reserves() {
    let served = served().await;
    // Strangers borrow what is not assured to the tenant, which has its share nevertheless.
    for (entry, granted) in [
        (("x-tenant", "stranger"), 5),
        (("x-tenant", "acme"), 3),
        (("x-class", "made up"), 2),
        (("x-class", "rest"), 0),
        (("x-class", "pay"), 2),
    ] {
        for number in 0..granted + 2 {
            let answer = served.ask(request("d", &[entry])).await.unwrap();
            let code = if number < granted { Code::Ok } else { Code::OverLimit };
            assert_eq!(answer.overall_code(), code, "{entry:?} {number}");
        }
    }
    // Two tenants of one request are lent what there is for both, or nothing is taken.
    let served = self::served().await;
    let both: Vec<_> = ["acme", "globex"].into_iter().flat_map(|own| [own; 4]).collect();
    let both: Vec<_> = both.iter().map(|own| vec![("x-tenant", *own)]).collect();
    let both: Vec<&[_]> = both.iter().map(Vec::as_slice).collect();
    assert_eq!(served.ask(of(&both)).await.unwrap().overall_code(), Code::OverLimit);
    assert_eq!(served.ask(of(&both[..5])).await.unwrap().overall_code(), Code::Ok);
    // Two classes take of one balance: all or nothing.
    let served = self::served().await;
    let both = of(&[&[("x-class", "pay")], &[("x-class", "rest")]]);
    assert_eq!(served.ask(both.clone()).await.unwrap().overall_code(), Code::Ok);
    assert_eq!(served.ask(both).await.unwrap().overall_code(), Code::OverLimit);
    assert_eq!(
        served.ask(request("d", &[("x-class", "pay")])).await.unwrap().statuses[0].limit_remaining,
        1
    );
}

#[tokio::test]
async fn keys_of_headers_and_limiters_of_several_windows_and_of_all_decide() {
    let served = served().await;
    for (entries, granted) in [
        (&[("x-api-key", "a")][..], 2),
        (&[("x-api-key", "b")], 2),
        (&[("both", "x"), ("masked_remote_address", "192.0.2.7")], 2),
        (&[("all", "x")], 4),
    ] {
        for number in 0..granted + 2 {
            let answer = served.ask(request("d", entries)).await.unwrap();
            let code = if number < granted { Code::Ok } else { Code::OverLimit };
            assert_eq!(answer.overall_code(), code, "{entries:?} {number}");
        }
    }
}

#[tokio::test]
async fn one_that_is_over_costs_the_others_nothing() {
    let served = served().await;
    let both = of(&[&[("window", "a")], &[("x-api-key", "a")], &[("all", "x")]]);
    for _ in 0..2 {
        assert_eq!(served.ask(both.clone()).await.unwrap().overall_code(), Code::Ok);
    }
    for _ in 0..3 {
        let answer = served.ask(both.clone()).await.unwrap();
        assert_eq!(codes(&answer), [Code::OverLimit, Code::OverLimit, Code::OverLimit, Code::Ok]);
        assert_eq!(answer.statuses[2].limit_remaining, 2);
    }
    // The same limiter twice: all or nothing.
    let twice = of(&[&[("x-api-key", "b")], &[("x-api-key", "b")], &[("x-api-key", "b")]]);
    assert_eq!(served.ask(twice).await.unwrap().overall_code(), Code::OverLimit);
    let answer = served.ask(request("d", &[("x-api-key", "b")])).await.unwrap();
    assert_eq!(answer.statuses[0].code(), Code::Ok);
}

#[tokio::test]
async fn reports_use_up_a_limiter_and_then_a_check_of_nothing_is_over() {
    let served = served().await;
    let hits = |hits| {
        let mut question = request("d", &[("all", "x")]);
        question.descriptors[0].hits_addend = Some(hits);
        question
    };
    for (number, code) in [(0, Code::Ok), (3, Code::Ok), (0, Code::Ok), (3, Code::OverLimit)] {
        let answer = served.ask(hits(number)).await.unwrap();
        assert_eq!(answer.overall_code(), code, "{number}");
    }
    assert_eq!(served.ask(hits(0)).await.unwrap().overall_code(), Code::OverLimit);
    let mut back = hits(1);
    back.descriptors[0].is_negative_hits = true;
    let status = served.ask(back).await.unwrap_err();
    assert_eq!(status.code(), Grpc::Unimplemented);
    assert!(status.message().contains("not for a limiter of the policy"), "{status}");
}

#[tokio::test]
async fn shadow_of_the_policy_and_of_the_descriptor_let_through_and_tell_it() {
    let served = served().await;
    for entry in ["tried", "shadow"] {
        let question = request("d", &[(entry, "x"), ("remote_address", "192.0.2.7")]);
        for number in 0..5 {
            let answer = served.ask(question.clone()).await.unwrap();
            assert_eq!(codes(&answer), [Code::Ok, Code::Ok], "{entry}");
            let first = if entry == "tried" { 1 } else { 3 };
            let metadata = answer.dynamic_metadata.unwrap_or_default();
            let is_told = metadata.fields.contains_key("shadowModeViolations");
            assert_eq!(is_told, number >= first, "{entry} {number}");
        }
    }
}

#[tokio::test]
async fn a_limiter_that_the_policy_has_no_more_is_unavailable_and_an_unknown_one_a_mistake() {
    let (_folder, path) = file();
    let served = Served::with(&path, Setup { policy: POLICY, ..Setup::default() }).await;
    served.clock.advance(Duration::from_secs(1));
    fs::write(&path, YAML.replace("limiter: all", "limiter: al")).unwrap();
    let error = served.limits.reload().unwrap_err().to_string();
    let words = "descriptors[3].rate_limit.limiter: is \"al\": must be one of the policy's: all, both, classes, logins, pages, tenants, tried";
    assert!(error.contains(words), "{error}");
    let registry = served.registry.clone();
    let policies = sluicegate_policy::Policies::from_toml(
        "p.toml",
        "limiters.x = { policy = \"gcra\", key = \"all\", interval = \"1 s\", tolerance = \"1 s\" }",
    );
    registry.reload(policies.unwrap()).unwrap();
    let status = served.ask(request("d", &[("all", "x")])).await.unwrap_err();
    assert_eq!(status.code(), Grpc::Unavailable);
    assert_eq!(
        served.ask(request("d", &[("window", "x")])).await.unwrap().overall_code(),
        Code::Ok
    );
}

/// Otherwise it would limit nothing, in silence.
#[tokio::test]
async fn a_limiter_that_looks_at_what_no_entry_has_is_a_mistake_or_unavailable() {
    const JUDGING: &str = r#"
        [limiters.log-ins]
        policy = "fixed_window"
        key = ["client", { header = "x-tenant" }]
        limit = 1
        interval = "1 day"
        match = { method = "POST", path = "/login" }
    "#;
    let place = |depth: &str| {
        format!(
            "domain: d\ndescriptors:\n  - key: remote_address\n    descriptors:\n      - key: method\n        descriptors:\n          - key: path\n            {depth}"
        )
    };
    let whole = place(
        "descriptors:\n              - key: X-Tenant\n                rate_limit: { limiter: log-ins }",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(&path, &whole).unwrap();
    let served = Served::with(&path, Setup { policy: JUDGING, ..Setup::default() }).await;
    let of = |route: &str| {
        let entries =
            [("remote_address", "::1"), ("method", "POST"), ("path", route), ("X-Tenant", "a")];
        request("d", &entries)
    };
    for (route, code) in [("/login", Code::Ok), ("/login", Code::OverLimit), ("/", Code::Ok)] {
        assert_eq!(served.ask(of(route)).await.unwrap().overall_code(), code, "{route}");
    }
    let lacking =
        "domain: d\ndescriptors:\n  - key: remote_address\n    rate_limit: { limiter: log-ins }";
    for (text, entries) in [
        (place("rate_limit: { limiter: log-ins }"), "`x-tenant`"),
        (
            lacking.to_owned(),
            "`path` or `:path` or `PATH`, and one with `method` or `:method`, and one with `x-tenant`",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let error = served.limits.reload().unwrap_err().to_string();
        let words = format!(
            "rate_limit.limiter: is \"log-ins\", which looks at what no entry of the descriptor has: add one with the key {entries}"
        );
        assert!(error.ends_with(&words), "{error}");
    }
    // The policy alone is read again.
    let policies = JUDGING.replace("method = \"POST\"", "agent_contains = \"curl\"");
    let policies = sluicegate_policy::Policies::from_toml("p.toml", &policies).unwrap();
    served.registry.reload(policies).unwrap();
    let status = served.ask(of("/login")).await.unwrap_err();
    assert_eq!(status.code(), Grpc::Unavailable);
    assert!(status.message().ends_with("add one with the key `agent`"), "{status}");
}

/// Envoy's `failure_mode_deny` says what becomes of the request then.
#[tokio::test]
async fn a_limiter_whose_server_is_away_is_an_error_where_it_would_refuse() {
    const POLICY: &str = r#"
        [limiters.closed]
        policy = "fixed_window"
        key = "client"
        limit = 3
        interval = "1 day"
        store = { redis = "redis://127.0.0.1:1/" }

        [limiters.open]
        policy = "fixed_window"
        key = "client"
        limit = 3
        interval = "1 day"
        store = { redis = "redis://127.0.0.1:1/", on_failure = "open" }
    "#;
    const YAML: &str = "
domain: d
descriptors:
  - key: closed
    descriptors:
      - key: remote_address
        rate_limit: { limiter: closed }
  - key: open
    descriptors:
      - key: remote_address
        rate_limit: { limiter: open }
  - key: shadow
    descriptors:
      - key: remote_address
        shadow_mode: true
        rate_limit: { limiter: closed }
  - key: window
    rate_limit: { unit: day, requests_per_unit: 2 }
";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(&path, YAML).unwrap();
    let served = Served::with(&path, Setup { policy: POLICY, ..Setup::default() }).await;
    let by = |key| [(key, "x"), ("remote_address", "192.0.2.7")];
    let [closed, open, shadow] = [by("closed"), by("open"), by("shadow")];
    let window = [("window", "a")];
    for _ in 0..5 {
        let error = served.ask(of(&[&window, &closed])).await.unwrap_err();
        assert_eq!(error.code(), Grpc::Unavailable);
        assert_eq!(error.message(), "the server of the limiter closed gives no answer");
    }
    let reported = RateLimitRequest { hits_addend: 2, ..of(&[&closed]) };
    assert_eq!(served.ask(reported).await.unwrap_err().code(), Grpc::Unavailable);
    for _ in 0..5 {
        let answer = served.ask(of(&[&open, &shadow])).await.unwrap();
        assert_eq!(answer.overall_code(), Code::Ok);
    }
    // The errors have cost the other limit nothing.
    for code in [Code::Ok, Code::Ok, Code::OverLimit] {
        assert_eq!(served.ask(of(&[&window])).await.unwrap().overall_code(), code);
    }
}
