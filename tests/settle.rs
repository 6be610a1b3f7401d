//! A bucket whose grants are settled: what comes back, what is lost when, what is taken beyond an
//! estimate, and that no more is kept than the bound says. The same of windows of one word.

use std::time::Duration;

use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::{All, Counted, Gate, GateMode, SettledCounts, Unlimited};
use sluicegate::keyed::{Each, KeyEstimate};
use sluicegate::settle::{Estimate, Estimates, Settle, Settled, Unpaid};
use sluicegate::wait::{AcquireError, Queued, Reservation, Reserve};
use sluicegate::window::MultiWindow;
use sluicegate::*;

mod all_or_none;
mod beside_a_line;
mod bound;
mod changes;
mod histories;
mod keys;
mod owned;
mod receipts;
mod reserve;
mod rings;
mod several;
mod storms;
mod windows;
mod wrappers;

const SECOND: Duration = Duration::from_secs(1);

/// Holds ten, and earns ten a second.
fn ten(clock: &ManualClock) -> SettleableBucket<&ManualClock> {
    SettleableBucket::with_clock(quota!(10 / second), clock)
}

fn remaining<C: Clock>(bucket: &SettleableBucket<C>) -> u64 {
    bucket.peek(0).unwrap().remaining()
}

#[test]
fn if_nothing_has_been_taken_since_nothing_is_lost() {
    let clock = ManualClock::new();
    let bucket = ten(&clock);
    clock.advance(SECOND);
    bucket.try_acquire_settleable(10).unwrap().settle(0).unwrap();
    assert_eq!(remaining(&bucket), 10);
    assert!(bucket.is_idle());
    let estimate = bucket.try_acquire_settleable(10).unwrap();
    clock.advance(SECOND / 2);
    estimate.settle(3).unwrap();
    assert_eq!(remaining(&bucket), 10);
}

/// Full three quarters of the fill time after the bucket was empty, less what is earned in as
/// much as was given back; and nothing a quarter later.
#[test]
fn what_is_given_back_is_good_for_three_quarters_of_the_fill_time() {
    // 1000 units of a second's worth each: a lot is 250 s.
    let clock = ManualClock::new();
    let bucket = SettleableBucket::with_clock(quota!(1 / second, burst 1_000), &clock);
    for wait in 0..=1_100 {
        bucket.reset();
        bucket.drain();
        clock.advance(Duration::from_secs(100));
        let estimate = bucket.try_acquire_settleable(100).unwrap();
        clock.advance(Duration::from_millis(500));
        // Somebody else takes the rest, so that the word has moved on.
        bucket.drain();
        let before = remaining(&bucket);
        assert_eq!(before, 0);
        estimate.settle(0).unwrap();
        assert!(remaining(&bucket) >= 99, "{}", remaining(&bucket));
        clock.advance(Duration::from_secs(wait));
        let left = remaining(&bucket);
        let all = (100 + wait).min(1_000);
        if wait < 750 - 100 {
            assert!(left + 1 >= all, "{left} of {all} after {wait} s");
        }
        assert!(left <= all && left >= wait.min(1_000));
        // What is there can be taken, and no more.
        assert!(bucket.try_acquire(left).is_ok());
        assert!(bucket.try_acquire(1).is_err());
    }
}

#[test]
fn what_was_used_beyond_the_estimate_becomes_a_debt_and_no_deeper_than_is_allowed() {
    let clock = ManualClock::new();
    let bucket = SettleableBucket::with_clock(quota!(10 / second, max_debt 5), &clock);
    bucket.try_acquire_settleable(6).unwrap().settle(8).unwrap();
    assert_eq!(remaining(&bucket), 2);
    let estimate = bucket.try_acquire_settleable(2).unwrap();
    estimate.settle(5).unwrap();
    let denied = bucket.try_acquire(1).unwrap_err();
    assert_eq!((denied.balance(), denied.retry_after()), (Some(-3), Some(SECOND * 4 / 10)));
    // As much as still can be; the rest is told.
    let unpaid = bucket.try_acquire_settleable(0).unwrap().settle(u64::MAX).unwrap_err();
    assert_eq!(unpaid.permits(), u64::MAX - 2);
    assert_eq!(bucket.try_acquire(1).unwrap_err().balance(), Some(-5));
    assert_eq!(
        Unpaid::to_string(&bucket.try_acquire_settleable(0).unwrap().settle(7).unwrap_err()),
        "settled, except for 7 permits beyond what the limiter can charge",
    );
    clock.advance(SECOND / 2);
    assert_eq!(bucket.try_acquire(1).unwrap_err().balance(), Some(0));
    let none = SettleableBucket::with_clock(quota!(10 / second, max_debt 0), &clock);
    assert_eq!(none.try_acquire_settleable(4).unwrap().settle(12).unwrap_err().permits(), 2);
}

