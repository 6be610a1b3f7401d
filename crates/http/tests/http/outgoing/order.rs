//! Responses in another order than that of the requests, and requests that nobody has counted yet.

use super::*;

fn told(left: u64) -> [(&'static str, String); 1] {
    [("ratelimit", format!(r#""p";r={left};t=60"#))]
}

fn ok(sending: Sending<'_, Clock>, left: u64) {
    let [(name, value)] = told(left);
    sending.ok(&[(name, &value)]);
}

#[test]
fn requests_on_their_way_are_taken_off() {
    let (_, limits) = limits();
    let first = limits.try_send().unwrap();
    let on_their_way: Vec<_> = (0..4).map(|_| limits.try_send().unwrap()).collect();
    ok(first, 9);
    assert_eq!(let_through(&limits).len(), 5);
    drop(on_their_way);
}

#[test]
fn a_request_that_was_answered_before_is_counted() {
    let (_, limits) = limits();
    ok(limits.try_send().unwrap(), 9);
    ok(limits.try_send().unwrap(), 8);
    assert_eq!(let_through(&limits).len(), 8);
}

/// The server has decided on the second before the first.
#[test]
fn responses_in_the_other_order_change_nothing() {
    let (_, limits) = limits();
    let [first, second] = [limits.try_send().unwrap(), limits.try_send().unwrap()];
    ok(second, 9);
    ok(first, 8);
    assert_eq!(let_through(&limits).len(), 8);
}

#[test]
fn an_old_response_that_arrives_late_does_not_raise_what_is_left() {
    let (clock, limits) = limits();
    let slow = limits.try_send().unwrap();
    clock.advance(SECOND);
    // The server may not have counted the slow one.
    for left in (1..9).rev() {
        ok(limits.try_send().unwrap(), left);
    }
    assert!(limits.try_send().is_err());
    ok(slow, 9);
    assert_eq!(wait(&limits), Some(60 * SECOND));
}

/// Ten requests, decided on in the order in which they were sent, and answered from the last to the
/// first: each number but the last is out of date.
#[test]
fn of_a_burst_the_latest_decision_counts_in_whatever_order_the_answers_come() {
    for is_reversed in [false, true] {
        let (_, limits) = limits();
        let mut burst: Vec<_> =
            (0..10).map(|_| limits.try_send().unwrap()).zip((90..100).rev()).collect();
        if is_reversed {
            burst.reverse();
        }
        for (sending, left) in burst {
            ok(sending, left);
        }
        // 90 are left. The response to the last one alone does not tell that it counts the others.
        assert_eq!(let_through(&limits).len(), if is_reversed { 81 } else { 90 });
    }
}

/// The server has counted them long ago, whenever it may answer.
#[test]
fn requests_that_take_long_are_not_taken_off_for_ever() {
    let (clock, limits) = limits();
    let _slow: Vec<_> = (0..30).map(|_| limits.try_send().unwrap()).collect();
    clock.advance(4 * SECOND);
    ok(limits.try_send().unwrap(), 50);
    clock.advance(2 * SECOND);
    ok(limits.try_send().unwrap(), 50);
    assert_eq!(let_through(&limits).len(), 50);
}

#[test]
fn a_lower_number_is_believed_as_others_may_use_the_limit() {
    let (_, limits) = limits();
    ok(limits.try_send().unwrap(), 50);
    ok(limits.try_send().unwrap(), 7);
    assert_eq!(let_through(&limits).len(), 7);

    // So are requests on their way, which the server will count beside the others'.
    let (_, limits) = self::limits();
    ok(limits.try_send().unwrap(), 50);
    let _on_their_way = [limits.try_send().unwrap(), limits.try_send().unwrap()];
    ok(limits.try_send().unwrap(), 7);
    assert_eq!(let_through(&limits).len(), 5);
}

#[test]
fn a_request_that_is_given_up_counts_as_sent() {
    let (_, limits) = limits();
    ok(limits.try_send().unwrap(), 3);
    drop(limits.try_send().unwrap());
    assert_eq!(limits.in_flight(), 0);
    assert_eq!(let_through(&limits).len(), 2);
}
