//! The rules of a server: which limit is told, which wait, and what cannot be written.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use sluicegate::{Denied, KeyTable, ManualClock, TokenBucket, quota};
use sluicegate_http::fields::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn written(
    version: FieldVersion,
    policies: impl IntoIterator<Item = QuotaPolicy>,
    states: &[PolicyState<'_>],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    FieldWriter::new(version, policies).unwrap().write(&mut headers, states, SystemTime::now());
    headers
}

#[test]
fn a_wait_is_never_told_as_0_or_earlier_than_it_ends() {
    let bucket = TokenBucket::with_clock(quota!(3 / second), ManualClock::new());
    bucket.drain();
    let denied = bucket.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_nanos(333_333_334)));
    let headers =
        written(FieldVersion::Draft8, [QuotaPolicy::new(3)], &[PolicyState::denied(&denied)]);
    assert_eq!(headers["retry-after"], "1");
    assert_eq!(headers["ratelimit"], r#""default";r=0;t=1"#);

    let waits = [(Duration::ZERO, "1"), (secs(1), "1"), (Duration::new(1, 1), "2")];
    for (wait, expected) in waits {
        let mut headers = HeaderMap::new();
        write_retry_after(&mut headers, Some(wait));
        assert_eq!(headers["retry-after"], expected, "{wait:?}");
    }
    let mut headers = HeaderMap::new();
    write_retry_after(&mut headers, Some(Duration::MAX));
    assert_eq!(headers["retry-after"], u64::MAX.to_string().as_str());
}