#[test]
fn what_was_given_back_is_taken_before_a_debt() {
    let clock = ManualClock::new();
    let bucket = ten(&clock);
    let early = bucket.try_acquire_settleable(4).unwrap();
    let late = bucket.try_acquire_settleable(6).unwrap();
    early.settle(0).unwrap();
    late.settle(9).unwrap();
    assert_eq!(bucket.peek(0).unwrap().balance(), 1);
    bucket.try_acquire_settleable(1).unwrap().settle(3).unwrap();
    assert_eq!(bucket.peek(0).unwrap().balance(), -2);
}

#[test]
fn what_was_given_back_is_not_taken_in_debt() {
    let clock = ManualClock::new();
    let bucket = ten(&clock);
    let estimate = bucket.try_acquire_settleable(8).unwrap();
    bucket.force(3).unwrap();
    estimate.settle(0).unwrap();
    let denied = bucket.try_acquire(2).unwrap_err();
    // In a tenth of a second the debt is paid, and what was given back can be taken.
    assert_eq!((denied.balance(), denied.retry_after()), (Some(-1), Some(SECOND / 10)));
    clock.advance(SECOND / 10);
    assert!(bucket.try_acquire(2).is_ok());
}

/// Nothing is earned while the clock stands still, so only what is given back is shorter than the
/// wait; and by the wait there is enough, and not a nanosecond before.
#[test]
fn the_wait_of_a_denial_is_the_least_that_suffices() {
    let clock = ManualClock::new();
    for given in 0..=10 {
        for after in (0..1_000).step_by(130) {
            for wanted in 1..=10 {
                let bucket = ten(&clock);
                let estimate = bucket.try_acquire_settleable(10).unwrap();
                clock.advance(Duration::from_millis(after));
                bucket.drain();
                estimate.settle(10 - given).unwrap();
                let Err(denied) = bucket.try_acquire(wanted) else { continue };
                let wait = denied.retry_after().unwrap();
                clock.advance_nanos(wait.as_nanos() as u64 - 1);
                assert_eq!(
                    bucket.peek(wanted).unwrap_err().retry_after(),
                    Some(Duration::from_nanos(1)),
                    "{given} given back after {after} ms, {wanted} wanted"
                );
                clock.advance_nanos(1);
                assert!(bucket.try_acquire(wanted).is_ok());
            }
        }
    }
}

#[test]
fn every_verb_takes_what_was_given_back() {
    let clock = ManualClock::new();
    let given = |permits: u64| {
        let bucket = ten(&clock);
        let estimate = bucket.try_acquire_settleable(6).unwrap();
        bucket.drain();
        estimate.settle(6 - permits).unwrap();
        bucket
    };
    let bucket = given(4);
    assert_eq!(bucket.try_acquire_up_to(9).unwrap().permits(), 4);
    assert!(bucket.try_acquire_up_to(1).is_err());
    let bucket = given(4);
    assert_eq!((bucket.drain().permits(), bucket.drain().permits()), (4, 0));
    let bucket = given(4);
    let estimate = bucket.try_acquire_settleable(4).unwrap();
    assert_eq!(remaining(&bucket), 0);
    // Once more.
    estimate.settle(1).unwrap();
    assert_eq!(remaining(&bucket), 3);
    let limiter: &dyn Limiter = &bucket;
    let receipt = limiter.try_acquire_revocable(3).unwrap();
    assert_eq!(remaining(&bucket), 0);
    assert!(receipt.give_back());
    assert_eq!(remaining(&bucket), 3);
}

#[test]
fn a_receipt_is_given_back_whatever_was_taken_since() {
    let clock = ManualClock::new();
    let bucket = ten(&clock);
    let receipt = Limiter::try_acquire_revocable(&bucket, 4).unwrap();
    bucket.try_acquire(5).unwrap();
    assert!(receipt.give_back());
    assert_eq!(remaining(&bucket), 5);
    assert!(bucket.try_acquire(5).is_ok());
    // Nothing is lost by composites that fail, either.
    let empty = ten(&clock);
    empty.drain();
    let both: All<&dyn Limiter> = All::new([&bucket as &dyn Limiter, &empty]).unwrap();
    clock.advance(SECOND / 10);
    assert!(both.try_acquire(2).is_err());
}

