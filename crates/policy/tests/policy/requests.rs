//! Key expressions, filters and costs: what a policy makes of a request, the same in each format.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use sluicegate::ManualClock;
use sluicegate_policy::{
    Charge, Format, KeyField, LimiterPolicy, Policies, Registry, RequestFields, Subject,
    json_schema,
};

const REQUESTS: &str = include_str!("policies/requests.toml");

/// A request by the names of its parts; those of headers begin with `header `, and those of columns
/// with `column `.
struct Request(HashMap<&'static str, &'static str>);

impl Request {
    fn with(&self, name: &'static str, value: &'static str) -> Request {
        let mut parts = self.0.clone();
        parts.insert(name, value);
        Request(parts)
    }

    fn without(&self, name: &'static str) -> Request {
        let mut parts = self.0.clone();
        parts.remove(name);
        Request(parts)
    }

    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(|value| value.as_bytes())
    }
}

impl RequestFields for Request {
    fn field(&self, field: KeyField) -> Option<&[u8]> {
        self.get(field.name())
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.get(&format!("header {}", name.to_lowercase()))
    }

    fn column(&self, name: &str) -> Option<&[u8]> {
        self.get(&format!("column {name}"))
    }
}

fn request() -> Request {
    Request(HashMap::from([
        ("client", "203.0.113.9"),
        ("method", "GET"),
        ("path", "/users/7"),
        ("status", "404"),
        ("user", "ada"),
        ("agent", "Some-BOT/1.0"),
        ("header x-api-key", "secret"),
        ("header x-plan", "free"),
        ("header x-seconds", "1.2345"),
        ("column org.id", "acme"),
        ("column tokens", "17"),
    ]))
}

fn policies() -> Policies {
    let policies = Policies::from_toml("p", REQUESTS).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(policies.warnings().is_empty(), "{:?}", policies.warnings());
    policies
}

fn limiter(name: &str) -> LimiterPolicy {
    policies().get(name).unwrap().clone()
}

/// Returns the key with bars between its parts, or what else becomes of the request.
fn key(name: &str, request: &Request) -> String {
    let mut key = b"what was there".to_vec();
    match limiter(name).subject(request, &mut key) {
        Subject::Key { .. } => String::from_utf8(key).unwrap().replace('\n', "|"),
        other => format!("{other:?}"),
    }
}

fn permits(name: &str, request: &Request) -> u64 {
    match limiter(name).subject(request, &mut Vec::new()) {
        Subject::Key { permits } => permits,
        other => panic!("{other:?}"),
    }
}

fn judges(name: &str, request: &Request) -> bool {
    limiter(name).judges(request)
}

#[test]
fn each_format_has_the_same_expressions() {
    let expected = policies().into_limiters();
    let value: Value = toml::from_str(REQUESTS).unwrap();
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    assert!(validator.is_valid(&value), "{:?}", validator.iter_errors(&value).collect::<Vec<_>>());
    for (format, text) in [
        (Format::Json, value.to_string()),
        (Format::Yaml, value.to_string()),
        (Format::Yaml, format!("{value:#}")),
    ] {
        let read = Policies::from_text(format, "p", &text).unwrap_or_else(|e| panic!("{e}"));
        for limiter in &expected {
            assert_eq!(read.get(&limiter.name), Some(limiter), "{format}");
        }
    }
    let yaml = "
limiters:
  network:
    key:
      client: { ipv4: 24, ipv6: 64 }
    policy: fixed_window
    limit: 5
    interval: 1 minute
    overrides:
      203.0.113.7: { limit: 50 }
      '2001:DB8::/64': { limit: 60 }
";
    let read = Policies::from_yaml("p", yaml).unwrap();
    assert_eq!(read.limiters(), [limiter("network")]);
}

#[test]
fn clients_are_told_apart_by_their_networks() {
    let of = |client| key("network", &request().with("client", client));
    assert_eq!(of("203.0.113.9"), "203.0.113.0/24");
    assert_eq!(of("::ffff:203.0.113.200"), "203.0.113.0/24");
    assert_eq!(of("2001:db8::9"), "2001:db8::/64");
    assert_eq!(of("host.example"), "host.example");
    let most = |key: &[u8]| limiter("network").kind_of(key).most_at_once();
    assert_eq!(most(b"203.0.113.0/24"), 50);
    assert_eq!(most(b"2001:db8::/64"), 60);
    assert_eq!(most(b"203.0.114.0/24"), 5);
}

#[test]
fn what_lacks_a_value_is_treated_as_the_policy_says() {
    assert_eq!(key("header", &request()), "secret");
    assert_eq!(key("header", &request().without("header x-api-key")), "Denied");
    assert_eq!(key("header", &request().with("header x-api-key", "")), "Denied");
    assert_eq!(key("column", &request()), "acme");
    assert_eq!(key("column", &request().without("column org.id")), "Admitted");
    assert_eq!(key("field", &request().without("user")), "-");
    assert_eq!(key("combined", &request()), "GET|/users/7|203.0.113.9|free");
    assert_eq!(key("combined", &request().without("header x-plan")), "Denied");
    // Only a missing value that is to be shared is.
    assert_eq!(key("combined", &request().without("method")), "-|/users/7|203.0.113.9|free");
}

