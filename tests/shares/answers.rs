//! Numbers of answers: those of the way in which a request was granted, or is soonest.

use std::time::Duration;

use sluicegate::share::{Share, Shares};
use sluicegate::*;

fn told(denied: Denied) -> (Option<u64>, Option<u64>) {
    (denied.remaining(), denied.limit())
}

#[test]
fn a_borrower_is_told_what_it_may_still_borrow_and_not_what_others_keep() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(10 / second, burst 20)).with_tenants(4);
    let shares =
        Shares::<u64, _>::with_clock(quota!(100 / second, burst 200), [share], &clock).unwrap();
    // Of 200, 80 are kept.
    let own = shares.try_acquire(0, &1, 18).unwrap();
    assert_eq!((own.grant().remaining(), own.grant().limit()), (2, 20));
    let lent = shares.try_acquire(0, &1, 100).unwrap().grant();
    assert_eq!((lent.remaining(), lent.balance(), lent.limit()), (2, 2, 120));
    assert_eq!(lent.next_permit_after(), Some(Duration::from_millis(10)));
    assert_eq!(lent.reset_after(), Duration::from_millis(1_180));
    // What is told can be had, and no more.
    assert_eq!(shares.peek(9, &1, 0).unwrap().grant().remaining(), 2);
    let denied = shares.try_acquire(9, &1, 3).unwrap_err();
    assert_eq!((told(denied), denied.balance()), ((Some(2), Some(120)), Some(2)));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(10)));
    assert_eq!(shares.try_acquire(9, &1, 2).unwrap().grant().remaining(), 0);
    assert_eq!(told(shares.try_acquire(9, &1, 1).unwrap_err()), (Some(0), Some(120)));
    assert_eq!(shares.try_acquire(9, &1, 121).unwrap_err().limit(), Some(120));
}

#[test]
fn a_borrower_with_a_ceiling_is_told_what_both_buckets_leave() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(1 / second, burst 2)).with_ceiling(quota!(5 / second, burst 12));
    let shares =
        Shares::<u64, _>::with_clock(quota!(100 / second, burst 30), [share], &clock).unwrap();
    // 28 are lent, 10 to each, of which there is one place.
    shares.try_acquire(0, &1, 2).unwrap();
    let lent = shares.try_acquire(0, &7, 4).unwrap().grant();
    assert_eq!((lent.remaining(), lent.limit()), (6, 10));
    assert_eq!(
        shares.peek(0, &7, 0).unwrap().grant().remaining(),
        2,
        "of the share, if it had one"
    );
    let denied = shares.try_acquire(0, &7, 7).unwrap_err();
    assert_eq!(told(denied), (Some(6), Some(10)));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(200)));
    // Now the common bucket leaves less than the ceiling.
    shares.try_acquire(9, &0, 19).unwrap();
    let denied = shares.try_acquire(0, &7, 5).unwrap_err();
    assert_eq!(told(denied), (Some(3), Some(10)));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(20)));
    let lent = shares.try_acquire(0, &7, 1).unwrap().grant();
    assert_eq!((lent.remaining(), lent.limit()), (2, 10));
    // Both refuse: the ceiling for longer, and it has more.
    shares.try_acquire(9, &0, 1).unwrap();
    let denied = shares.try_acquire(0, &7, 8).unwrap_err();
    assert_eq!(told(denied), (Some(1), Some(10)));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(600)));
}

#[test]
fn a_denial_tells_of_the_way_in_which_the_request_is_granted_sooner() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(10 / second, burst 20));
    let shares =
        Shares::<u64, _>::with_clock(quota!(1_000 / second, burst 30), [share], &clock).unwrap();
    shares.try_acquire(0, &1, 18).unwrap();
    // Of the share in 100 ms. Lent in 11: of what is held, 8 are missing to what is kept.
    let denied = shares.try_acquire(0, &1, 3).unwrap_err();
    assert_eq!((told(denied), denied.balance()), ((Some(0), Some(10)), Some(-8)));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(11)));
    // More than is ever lent is only of the share.
    let denied = shares.try_acquire(0, &1, 11).unwrap_err();
    assert_eq!(told(denied), (Some(2), Some(20)));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(900)));
}