#[test]
fn what_was_given_back_is_not_alive_again_after_the_axis_went_round() {
    let clock = ManualClock::new();
    let bucket = SettleableBucket::with_clock(quota!(1 / day, burst 5_000), &clock);
    let early = bucket.try_acquire_settleable(1_000).unwrap();
    bucket.drain();
    early.settle(0).unwrap();
    assert_eq!(remaining(&bucket), 1_000);
    // Each moves the level by a burst; 2^64 is 10.7 bursts.
    for _ in 0..24 {
        bucket.credit(4_999);
        assert!(bucket.drain().permits() <= 4_999);
        assert_eq!(remaining(&bucket), 0);
    }
}

#[test]
fn a_bucket_that_is_healed_has_nothing_in_its_lots() {
    let clock = ManualClock::at(100 * 1_000_000_000);
    let bucket = ten(&clock);
    let early = bucket.try_acquire_settleable(4).unwrap();
    let late = bucket.try_acquire_settleable(6).unwrap();
    early.settle(0).unwrap();
    clock.set_nanos(10 * 1_000_000_000);
    assert_eq!((remaining(&bucket), bucket.healed()), (10, 1));
    late.settle(0).unwrap();
    assert_eq!(bucket.drain().permits(), 10);
    assert!(bucket.try_acquire(1).is_err());
}

#[test]
fn terms_at_the_edges_settle_too() {
    let clock = ManualClock::new();
    let widest = Quota::from(Rate::per_second(1 << 31).unwrap());
    let tiny = quota!(1 / hour);
    for quota in [
        widest,
        tiny,
        quota!(4_294_967_296 / hour),
        quota!(3 / 7 seconds, burst 2),
        quota!(10 / second, refill interval),
    ] {
        let bucket = SettleableBucket::with_clock(quota, &clock);
        let burst = quota.burst();
        let estimate = bucket.try_acquire_settleable(burst).unwrap();
        estimate.settle(0).unwrap();
        assert_eq!(remaining(&bucket), burst);
        let estimate = bucket.try_acquire_settleable(burst.div_ceil(2)).unwrap();
        let rest = bucket.try_acquire_up_to(burst);
        estimate.settle(0).unwrap();
        let left = remaining(&bucket);
        assert!(
            left <= burst.div_ceil(2) && (rest.is_err() || left + 4 > burst / 2),
            "{quota} {left}"
        );
        clock.advance(quota.rate().period() * 3 + Duration::from_nanos(1));
        // A jump of a century, and back.
        clock.advance(Duration::from_secs(100 * 365 * 86_400));
        assert_eq!(bucket.drain().permits(), burst);
        clock.set_nanos(0);
        _ = bucket.drain();
        assert!(remaining(&bucket) <= burst);
    }
}

#[test]
fn an_estimate_shows_what_is_charged() {
    let bucket = SettleableBucket::with_clock(quota!(10 / second), ManualClock::new());
    let mut estimate = bucket.try_acquire_settleable(4).unwrap();
    estimate.give_back(1);
    let shown = format!("{estimate:?}");
    assert!(shown.starts_with("Estimate { permits: 3, grant: Grant { permits: 4"), "{shown}");
    let shown = format!("{bucket:?}");
    assert_eq!(shown, "SettleableBucket { quota: \"10 / second\", remaining: 7 }");
}

#[test]
fn a_credit_takes_permits_off_the_count_of_the_present_window_alone() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(10 / minute), &clock).unwrap();
    window.try_acquire(6).unwrap();
    assert_eq!((window.credit(0), window.credit(4), window.count()), (0, 4, 2));
    assert_eq!((window.credit(9), window.count()), (2, 0));
    window.try_acquire(10).unwrap();
    clock.advance(Duration::from_secs(60));
    assert_eq!((window.credit(1), window.count()), (0, 0));
    // What was credited is not there to be given back again.
    let estimate = window.try_acquire_settleable(5).unwrap();
    assert_eq!(window.credit(3), 3);
    assert_eq!(estimate.settle(0).unwrap().given_back(), 2);
    assert_eq!(window.count(), 0);
}
