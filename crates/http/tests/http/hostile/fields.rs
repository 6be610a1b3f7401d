//! Any bytes as the response of a server.

use std::time::{Duration, UNIX_EPOCH};

use http::header::{HeaderMap, HeaderName, HeaderValue};
use sluicegate_http::fields::*;

const NAMES: [&str; 12] = [
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
    "retry-after",
    "date",
];

/// Checks the guarantees for fields, of which each has a line. Its first byte chooses the name.
///
/// * What is parsed is within its bounds.
/// * Written as the newest version, it is parsed as the same again.
/// * So are problem details.
pub(crate) fn check(bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(40) {
        if let [first, value @ ..] = line
            && let Ok(value) = HeaderValue::from_bytes(value)
        {
            let name = NAMES[usize::from(*first) % NAMES.len()];
            headers.append(HeaderName::from_static(name), value);
        }
    }
    let now = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let parsed = ResponseFields::parse(&headers, now);
    assert!(parsed.policies.len() <= MAX_ITEMS && parsed.limits.len() <= MAX_ITEMS);
    assert!(parsed.wait() <= MAX_WAIT && parsed.retry_after.is_none_or(|wait| wait <= MAX_WAIT));
    for policy in &parsed.policies {
        assert!(policy.name().is_none_or(|name| (1..=MAX_NAME).contains(&name.len())));
        assert!(policy.window().is_none_or(|window| window >= Duration::from_secs(1)));
    }
    written_again(parsed);
    if let Some(problem) = Problem::from_json(bytes) {
        assert_eq!(Problem::from_json(&problem.to_json()), Some(problem));
    }
}

/// Writes what was parsed, if its policies have names that differ, and parses that.
fn written_again(parsed: ResponseFields) {
    let policies: Vec<_> = parsed
        .policies
        .into_iter()
        .map(|policy| {
            let name = policy.name().unwrap_or("default").to_owned();
            policy.named(&name).unwrap()
        })
        .collect();
    let Ok(writer) = FieldWriter::new(FieldVersion::Draft8, policies) else { return };
    let which = |limit: &ServiceLimit| {
        let name = limit.name.as_deref();
        name.and_then(|name| {
            writer.policies().iter().position(|policy| policy.name() == Some(name))
        })
    };
    let limits: Vec<_> =
        parsed.limits.iter().filter_map(|limit| Some((which(limit)?, limit))).collect();
    let states: Vec<_> = limits
        .iter()
        .map(|(which, limit)| PolicyState {
            which: *which,
            limit: None,
            remaining: Some(limit.remaining),
            next_permit_after: limit.reset_after,
            reset_after: None,
            is_denied: false,
            retry_after: None,
            partition: limit.partition.as_deref(),
        })
        .collect();
    let mut headers = HeaderMap::new();
    writer.write(&mut headers, &states, UNIX_EPOCH);
    let again = ResponseFields::parse(&headers, UNIX_EPOCH);
    let expected: Vec<_> = limits.into_iter().map(|(_, limit)| limit.clone()).collect();
    assert_eq!(again.limits, expected);
    if !expected.is_empty() {
        assert_eq!(again.policies, writer.policies());
    }
}
