//! Lenient parsing: each row is a field as servers send it, and what is read of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{HeaderMap, HeaderName, HeaderValue};
use sluicegate_http::fields::*;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_790_000_000)
}

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn parsed(fields: &[(&'static str, &str)]) -> ResponseFields {
    ResponseFields::parse(&headers(fields), now())
}

/// Remaining permits, and seconds until the reset.
type Limit = (u64, Option<u64>);

fn only_limit(fields: &[(&'static str, &str)]) -> Option<Limit> {
    let limits = parsed(fields).limits;
    assert!(limits.len() <= 1, "{limits:?}");
    limits.first().map(|limit| (limit.remaining, limit.reset_after.map(|wait| wait.as_secs())))
}

#[test]
fn well_formed_items_count_and_others_are_ignored() {
    let rows: &[(&str, Option<Limit>)] = &[
        (r#""default";r=50;t=30"#, Some((50, Some(30)))),
        // A name was a token in earlier texts of the eighth draft.
        ("default;r=50;t=30", Some((50, Some(30)))),
        (r#" "default" ;r=50; t=30 "#, None),
        (r#"  "default"; r=50;  t=30  "#, Some((50, Some(30)))),
        // What is not known is a comment, and the last of the same parameters counts.
        (r#""default";acme-burst=9;r=50;x;y=?0;z=1.5;t=30"#, Some((50, Some(30)))),
        (r#""default";r=1;r=50;t=1;t=30"#, Some((50, Some(30)))),
        (r#""default";r=0"#, Some((0, None))),
        (r#""default";r=999999999999999"#, Some((999_999_999_999_999, None))),
        // Required, an integer, not negative.
        (r#""default";t=30"#, None),
        (r#""default";r;t=30"#, None),
        (r#""default";r="50";t=30"#, None),
        (r#""default";r=-1;t=30"#, None),
        (r#""default";r=1.5;t=30"#, None),
        (r#""default";r=9999999999999999"#, None),
        (r#""default";r=50;t=-1"#, None),
        (r#""default";r=50;t=1.5"#, None),
        (r#""default";r=50;pk="text""#, None),
        (r#"("default" "other");r=50"#, None),
        ("5;r=50", None),
        (r#""default;r=50"#, None),
        (r#""default";r=50,"#, None),
        ("", None),
        (",", None),
        ("\u{e9}", None),
    ];
    for (value, expected) in rows {
        assert_eq!(only_limit(&[("ratelimit", value)]), *expected, "{value}");
    }
}

#[test]
fn one_malformed_item_does_not_hide_the_others() {
    let fields = parsed(&[("ratelimit", r#""a";r=-1, "b";r=2, "c", "d";r=4"#)]);
    let names: Vec<_> = fields.limits.iter().map(|limit| limit.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["b", "d"]);
}

#[test]
fn a_list_may_be_split_over_several_fields() {
    let fields = parsed(&[
        ("ratelimit", r#""a";r=1"#),
        ("ratelimit", r#""b";r=2, "c";r=3"#),
        ("ratelimit-policy", r#""a";q=5"#),
        ("ratelimit-policy", r#""b";q=6;w=60"#),
    ]);
    assert_eq!(fields.limits.len(), 3);
    assert_eq!(fields.policies.len(), 2);
    assert_eq!(fields.policies[1].window(), Some(Duration::from_secs(60)));
}

#[test]
fn policies_need_a_quota_and_a_window_that_is_not_zero() {
    let rows: &[(&str, usize)] = &[
        (r#""a";q=5;w=60"#, 1),
        (r#""a";q=0"#, 1),
        (r#""a";w=60"#, 0),
        (r#""a";q=5;w=0"#, 0),
        (r#""a";q=5;w=-1"#, 0),
        (r#""a";q=5;qu=5"#, 0),
        (r#""a";q=5;qu="acme-tokens""#, 1),
        (r#""";q=5"#, 0),
        ("5;w=60", 1),
        (r#"5;w=60;comment="fixed window", 100;w=3600"#, 2),
        ("5", 0),
        ("5;w=0", 0),
    ];
    for (value, expected) in rows {
        assert_eq!(parsed(&[("ratelimit-policy", value)]).policies.len(), *expected, "{value}");
    }
}

#[test]
fn every_version_is_recognized_and_the_newest_counts() {
    let legacy =
        [("x-ratelimit-limit", "5"), ("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "9")];
    let dashed =
        [("x-rate-limit-limit", "5"), ("x-rate-limit-remaining", "2"), ("x-rate-limit-reset", "9")];
    let separate =
        [("ratelimit-limit", "5"), ("ratelimit-remaining", "3"), ("ratelimit-reset", "9")];
    let dictionary = [("ratelimit", "limit=5, remaining=4, reset=9")];
    assert_eq!(only_limit(&dashed), Some((2, Some(9))));
    assert_eq!(only_limit(&legacy), Some((1, Some(9))));
    assert_eq!(only_limit(&separate), Some((3, Some(9))));
    assert_eq!(only_limit(&dictionary), Some((4, Some(9))));
    assert_eq!(only_limit(&[&dashed[..], &legacy].concat()), Some((1, Some(9))));
    assert_eq!(only_limit(&[&legacy[..], &separate].concat()), Some((3, Some(9))));
    assert_eq!(only_limit(&[&separate[..], &dictionary].concat()), Some((4, Some(9))));
    assert_eq!(parsed(&legacy).limits[0].limit, Some(5));
}

/// The form that Envoy sends.
#[test]
fn the_third_draft_has_its_policies_behind_the_limit() {
    let fields = parsed(&[
        ("x-ratelimit-limit", r#"10, 10;w=1;name="per second", 500;w=60"#),
        ("x-ratelimit-remaining", "9"),
        ("x-ratelimit-reset", "1"),
    ]);
    assert_eq!((fields.limits[0].limit, fields.limits[0].remaining), (Some(10), 9));
    assert_eq!(fields.policies[0].name(), Some("per second"));
    assert_eq!((fields.policies[1].name(), fields.policies[1].quota()), (None, 500));
}

#[test]
fn a_reset_is_seconds_or_a_time_by_its_size() {
    let date = ("date", "Tue, 15 Sep 2026 06:13:20 GMT"); // 1789452800
    let rows: &[(&str, Option<u64>)] = &[
        ("0", Some(0)),
        ("60", Some(60)),
        ("0.5", Some(1)),
        ("999999999", Some(999_999_999)),
        ("1789452860", Some(60)),
        ("1789452860000", Some(60)),
        ("1789452859.001", Some(60)),
        ("1789452799", Some(0)),
        ("1000000000", Some(0)),
        ("-1", None),
        ("soon", None),
        ("99999999999999999999", None),
    ];
    for (value, expected) in rows {
        let fields = [date, ("x-ratelimit-remaining", "4"), ("x-ratelimit-reset", value)];
        assert_eq!(only_limit(&fields), Some((4, *expected)), "{value}");
    }
    // Without `Date`, by the clock of the client.
    let fields = [("x-ratelimit-remaining", "4"), ("x-ratelimit-reset", "1790000007")];
    assert_eq!(only_limit(&fields), Some((4, Some(7))));
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    let rows: &[(&str, Option<u64>)] = &[
        ("0", Some(0)),
        ("120", Some(120)),
        ("  120\t", Some(120)),
        ("007", Some(7)),
        ("2147483648", Some(1 << 31)),
        ("2147483649", Some(1 << 31)),
        ("99999999999999999999999999999999", Some(1 << 31)),
        ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
        ("Sunday, 06-Nov-94 08:49:47 GMT", Some(10)),
        ("Sun Nov  6 08:49:47 1994", Some(10)),
        ("Sun, 06 Nov 1994 08:49:36 GMT", Some(0)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(1 << 31)),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1, 2", None),
        ("soon", None),
        ("Sun, 31 Feb 1994 08:49:47 GMT", None),
        ("2026-11-25T23:00:00Z", None),
    ];
    for (value, expected) in rows {
        let wait = parse_retry_after(&headers(&[date, ("retry-after", value)]), now());
        assert_eq!(wait.map(|wait| wait.as_secs()), *expected, "{value}");
    }
    assert_eq!(parse_retry_after(&HeaderMap::new(), now()), None);
}

#[test]
fn the_wait_is_that_of_retry_after_or_of_what_is_exhausted() {
    let rows: &[(&[(&'static str, &str)], u64)] = &[
        (&[], 0),
        (&[("retry-after", "20"), ("ratelimit", r#""a";r=0;t=40"#)], 20),
        (&[("retry-after", "0"), ("ratelimit", r#""a";r=0;t=40"#)], 0),
        (&[("retry-after", "soon"), ("ratelimit", r#""a";r=0;t=40"#)], 40),
        (&[("ratelimit", r#""a";r=0;t=40, "b";r=0;t=50, "c";r=1;t=60"#)], 50),
        (&[("ratelimit", r#""a";r=0"#)], 0),
        (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1790000030")], 30),
        (&[("ratelimit", r#""a";r=0;t=999999999999999"#)], 1 << 31),
    ];
    for (fields, expected) in rows {
        assert_eq!(parsed(fields).wait(), Duration::from_secs(*expected), "{fields:?}");
    }
}

#[test]
fn what_is_too_long_or_has_too_many_items_is_ignored() {
    let many = |items: usize| vec![r#""a";r=1"#; items].join(",");
    assert_eq!(parsed(&[("ratelimit", &many(MAX_ITEMS))]).limits.len(), MAX_ITEMS);
    assert_eq!(parsed(&[("ratelimit", &many(MAX_ITEMS + 1))]).limits.len(), 0);
    let padded = |bytes: usize| format!(r#"{:1$}"a";r=1"#, "", bytes - 7);
    assert_eq!(parsed(&[("ratelimit", &padded(MAX_FIELD_BYTES))]).limits.len(), 1);
    assert_eq!(parsed(&[("ratelimit", &padded(MAX_FIELD_BYTES + 1))]).limits.len(), 0);
    let lines = vec![("ratelimit", r#""a";r=1;comment="a long comment""#); 10_000];
    assert_eq!(parsed(&lines).limits.len(), 0);
}

#[test]
fn members_of_a_problem_with_a_wrong_type_are_ignored() {
    let problem = Problem::from_json(
        br#"{"type": 5, "title": ["a"], "status": "429", "detail": "why", "instance": null,
            "violated-policies": ["a", 5, "b"], "more": {"a": []}}"#,
    );
    let problem = problem.unwrap();
    assert_eq!((problem.kind, problem.status, problem.title), (ProblemType::Blank, None, None));
    assert_eq!((problem.detail.as_deref(), problem.instance), (Some("why"), None));
    assert_eq!(problem.violated_policies, ["a", "b"]);
    for status in ["99", "1000", "70000", "-1", "429.5"] {
        let body = format!(r#"{{"status": {status}}}"#);
        assert_eq!(Problem::from_json(body.as_bytes()).unwrap().status, None, "{status}");
    }
    let deep = [vec![b'['; 60_000], vec![b']'; 5_000]].concat();
    for body in [&b""[..], b"[]", b"5", b"{", b"\xff", &deep, &vec![b' '; MAX_PROBLEM_BYTES + 1]] {
        assert_eq!(Problem::from_json(body), None);
    }
}