#[test]
fn a_request_that_is_never_granted_has_no_retry_after() {
    let bucket = TokenBucket::with_clock(quota!(3 / second), ManualClock::new());
    let too_large = bucket.try_acquire(4).unwrap_err();
    bucket.drain();
    let wait = PolicyState::denied(&bucket.try_acquire(1).unwrap_err());
    let never = PolicyState::denied(&too_large).of_policy(1);
    let policies = || [QuotaPolicy::new(3), QuotaPolicy::new(4).named("other").unwrap()];
    let headers = written(FieldVersion::Draft8, policies(), &[wait, never]);
    assert!(!headers.contains_key("retry-after"));
    // Nobody has looked at how much the other has left.
    assert_eq!(headers["ratelimit"], r#""default";r=0;t=1"#);
}

#[test]
fn a_store_without_space_tells_its_wait() {
    let table = KeyTable::<u64>::with_memory(quota!(1 / minute), 640).unwrap();
    let full = Denied::Full { retry_after: Duration::from_millis(2_500) };
    assert!(table.is_empty());
    let headers =
        written(FieldVersion::Draft6, [QuotaPolicy::new(1)], &[PolicyState::denied(&full)]);
    assert_eq!(headers["retry-after"], "3");
    assert_eq!(headers["ratelimit-reset"], "3");
    assert!(!headers.contains_key("ratelimit-remaining"));
}

#[test]
fn one_limit_is_that_of_the_refusal_or_of_the_least_left() {
    let state = |which, remaining, reset| PolicyState {
        which,
        limit: None,
        remaining: Some(remaining),
        next_permit_after: None,
        reset_after: Some(secs(reset)),
        is_denied: false,
        retry_after: None,
        partition: None,
    };
    let policies = || {
        [
            QuotaPolicy::new(10).named("a").unwrap(),
            QuotaPolicy::new(20).named("b").unwrap(),
            QuotaPolicy::new(30).named("c").unwrap(),
        ]
    };
    let told = |states: &[PolicyState<'_>]| {
        let headers = written(FieldVersion::Draft7, policies(), states);
        headers["ratelimit"].to_str().unwrap().to_owned()
    };
    let (few, fewer, same) = (state(0, 5, 60), state(1, 4, 60), state(2, 4, 3_600));
    assert_eq!(told(&[few, fewer]), "limit=20, remaining=4, reset=60");
    assert_eq!(told(&[few, fewer, same]), "limit=30, remaining=4, reset=3600");
    let refusal = PolicyState { is_denied: true, retry_after: Some(secs(7)), ..few };
    assert_eq!(told(&[refusal, fewer, same]), "limit=10, remaining=5, reset=7");
    // A state without a policy is left out.
    assert_eq!(told(&[few, state(3, 0, 1)]), "limit=10, remaining=5, reset=60");
}

#[test]
fn a_limit_of_its_own_takes_the_place_of_the_quota() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    let grant = bucket.try_acquire(4).unwrap();
    let state = PolicyState { limit: Some(10), ..PolicyState::granted(&grant) };
    let policy = || [QuotaPolicy::new(5).named("api").unwrap().per(secs(1))];
    let eight = written(FieldVersion::Draft8, policy(), &[state]);
    assert_eq!(eight["ratelimit-policy"], r#""api";q=10;w=1"#);
    let six = written(FieldVersion::Draft6, policy(), &[state]);
    assert_eq!(
        (&six["ratelimit-limit"], &six["ratelimit-policy"]),
        (&"10".parse().unwrap(), &r#"5;w=1;comment="api""#.parse().unwrap())
    );
    let three = written(FieldVersion::Draft3, policy(), &[state]);
    assert_eq!(three["ratelimit-limit"], r#"10, 5;w=1;name="api""#);
}

#[test]
fn fields_that_are_there_are_replaced() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    let state = PolicyState::granted(&bucket.try_acquire(4).unwrap());
    let mut headers = HeaderMap::new();
    headers.append("ratelimit", r#""other";r=1"#.parse().unwrap());
    headers.append("ratelimit", r#""another";r=1"#.parse().unwrap());
    let writer = FieldWriter::new(FieldVersion::Draft8, [QuotaPolicy::new(10)]).unwrap();
    writer.write(&mut headers, &[state.in_partition(b"ada")], SystemTime::now());
    assert_eq!(headers.get_all("ratelimit").iter().count(), 1);
    assert_eq!(headers["ratelimit"], r#""default";r=6;t=1;pk=:YWRh:"#);
}

#[test]
fn a_bucket_is_described_by_its_burst_and_the_time_that_earns_it() {
    let rows = [
        (quota!(100 / second, burst 20), 20, 1),
        (quota!(30 / minute, burst 5), 5, 10),
        (quota!(1 / minute, burst 3), 3, 180),
        (quota!(3 / second, burst 4), 4, 2),
        (quota!(1 / day, burst 4_294_967_296), 1 << 32, 86_400 << 32),
    ];
    for (quota, burst, seconds) in rows {
        let policy = QuotaPolicy::from(quota);
        assert_eq!((policy.quota(), policy.window()), (burst, Some(secs(seconds))), "{quota}");
    }
    assert_eq!(QuotaPolicy::new(1).per(Duration::ZERO).window(), Some(secs(1)));
    assert_eq!(QuotaPolicy::new(1).per(Duration::new(1, 1)).window(), Some(secs(2)));
}

#[test]
fn what_clients_could_not_read_is_an_error() {
    let name = |name: &str| QuotaPolicy::new(1).named(name);
    assert!(name(" ~").is_ok() && name(&"x".repeat(MAX_NAME)).is_ok());
    let messages = [
        (name("").unwrap_err(), "the name of the policy has 0 characters: must have from 1 to 100"),
        (
            name(&"x".repeat(MAX_NAME + 1)).unwrap_err(),
            "the name of the policy has 101 characters: must have from 1 to 100",
        ),
        (
            // Not "has 60 characters: must have from 1 to 100".
            name(&"ö".repeat(60)).unwrap_err(),
            "the name of the policy has the character 'ö': use letters, digits and signs of ASCII, and spaces",
        ),
        (
            name("a\nb").unwrap_err(),
            "the name of the policy has the character '\\n': use letters, digits and signs of ASCII, and spaces",
        ),
        (
            FieldWriter::new(FieldVersion::Draft8, [QuotaPolicy::new(1), name("default").unwrap()])
                .unwrap_err(),
            "two policies have the name \"default\" (\"default\" if none is given): name each differently",
        ),
        (
            FieldWriter::new(FieldVersion::Draft8, vec![QuotaPolicy::new(1); MAX_ITEMS + 1])
                .unwrap_err(),
            "33 policies: a response may tell at most 32",
        ),
    ];
    for (error, message) in messages {
        assert_eq!(error.to_string(), message);
    }
}
