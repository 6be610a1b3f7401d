//! Several windows, and several limiters.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use sluicegate::compose::All;
use sluicegate::window::{MultiWindow, WeightedLog};
use sluicegate::*;

use super::subject::least_wait;
use super::{DAY, SECOND};

#[test]
fn a_denial_names_the_window_that_has_to_be_waited_for_longest() {
    let clock = ManualClock::at(DAY);
    let limits = [rate!(4 / second), rate!(6 / minute), rate!(9 / hour)];
    let windows = MultiWindow::with_slots(limits, 60, &clock).unwrap();
    let lengths: Vec<_> = windows.windows().collect();
    assert_eq!(lengths, limits.map(|limit| (limit.permits(), limit.period())));

    windows.try_acquire(4).unwrap();
    let denied = windows.try_acquire(1).unwrap_err();
    assert_eq!(denied.which(), 0);
    clock.advance(denied.retry_after().unwrap());
    windows.try_acquire(2).unwrap();
    assert_eq!(windows.try_acquire(1).unwrap_err().which(), 1);
    clock.advance(least_wait(&windows, 3, &clock));
    windows.try_acquire(3).unwrap();
    assert_eq!(windows.try_acquire(1).unwrap_err().which(), 2, "the hour is full");
    assert_eq!([0, 1, 2].map(|which| windows.count(which)), [3, 5, 9]);
    // Too many for the second, which is full as well, is never.
    assert_eq!(windows.try_acquire(5), Err(Denied::TooLarge { limit: 4, which: 0 }));
}

#[test]
fn all_names_the_limiter_that_has_to_be_waited_for_longest_and_takes_from_none() {
    let clock = ManualClock::at(DAY);
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 5), &clock);
    let window = FixedWindow::with_clock(rate!(7 / minute), &clock).unwrap();
    let log = WeightedLog::with_clock(rate!(6 / 10 seconds), &clock).unwrap();
    let all = All::new([&bucket as &dyn Limiter, &window, &log]).unwrap();
    assert_eq!(all.limiters().len(), 3);
    assert_eq!(all.try_acquire(6).unwrap_err(), Denied::TooLarge { limit: 5, which: 0 });

    all.try_acquire(5).unwrap();
    let denied = all.try_acquire(2).unwrap_err();
    let wait = denied.retry_after().unwrap();
    assert_eq!(denied.which(), 2, "{wait:?}");
    let three_denied = all.try_acquire(3).unwrap_err();
    assert_eq!((three_denied.which(), three_denied.retry_after()), (1, Some(60 * SEC)));
    let counts = (bucket.peek(0).unwrap().remaining(), window.count(), log.count());
    assert_eq!(counts, (0, 5, 5), "a denial has cost nobody anything");

    clock.advance(wait);
    all.try_acquire(2).unwrap();
    assert_eq!((bucket.peek(0).unwrap().remaining(), window.count(), log.count()), (3, 7, 2));
}

const SEC: Duration = Duration::from_secs(1);

#[test]
fn the_wait_of_all_suffices_for_all() {
    let clock = ManualClock::at(DAY);
    let bucket = TokenBucket::with_clock(quota!(5 / 2 seconds, burst 4), &clock);
    let window = FixedWindow::with_clock(rate!(9 / 4 seconds), &clock).unwrap();
    let log = WeightedLog::with_clock(rate!(4 / second), &clock).unwrap();
    let counter = SlidingCounter::with_clock(rate!(21 / 9 seconds), &clock).unwrap();
    let all = All::new([&bucket as &dyn Limiter, &window, &log, &counter]).unwrap();
    let mut denials = [0; 4];
    for call in 0..3_000_u64 {
        clock.advance_nanos(call * call % 17 * 30_000_000 + call % 3);
        let permits = 1 + call % 4;
        let Err(denied) = all.try_acquire(permits) else { continue };
        denials[denied.which()] += 1;
        assert_eq!(all.peek(permits), Err(denied));
        let wait = least_wait(&all, permits, &clock);
        assert_eq!(denied.retry_after(), Some(wait));
    }
    assert!(denials.iter().all(|&times| times > 5), "{denials:?}");
}

#[test]
fn all_with_a_log_of_single_permits_grants_one_at_a_time() {
    let clock = ManualClock::at(DAY);
    let bucket = TokenBucket::with_clock(quota!(5 / second), &clock);
    let log = SlidingLog::with_clock(rate!(3 / second), &clock).unwrap();
    let all = All::new([&bucket as &dyn Limiter, &log]).unwrap();
    assert_eq!(all.try_acquire(2), Err(Denied::TooLarge { limit: 1, which: 1 }));
    assert_eq!(all.try_acquire(9), Err(Denied::TooLarge { limit: 1, which: 1 }));
    assert_eq!((bucket.peek(0).unwrap().remaining(), log.count()), (5, 0));
    assert_eq!(all.try_acquire_up_to(4).unwrap().permits(), 1);
    assert_eq!((bucket.peek(0).unwrap().remaining(), log.count()), (4, 1));
}

