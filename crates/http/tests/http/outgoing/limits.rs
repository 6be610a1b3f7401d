//! Responses to single requests, and what a client learns from them.

use super::*;

const VERSIONS: [(&str, &[(&str, &str)]); 9] = [
    (
        "X-RateLimit, seconds left",
        &[("x-ratelimit-limit", "10"), ("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "30")],
    ),
    (
        "X-RateLimit, Unix time by the server's clock, which is an hour late",
        &[
            ("date", "Tue, 14 Nov 2023 21:13:20 GMT"),
            ("x-ratelimit-limit", "10"),
            ("x-ratelimit-remaining", "3"),
            ("x-ratelimit-reset", "1699996430"),
        ],
    ),
    (
        "X-RateLimit, Unix time without a date",
        &[
            ("x-ratelimit-limit", "10"),
            ("x-ratelimit-remaining", "3"),
            ("x-ratelimit-reset", "1700000030"),
        ],
    ),
    ("X-Rate-Limit", &[("x-rate-limit-remaining", "3"), ("x-rate-limit-reset", "30")]),
    (
        "draft 3",
        &[
            ("ratelimit-limit", "10, 10;w=60"),
            ("ratelimit-remaining", "3"),
            ("ratelimit-reset", "30"),
        ],
    ),
    (
        "draft 6",
        &[
            ("ratelimit-policy", "10;w=60"),
            ("ratelimit-limit", "10"),
            ("ratelimit-remaining", "3"),
            ("ratelimit-reset", "30"),
        ],
    ),
    (
        "draft 7",
        &[("ratelimit-policy", "10;w=60"), ("ratelimit", "limit=10, remaining=3, reset=30")],
    ),
    (
        "drafts 8 to 10",
        &[("ratelimit-policy", r#""default";q=10;w=60"#), ("ratelimit", r#""default";r=3;t=30"#)],
    ),
    (
        "drafts 8 to 10, two limits",
        &[
            ("ratelimit-policy", r#""day";q=1000;w=86400, "burst";q=10;w=60"#),
            ("ratelimit", r#""day";r=900;t=80000, "burst";r=3;t=30"#),
        ],
    ),
];

#[test]
fn in_every_version_as_many_are_let_through_as_are_left_until_there_are_more() {
    for (version, lines) in VERSIONS {
        let (clock, limits) = limits_with(Bounds::new());
        limits.try_send().unwrap().ok(lines);
        let sent = let_through(&limits);
        assert_eq!(sent.len(), 3, "{version}");
        assert_eq!(wait(&limits), Some(30 * SECOND), "{version}");
        clock.advance(Duration::new(29, 999_999_999));
        assert!(limits.try_send().is_err(), "{version}");
        drop(sent);
        clock.advance(Duration::from_nanos(1));
        // One finds out how many there are.
        let probe = let_through(&limits);
        assert_eq!(probe.len(), 1, "{version}");
    }
}

#[test]
fn what_the_first_response_after_the_reset_tells_is_believed_at_once() {
    for (version, lines) in VERSIONS {
        let (clock, limits) = limits_with(Bounds::new());
        limits.try_send().unwrap().ok(lines);
        let_through(&limits).clear();
        clock.advance(30 * SECOND);
        let probe = limits.try_send().unwrap();
        assert!(limits.try_send().is_err(), "{version}");
        probe.ok(lines);
        assert_eq!(let_through(&limits).len(), 3, "{version}");
    }
}

#[test]
fn a_server_that_tells_its_limit_only_when_it_refuses_gets_requests_at_even_distances() {
    let (clock, limits) = limits();
    limits.try_send().unwrap().refused(&[
        ("ratelimit-policy", r#""default";q=10;w=5"#),
        ("ratelimit", r#""default";r=0;t=1"#),
        ("retry-after", "1"),
    ]);
    assert_eq!(wait(&limits), Some(SECOND));
    clock.advance(SECOND);
    limits.try_send().unwrap().ok(&[]);
    for _ in 0..20 {
        assert_eq!(wait(&limits), Some(SECOND / 2));
        clock.advance(SECOND / 2);
        limits.try_send().unwrap().ok(&[]);
    }
    // Also while they are not answered.
    clock.advance(SECOND / 2);
    let _slow = limits.try_send().unwrap();
    assert_eq!(wait(&limits), Some(SECOND / 2));
    // None is made up for, or more than ten would be in five seconds.
    clock.advance(4 * SECOND);
    limits.try_send().unwrap().ok(&[]);
    assert_eq!(wait(&limits), Some(SECOND / 2));
}

#[test]
fn a_probe_that_was_given_up_is_followed_by_another() {
    let (clock, limits) = limits();
    limits.try_send().unwrap().ok(VERSIONS[7].1);
    let_through(&limits).clear();
    clock.advance(30 * SECOND);
    drop(limits.try_send().unwrap());
    assert_eq!(wait(&limits), Some(6 * SECOND), "a sixth of a minute");
    clock.advance(6 * SECOND);
    // One that hangs holds up the others for no longer than the window.
    let _hangs = limits.try_send().unwrap();
    assert_eq!(wait(&limits), Some(60 * SECOND));
    clock.advance(60 * SECOND);
    assert!(limits.try_send().is_ok());
}

#[test]
fn retry_after_holds_for_all_requests_after_a_refusal_and_takes_precedence() {
    let waits = [
        (("retry-after", "7"), ("x", "x")),
        (("retry-after", "Tue, 14 Nov 2023 22:13:27 GMT"), ("x", "x")),
        (
            ("retry-after", "Tue, 14 Nov 2023 21:13:27 GMT"),
            ("date", "Tue, 14 Nov 2023 21:13:20 GMT"),
        ),
        (("retry-after", "7"), ("ratelimit", r#""default";r=5;t=60"#)),
        (("retry-after", "7"), ("ratelimit", r#""default";r=0;t=60"#)),
    ];
    for (status, (first, second)) in [429, 503, 403].into_iter().flat_map(|s| waits.map(|w| (s, w)))
    {
        let (clock, limits) = limits();
        limits.try_send().unwrap().with(status, &[first, second]);
        assert_eq!(wait(&limits), Some(7 * SECOND), "{status} {first:?} {second:?}");
        clock.advance(7 * SECOND);
        assert!(limits.try_send().is_ok(), "{status} {first:?} {second:?}");
    }
    for status in [200, 301, 404, 500] {
        let (_, limits) = limits();
        limits.try_send().unwrap().with(status, &[("retry-after", "7")]);
        assert!(limits.try_send().is_ok(), "{status}");
    }
}

#[test]
fn a_later_pause_never_shortens_an_earlier_one() {
    let (_, limits) = limits();
    let [first, second] = [limits.try_send().unwrap(), limits.try_send().unwrap()];
    first.refused(&[("retry-after", "60")]);
    second.with(503, &[("retry-after", "2")]);
    assert_eq!(wait(&limits), Some(60 * SECOND));
}

#[test]
fn a_refusal_that_tells_no_wait_pauses_for_longer_each_time() {
    let (clock, limits) = limits();
    for seconds in [1, 2, 4, 8] {
        limits.try_send().unwrap().refused(&[]);
        assert_eq!(wait(&limits), Some(seconds * SECOND));
        clock.advance(seconds * SECOND);
    }
    limits.try_send().unwrap().ok(&[]);
    limits.try_send().unwrap().refused(&[]);
    assert_eq!(wait(&limits), Some(SECOND), "one has passed in between");
}

/// A 503 that tells no wait may be a fault of the server, and says nothing about its limits.
#[test]
fn a_bare_503_neither_pauses_nor_counts_as_passed() {
    let (clock, limits) = limits_with(Bounds::new());
    limits.try_send().unwrap().refused(&[]);
    clock.advance(SECOND);
    limits.try_send().unwrap().with(503, &[]);
    let mut sent = let_through(&limits);
    assert_eq!(sent.len(), 1, "not one more, as after a request that passes");
    sent.remove(0).refused(&[]);
    assert_eq!(wait(&limits), Some(2 * SECOND), "the second refusal in a row");
}

#[test]
fn requests_to_an_unknown_server_double_with_each_round_trip() {
    let (_, limits) = limits_with(Bounds::new());
    for expected in [1, 2, 4, 8, 16] {
        let sent = let_through(&limits);
        assert_eq!(sent.len(), expected);
        assert_eq!(wait(&limits), Some(SECOND), "if none is answered until then");
        for sending in sent {
            sending.ok(&[]);
        }
    }
    let (clock, limits) = limits_with(Bounds::new().start(3));
    for sending in let_through(&limits) {
        sending.refused(&[]);
    }
    clock.advance(10 * SECOND);
    assert_eq!(let_through(&limits).len(), 3);
}

#[test]
fn requests_begin_with_one_again_after_a_refusal() {
    for status in [429, 503] {
        let (clock, limits) = limits_with(Bounds::new());
        for _ in 0..5 {
            for sending in let_through(&limits) {
                sending.ok(&[]);
            }
        }
        limits.try_send().unwrap().with(status, &[("retry-after", "1")]);
        clock.advance(SECOND);
        assert_eq!(let_through(&limits).len(), 1, "{status}");
    }
}

/// A server that tells the tightest of its limits, which is not always the same.
#[test]
fn limits_without_a_name_are_told_apart_by_their_quota() {
    let (_, limits) = limits();
    let lines = |limit, left, reset| {
        [("ratelimit-limit", limit), ("ratelimit-remaining", left), ("ratelimit-reset", reset)]
    };
    limits.try_send().unwrap().ok(&lines("1000", "1", "3600"));
    limits.try_send().unwrap().ok(&lines("10", "9", "1"));
    assert_eq!(wait(&limits), Some(3_600 * SECOND));
}

#[test]
fn of_several_policies_a_limit_without_a_name_has_the_one_with_its_quota() {
    let (clock, limits) = limits();
    limits.try_send().unwrap().ok(&[
        ("ratelimit-policy", "1000;w=3600, 10;w=60"),
        ("ratelimit", "limit=10, remaining=0, reset=30"),
    ]);
    clock.advance(30 * SECOND);
    limits.try_send().unwrap().ok(&[]);
    assert_eq!(wait(&limits), Some(6 * SECOND));
}

#[test]
fn slow_responses_hold_up_others_for_a_second_each() {
    let (clock, limits) = limits_with(Bounds::new());
    let mut sent = let_through(&limits);
    for number in 1..10 {
        assert_eq!((sent.len(), wait(&limits)), (number, Some(SECOND)));
        clock.advance(SECOND);
        sent.extend(let_through(&limits));
    }
}

#[test]
fn each_of_several_limits_holds() {
    let (clock, limits) = limits();
    let policy = ("ratelimit-policy", r#""second";q=5;w=1, "hour";q=8;w=3600"#);
    limits
        .try_send()
        .unwrap()
        .ok(&[policy, ("ratelimit", r#""second";r=4;t=1, "hour";r=7;t=3600"#)]);
    assert_eq!(let_through(&limits).len(), 4);
    clock.advance(SECOND);
    limits
        .try_send()
        .unwrap()
        .ok(&[policy, ("ratelimit", r#""second";r=4;t=1, "hour";r=2;t=3599"#)]);
    assert_eq!(let_through(&limits).len(), 2);
    assert_eq!(wait(&limits), Some(3_599 * SECOND));
}

#[test]
fn a_limit_that_a_response_does_not_tell_stays_as_it_was() {
    let (_, limits) = limits();
    let [first, second] = [limits.try_send().unwrap(), limits.try_send().unwrap()];
    first.ok(&[("ratelimit", r#""hour";r=1;t=3600"#)]);
    second.ok(&[("ratelimit", r#""second";r=100;t=1"#)]);
    assert_eq!(let_through(&limits).len(), 0, "the hour may not count the second request");
    assert_eq!(wait(&limits), Some(3_600 * SECOND));
}

#[test]
fn partitions_are_kept_apart() {
    let (clock, limits) = limits();
    limits.try_send().unwrap().ok(&[("ratelimit", r#""p";r=0;t=60;pk=:YQ==:"#)]);
    assert_eq!(wait(&limits), Some(60 * SECOND));
    clock.advance(60 * SECOND);
    limits.try_send().unwrap().ok(&[("ratelimit", r#""p";r=2;t=60;pk=:YQ==:"#)]);
    limits.try_send().unwrap().ok(&[("ratelimit", r#""p";r=9;t=60;pk=:Yg==:"#)]);
    assert_eq!(let_through(&limits).len(), 1, "the third may belong to the first partition");
}

#[test]
fn limits_that_do_not_count_requests_pause_when_nothing_is_left() {
    let policy = ("ratelimit-policy", r#""bytes";q=1000;qu="content-bytes";w=10"#);
    let (clock, limits) = limits();
    limits.try_send().unwrap().ok(&[policy, ("ratelimit", r#""bytes";r=1;t=9"#)]);
    assert_eq!(let_through(&limits).len(), 1_000);
    limits.try_send().unwrap().ok(&[policy, ("ratelimit", r#""bytes";r=0;t=9"#)]);
    assert_eq!(wait(&limits), Some(9 * SECOND));
    clock.advance(9 * SECOND);
    assert_eq!(let_through(&limits).len(), 1_000);
}

#[test]
fn a_limit_is_forgotten_once_a_window_has_passed_without_a_request() {
    let (clock, limits) = limits_with(Bounds::new());
    limits.try_send().unwrap().ok(VERSIONS[7].1);
    clock.advance(90 * SECOND);
    let sent = let_through(&limits);
    assert_eq!(sent.len(), 1);
    assert_eq!(wait(&limits), Some(SECOND), "nothing is known, as at first");
}