#[test]
fn paths_have_the_key_of_the_best_template() {
    let of = |name, path| key(name, &request().with("path", path));
    assert_eq!(of("templates", "/users/7"), "/users/{id}");
    assert_eq!(of("templates", "/users/me"), "/users/me");
    assert_eq!(of("templates", "/users/7/posts"), "/users/7/posts");
    assert_eq!(of("one-template", "/else"), "other");
    assert_eq!(of("own-template", "/users/7"), "/users/{id}");
    assert_eq!(of("own-template", "/else"), "Admitted");
    assert!(of("combined", "/a/b/c/d").starts_with("GET|/a/b|"));
}

#[test]
fn costs_are_numbers_of_the_request_or_the_first_rule() {
    assert_eq!(permits("header", &request()), 17);
    assert_eq!(permits("header", &request().with("column tokens", "none")), 1);
    // 1.2345 s are 1,234.5 ms, of which two are a permit.
    assert_eq!(permits("column", &request()), 618);
    assert_eq!(permits("column", &request().without("header x-seconds")), 0);
    let lacks = limiter("column").cost.of(&request().without("header x-seconds"));
    assert_eq!(lacks, Charge { lacks: true, ..Charge::exactly(0) });
    // Part of two is a permit, as the policy says; part of a token is one without its saying so.
    let seconds = request().with("header x-seconds", "0.0011s");
    assert_eq!(limiter("column").cost.of(&seconds), Charge::exactly(1));
    let of_part = limiter("header").cost.of(&request().with("column tokens", "1.5"));
    assert_eq!(of_part, Charge { is_rounded: true, ..Charge::exactly(2) });
    assert_eq!(permits("templates", &request()), 1);
    assert_eq!(permits("templates", &request().with("method", "POST")), 2);
    let search = request().with("path", "/search").with("method", "POST");
    assert_eq!(permits("templates", &search), 5);
}

#[test]
fn a_filter_wants_a_value_of_each_of_its_fields() {
    let good = request().with("path", "/a/1");
    assert!(judges("filtered", &good));
    for (field, value) in [
        ("method", "PUT"),
        ("path", "/a/1/2"),
        ("status", "403"),
        ("client", "host.example"),
        ("agent", "browser"),
        ("header x-plan", "paid"),
        ("column org.id", "Acme"),
    ] {
        assert!(!judges("filtered", &good.with(field, value)), "{field}");
        assert!(!judges("filtered", &good.without(field)), "without {field}");
    }
    for (field, value) in [
        ("method", "POST"),
        ("path", "/b/1/2"),
        ("status", "429"),
        ("client", "2a00::1"),
        ("agent", "libCURL"),
        ("header x-plan", "trial"),
    ] {
        assert!(judges("filtered", &good.with(field, value)), "{field}");
    }
}

#[test]
fn exceptions_are_not_judged() {
    let good = request().with("path", "/a/1");
    for (field, value) in [
        ("client", "10.1.2.3"),
        ("client", "::ffff:10.1.2.3"),
        ("client", "2001:db8::1"),
        ("path", "/health"),
    ] {
        assert!(!judges("filtered", &good.with(field, value)), "{field} {value}");
    }
    // One table leaves out what has all of its fields.
    let probe = request().with("agent", "kube-probe/1.29");
    assert!(judges("excepted", &probe));
    assert!(!judges("excepted", &probe.with("status", "200")));
    assert!(judges("excepted", &request().with("status", "200")));
}

#[test]
fn a_handle_of_the_registry_judges_requests() {
    let registry = Registry::with_clock(policies(), Arc::new(ManualClock::new())).unwrap();
    let handle = registry.keyed("templates").unwrap();
    let mut key = Vec::new();
    let mut admitted = 0;
    for user in 0..20 {
        let path = ["/users/1", "/users/2", "/users/3"][user % 3];
        let Subject::Key { permits } =
            handle.policy().subject(&request().with("path", path), &mut key)
        else {
            panic!("it has a path");
        };
        admitted += u64::from(handle.try_acquire(&key, permits).is_ok());
    }
    // All of them are one key.
    assert_eq!(admitted, 5);
}

#[test]
fn the_names_that_a_limiter_needs_are_known() {
    let named = |name: &str| -> Vec<String> {
        limiter(name).named().iter().map(ToString::to_string).collect()
    };
    assert_eq!(named("header"), ["header X-Api-Key", "column tokens"]);
    assert_eq!(named("filtered"), ["header x-plan", "column org.id"]);
    assert_eq!(named("network"), [""; 0]);
}