#[test]
fn all_takes_as_many_as_the_scarcest_has() {
    let clock = ManualClock::at(DAY);
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 9), &clock);
    let window = FixedWindow::with_clock(rate!(7 / minute), &clock).unwrap();
    let all = All::new([&bucket as &dyn Limiter, &window]).unwrap();
    assert_eq!(all.try_acquire_up_to(0).unwrap().permits(), 0);
    assert_eq!(all.try_acquire_up_to(3).unwrap().permits(), 3);
    bucket.force(3).unwrap();
    assert_eq!(all.try_acquire_up_to(u64::MAX).unwrap().permits(), 3);
    assert_eq!((bucket.peek(0).unwrap().remaining(), window.count()), (0, 6));
    let denied = all.try_acquire_up_to(u64::MAX).unwrap_err();
    assert_eq!((denied.which(), denied.retry_after()), (0, Some(SEC)));
    clock.advance_nanos(2 * SECOND);
    assert_eq!(all.try_acquire_up_to(2).unwrap().permits(), 1, "the window has one left");
    assert_eq!(all.try_acquire_up_to(1).unwrap_err().which(), 1);
}

/// Each looks as if it had enough.
#[test]
fn a_limiter_that_is_in_all_twice_is_taken_from_twice_or_not_at_all() {
    let clock = ManualClock::at(DAY);
    let window = FixedWindow::with_clock(rate!(5 / minute), &clock).unwrap();
    let both = All::new([&window, &window]).unwrap();
    let wait = both.try_acquire(3).unwrap_err().retry_after();
    assert_eq!((wait, window.count()), (Some(60 * SEC), 0));
    let granted = both.try_acquire_up_to(5).unwrap().permits();
    assert!((1..=2).contains(&granted), "{granted}");
    assert_eq!(window.count(), 2 * granted);
}

#[test]
fn all_of_all_gives_back_what_the_inner_ones_took() {
    let clock = ManualClock::at(DAY);
    let [first, second, third] =
        [5, 6, 7].map(|limit| FixedWindow::with_clock(minutely(limit), &clock).unwrap());
    let counts = || [&first, &second, &third].map(FixedWindow::count);
    let inner = All::new([&first, &second]).unwrap();
    let outer = All::new([&inner as &dyn Limiter, &third, &first]).unwrap();
    // The first is there twice, and has five.
    assert!(outer.try_acquire(3).is_err());
    assert_eq!(counts(), [0, 0, 0]);
    outer.try_acquire(2).unwrap();
    assert_eq!(counts(), [4, 2, 2]);
    outer.reset();
    assert_eq!(counts(), [0, 0, 0]);
}

#[test]
fn what_can_never_be_is_too_large_whatever_leases_hold_elsewhere() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let sharded = Sharded::builder(quota!(20 / second)).shards(1).clock(&clock).build().unwrap();
    let held = sharded.lease(15).unwrap();
    for limiters in [[&bucket as &dyn Limiter, &sharded], [&sharded as &dyn Limiter, &bucket]] {
        let all: All<&dyn Limiter> = All::new(limiters).unwrap();
        let denied = all.try_acquire(11).unwrap_err();
        assert!(matches!(denied, Denied::TooLarge { limit: 10, .. }), "{denied:?}");
        // Ten could be granted, if the lease ended.
        let denied = all.try_acquire(10).unwrap_err();
        assert!(matches!(denied, Denied::Leased { limit: 5, .. }), "{denied:?}");
    }
    drop(held);
}

/// A bucket that says, once, that leases hold all of it.
struct LeasedOnce<'c> {
    bucket: TokenBucket<&'c ManualClock>,
    is_leased: AtomicBool,
}

impl Limiter for LeasedOnce<'_> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        if permits > 0 && self.is_leased.swap(false, SeqCst) {
            return Err(Denied::Leased { limit: 0, which: 0 });
        }
        self.bucket.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.bucket.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.bucket.peek(permits)
    }

    fn reset(&self) {
        self.bucket.reset();
    }
}

#[test]
fn all_grants_as_many_as_there_are_and_never_none_beside_leases_of_everything() {
    let clock = ManualClock::new();
    for permits in [1, 2, 9] {
        let bucket = TokenBucket::with_clock(quota!(5 / second), &clock);
        let all = All::new([LeasedOnce { bucket, is_leased: AtomicBool::new(true) }]).unwrap();
        match all.try_acquire_up_to(permits) {
            Ok(grant) => assert!((1..=permits).contains(&grant.permits()), "{grant:?}"),
            Err(denied) => assert_eq!(denied, Denied::Leased { limit: 0, which: 0 }),
        }
    }
}

fn minutely(limit: u64) -> Rate {
    Rate::new(limit, Duration::from_secs(60)).unwrap()
}

/// The result of a look is that of the limiter with the least left; another may still count.
#[test]
fn several_limiters_are_idle_when_each_of_them_is() {
    let clock = ManualClock::new();
    let second: Box<dyn Limiter> = Box::new(TokenBucket::with_clock(quota!(1 / second), &clock));
    let hour: Box<dyn Limiter> =
        Box::new(FixedWindow::with_clock(rate!(3 / hour), &clock).unwrap());
    let both = All::new([second, hour]).unwrap();
    assert!(both.is_idle());
    both.try_acquire(1).unwrap();
    clock.advance(Duration::from_secs(1));
    assert!(both.peek(0).unwrap().reset_after().is_zero());
    assert!(!both.is_idle());
    clock.advance(Duration::from_secs(3_600));
    assert!(both.is_idle());
}
