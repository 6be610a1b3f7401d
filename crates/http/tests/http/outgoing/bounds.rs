//! Nonsense in responses: a server cannot make a client wait for ever, nor make it run free.

use sluicegate::quota;

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn no_pause_is_longer_than_the_longest() {
    let nonsense: [&[(&str, &str)]; 8] = [
        &[("retry-after", "99999999999999999999999999")],
        &[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")],
        &[("ratelimit", r#""p";r=0;t=999999999999999"#)],
        &[("ratelimit-policy", r#""p";q=1;w=999999999999999"#), ("ratelimit", r#""p";r=0"#)],
        &[("ratelimit", "limit=10, remaining=0, reset=999999999999999")],
        &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99999999999")],
        &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "999999999999999")],
        &[
            ("ratelimit-policy", r#""b";q=1;qu="content-bytes""#),
            ("ratelimit", r#""b";r=0;t=99999999"#),
        ],
    ];
    for lines in nonsense {
        let (clock, limits) = limits();
        limits.try_send().unwrap().refused(lines);
        assert_eq!(wait(&limits), Some(HOUR), "{lines:?}");
        clock.advance(HOUR);
        assert!(limits.try_send().is_ok(), "{lines:?}");
    }
}

#[test]
fn nothing_left_and_no_wait_is_the_shortest_pause_and_then_one_request() {
    let nonsense: [&[(&str, &str)]; 7] = [
        &[("retry-after", "0")],
        &[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")],
        &[("ratelimit", r#""p";r=0;t=0"#)],
        &[("ratelimit", r#""p";r=0"#)],
        &[("ratelimit-policy", r#""p";q=0;w=60"#), ("ratelimit", r#""p";r=99;t=0"#)],
        &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "0")],
        // The client's clock is years ahead, and there is no date.
        &[
            ("x-ratelimit-limit", "9"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1400000000"),
        ],
    ];
    for lines in nonsense {
        let (clock, limits) = limits_with(Bounds::new());
        limits.try_send().unwrap().refused(lines);
        for _ in 0..5 {
            assert_eq!(wait(&limits), Some(SECOND), "{lines:?}");
            clock.advance(SECOND);
            let sent = let_through(&limits);
            assert_eq!(sent.len(), 1, "{lines:?}");
            for sending in sent {
                sending.refused(lines);
            }
        }
    }
}

#[test]
fn pauses_have_the_bounds_that_are_set() {
    let bounds = Bounds::new().shortest_pause(5 * SECOND).longest_pause(20 * SECOND);
    for (told, expected) in [("0", 5), ("1", 1), ("19", 19), ("21", 20)] {
        let (_, limits) = limits_with(bounds);
        limits.try_send().unwrap().refused(&[("retry-after", told)]);
        assert_eq!(wait(&limits), Some(expected * SECOND), "{told}");
    }
}

/// A number beyond the quota is nonsense, too.
#[test]
fn no_more_are_let_through_than_the_quota() {
    let (_, limits) = limits();
    limits.try_send().unwrap().ok(&[
        ("ratelimit-policy", r#""p";q=10;w=60"#),
        ("ratelimit", r#""p";r=999999999999999;t=60"#),
    ]);
    assert_eq!(let_through(&limits).len(), 10);
}

#[test]
fn the_client_has_a_quota_of_its_own_that_no_response_changes() {
    let (clock, limits) =
        limits_with(Bounds::new().at_most(quota!(4 / second, burst 2)).start(100));
    assert_eq!(let_through(&limits).len(), 2);
    clock.advance(SECOND / 4);
    limits.try_send().unwrap().ok(&[("ratelimit", r#""p";r=1000000;t=60"#)]);
    assert_eq!(wait(&limits), Some(SECOND / 4));
}

#[test]
fn malformed_fields_tell_nothing() {
    let nonsense: [&[(&str, &str)]; 6] = [
        &[("retry-after", "soon")],
        &[("ratelimit", r#""p";r=-1;t=60"#)],
        &[("ratelimit", r#""p";r=0.5;t=60"#)],
        &[("ratelimit", "\"p;r=0")],
        &[("x-ratelimit-remaining", "none")],
        &[("x-ratelimit-reset", "60")],
    ];
    for lines in nonsense {
        let (_, limits) = limits();
        limits.try_send().unwrap().ok(lines);
        assert!(limits.try_send().is_ok(), "{lines:?}");
    }
}

/// A server that invents a new limit for each response takes no more memory, and is not obeyed for ever.
#[test]
fn of_too_many_limits_the_oldest_are_forgotten() {
    let (_, limits) = limits();
    let first = limits.try_send().unwrap();
    let others: Vec<_> = (0..100).map(|_| limits.try_send().unwrap()).collect();
    first.ok(&[("ratelimit", r#""first";r=0;t=3600"#)]);
    for (number, sending) in others.into_iter().enumerate() {
        assert_eq!(limits.try_send().is_err(), number < 64, "{number}");
        sending.ok(&[("ratelimit", &format!(r#""{number}";r=1000;t=60"#))]);
    }
}
