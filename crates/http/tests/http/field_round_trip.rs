//! Fields are parsed as they were written, for each version, and no bytes make the parser panic.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{HeaderMap, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sluicegate_http::fields::*;

const LARGEST: u64 = 999_999_999_999_999;

/// A state with waits and a partition key of its own.
#[derive(Clone, Debug)]
struct Any {
    policy: QuotaPolicy,
    remaining: Option<u64>,
    next: Option<Duration>,
    reset: Option<Duration>,
    is_denied: bool,
    /// Only for one that is denied.
    retry_after: Option<Duration>,
    partition: Option<Vec<u8>>,
}

impl Any {
    /// Returns true if a response tells something of the policy. If it tells nothing of any, it has no fields.
    fn is_known(&self) -> bool {
        self.is_denied || self.remaining.is_some()
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..10_u64, Just(LARGEST), Just(LARGEST + 1), Just(u64::MAX), any::<u64>()]
}

/// Waits below 31 years: a longer one in `X-RateLimit-Reset` would be read as a time.
fn wait() -> impl Strategy<Value = Duration> {
    (prop_oneof![0..100_u64, 0..900_000_000_u64], prop_oneof![Just(0), 0..1_000_000_000_u32])
        .prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

fn unit() -> impl Strategy<Value = QuotaUnit> {
    prop_oneof![
        Just(QuotaUnit::Requests),
        Just(QuotaUnit::ContentBytes),
        Just(QuotaUnit::ConcurrentRequests),
        "[ -~]{1,9}".prop_map(|unit| QuotaUnit::from(unit.as_str())),
    ]
}

fn policy() -> impl Strategy<Value = QuotaPolicy> {
    let key = option::of(vec(any::<u8>(), 0..20));
    (option::of("[ -~]{1,20}"), number(), option::of(wait()), unit(), key).prop_map(
        |(name, quota, window, unit, key)| {
            let mut policy = QuotaPolicy::new(quota).counting(unit);
            if let Some(name) = name {
                policy = policy.named(&name).unwrap();
            }
            if let Some(window) = window {
                policy = policy.per(window);
            }
            match key {
                Some(key) => policy.partition(&key),
                None => policy,
            }
        },
    )
}

fn any_state() -> impl Strategy<Value = Any> {
    let denied = (any::<bool>(), option::of(wait()));
    let key = option::of(vec(any::<u8>(), 0..20));
    (policy(), option::of(number()), option::of(wait()), option::of(wait()), denied, key).prop_map(
        |(policy, remaining, next, reset, (is_denied, retry_after), partition)| {
            let retry_after = retry_after.filter(|_| is_denied);
            Any { policy, remaining, next, reset, is_denied, retry_after, partition }
        },
    )
}

/// Policies whose names differ.
fn states() -> impl Strategy<Value = Vec<Any>> {
    vec(any_state(), 0..6).prop_map(|mut states| {
        let mut names: Vec<String> = Vec::new();
        states.retain(|state| {
            let name = state.policy.name().unwrap_or("default").to_owned();
            let is_new = !names.contains(&name);
            names.push(name);
            is_new
        });
        states
    })
}

fn written(version: FieldVersion, any: &[Any], now: SystemTime) -> HeaderMap {
    let policies = any.iter().map(|any| any.policy.clone());
    let writer = FieldWriter::new(version, policies).unwrap();
    let states: Vec<_> = any
        .iter()
        .enumerate()
        .map(|(which, any)| PolicyState {
            which,
            limit: None,
            remaining: any.remaining,
            next_permit_after: any.next,
            reset_after: any.reset,
            is_denied: any.is_denied,
            retry_after: any.retry_after,
            partition: any.partition.as_deref(),
        })
        .collect();
    let mut headers = HeaderMap::new();
    writer.write(&mut headers, &states, now);
    headers
}

fn up(wait: Duration) -> Duration {
    Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
}

/// The wait of `Retry-After`: the longest of all that refuse, but none if one never grants.
fn expected_retry_after(any: &[Any]) -> Option<Duration> {
    let denied = any.iter().filter(|any| any.is_denied);
    let longest =
        denied.map(|any| any.retry_after).collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some(up(longest).max(Duration::from_secs(1)))
}

fn at() -> impl Strategy<Value = SystemTime> {
    (1_000_000_000..2_000_000_000_u64, 0..1_000_000_000_u32)
        .prop_map(|(seconds, nanos)| UNIX_EPOCH + Duration::new(seconds, nanos))
}

proptest! {
    #[test]
    fn draft_8_tells_each_policy_and_its_state(any in states(), now in at()) {
        let fields = ResponseFields::parse(&written(FieldVersion::Draft8, &any, now), now);
        let told = any.iter().filter(|_| any.iter().any(Any::is_known));
        let expected: Vec<_> = told.map(|any| {
            let policy = &any.policy;
            let mut expected = QuotaPolicy::new(policy.quota().min(LARGEST))
                .named(policy.name().unwrap_or("default")).unwrap()
                .counting(policy.unit().clone());
            if let Some(window) = policy.window() {
                expected = expected.per(window);
            }
            match policy.partition_key() {
                Some(key) => expected.partition(key),
                None => expected,
            }
        }).collect();
        prop_assert_eq!(&fields.policies, &expected);
        prop_assert_eq!(fields.retry_after, expected_retry_after(&any));

        let told: Vec<_> = any.iter().filter(|any| any.remaining.is_some()).collect();
        prop_assert_eq!(fields.limits.len(), told.len());
        for (limit, any) in fields.limits.iter().zip(told) {
            prop_assert_eq!(limit.name.as_deref(), Some(any.policy.name().unwrap_or("default")));
            prop_assert_eq!(limit.remaining, any.remaining.unwrap().min(LARGEST));
            let wait = any.next.or(any.retry_after).or(any.reset);
            prop_assert_eq!(limit.reset_after, wait.map(up));
            prop_assert_eq!(&limit.partition.as_deref(), &any.partition.as_deref());
        }
    }

    #[test]
    fn older_versions_tell_the_policy_that_refuses_first(
        any in states(),
        now in at(),
        version in prop_oneof![
            Just(FieldVersion::Legacy(ResetAs::SecondsLeft)),
            Just(FieldVersion::Legacy(ResetAs::UnixTime)),
            Just(FieldVersion::Draft3),
            Just(FieldVersion::Draft6),
            Just(FieldVersion::Draft7),
        ],
    ) {
        let fields = ResponseFields::parse(&written(version, &any, now), now);
        prop_assert_eq!(fields.retry_after, expected_retry_after(&any));
        prop_assert!(fields.limits.len() <= 1);
        let refuse = any.iter().any(|any| any.is_denied);
        let candidates: Vec<_> =
            any.iter().filter(|any| any.is_denied == refuse && any.is_known()).collect();
        let least = candidates.iter().map(|any| any.remaining).min();
        match fields.limits.first() {
            // Nobody looked at the policy that refuses.
            None => prop_assert!(least.flatten().is_none()),
            Some(limit) => {
                prop_assert_eq!(Some(limit.remaining), least.flatten().map(|n| n.min(LARGEST)));
                let told = candidates.iter().filter(|any| any.remaining == least.flatten());
                let wait = |any: &&&Any| any.retry_after.or(any.reset).or(any.next).map(up);
                let told: Vec<_> = told
                    .map(|any| (Some(any.policy.quota().min(LARGEST)), wait(&any)))
                    .collect();
                let found = (limit.limit, limit.reset_after);
                match version {
                    // The draft requires a reset.
                    FieldVersion::Draft7 => {
                        let told = told.iter().map(|(l, w)| (*l, Some(w.unwrap_or_default())));
                        prop_assert!(told.into_iter().any(|told| told == found));
                    }
                    // A time in seconds is rounded up, and so may be one more than the wait.
                    FieldVersion::Legacy(ResetAs::UnixTime) => {
                        let is_near = |told: &(Option<u64>, Option<Duration>)| {
                            told.0 == found.0 && match (told.1, found.1) {
                                (Some(told), Some(found)) =>
                                    found <= told + Duration::from_secs(1) && told <= found + Duration::from_secs(1),
                                (told, found) => told == found,
                            }
                        };
                        prop_assert!(told.iter().any(is_near), "{:?} {:?}", told, found);
                    }
                    _ => prop_assert!(told.contains(&found), "{:?} {:?}", told, found),
                }
            }
        }
        if matches!(version, FieldVersion::Draft6 | FieldVersion::Draft7) && any.iter().any(Any::is_known) {
            let expected: Vec<_> = any.iter()
                .filter(|any| any.policy.window().is_some())
                .map(|any| {
                    let policy = &any.policy;
                    let expected = QuotaPolicy::new(policy.quota().min(LARGEST))
                        .per(policy.window().unwrap());
                    match policy.name() {
                        Some(name) => expected.named(name).unwrap(),
                        None => expected,
                    }
                })
                .collect();
            prop_assert_eq!(fields.policies, expected);
        }
    }

    #[test]
    fn problems_are_read_as_they_were_written(
        kind in prop_oneof![
            Just(ProblemType::QuotaExceeded), Just(ProblemType::TemporaryReducedCapacity),
            Just(ProblemType::AbnormalUsageDetected), Just(ProblemType::Blank),
            ".*".prop_map(|uri| ProblemType::from(uri.as_str())),
        ],
        names in vec(".*", 0..4),
        detail in option::of(".*"),
    ) {
        let mut problem = Problem::new(kind).violating(names);
        problem.detail = detail;
        prop_assert_eq!(Problem::from_json(&problem.to_json()), Some(problem));
    }

    #[test]
    fn no_bytes_make_a_parser_panic(
        values in vec((0..NAMES.len(), field_bytes()), 0..12),
        seconds in any::<u32>(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(HeaderName::from_static(NAMES[name]), value);
            }
        }
        let now = UNIX_EPOCH + Duration::from_secs(seconds.into());
        let fields = ResponseFields::parse(&headers, now);
        prop_assert!(fields.wait() <= MAX_WAIT);
        prop_assert!(fields.policies.len() <= MAX_ITEMS && fields.limits.len() <= MAX_ITEMS);
        // What is read can be written again.
        let mut names: Vec<&str> = Vec::new();
        let distinct = fields.policies.iter().filter(|policy| {
            let name = policy.name().unwrap_or("default");
            let is_new = !names.contains(&name);
            names.push(name);
            is_new
        });
        prop_assert!(FieldWriter::new(FieldVersion::Draft8, distinct.cloned()).is_ok());
    }

    #[test]
    fn no_body_makes_a_parser_panic(
        body in prop_oneof![vec(any::<u8>(), 0..200), json_text().prop_map(String::into_bytes)],
    ) {
        let _ = Problem::from_json(&body);
    }
}

const NAMES: [&str; 14] = [
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-rate-limit-limit",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
    "retry-after",
    "date",
    "ratelimit",
];

/// Any bytes, the signs of structured fields, or a well-formed field with one byte changed.
fn field_bytes() -> impl Strategy<Value = Vec<u8>> {
    let signs = r#"[a-d0-9"=;:,()?@%*\\./ \t-]{0,40}"#.prop_map(String::into_bytes);
    let samples = prop::sample::select(vec![
        r#""burst";q=100;w=60,"daily";q=1000;w=86400;pk=:QXBwLTk5OQ==:"#,
        r#""default";r=50;t=30;pk=:QXBwLTk5OQ==:, "b";r=0;t=999999999999999"#,
        "limit=5, remaining=4, reset=60",
        r#"10, 10;w=1;name="per second", 500;w=60"#,
        "1790000007",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
    ]);
    let changed =
        (samples, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(text, at, byte)| {
            let mut bytes = text.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        });
    prop_oneof![vec(any::<u8>(), 0..40), signs, changed]
}

fn json_text() -> impl Strategy<Value = String> {
    r#"\{("(type|status|title|violated-policies)":("a"|5|-1|1e999|null|\[("a",)*"b"\]|\{\}),?){0,5}\}"#
}
