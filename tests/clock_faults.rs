//! Clocks that go back, end and panic. What is checked:
//!
//! * going back by less than a second only denies;
//! * going back by more heals the limiter, which is then full, once and counted,
//!   however young it was;
//! * a change by a thread whose clock is behind lets no time be earned twice;
//! * nothing breaks at the end of a `u64`;
//! * `clock_faults/early.rs`: the waits that are named before a limiter's time begins;
//! * `clock_faults/panics.rs`: clocks that panic.

mod early;
mod panics;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::*;

const SECOND: u64 = 1_000_000_000;
const YEAR: u64 = 31_557_600 * SECOND;

fn bucket(quota: Quota, clock: &ManualClock) -> TokenBucket<&ManualClock> {
    TokenBucket::with_clock(quota, clock)
}

#[test]
fn going_back_by_less_than_a_second_denies_until_the_clock_has_caught_up() {
    let clock = ManualClock::at(10 * SECOND);
    let bucket = bucket(quota!(10 / second), &clock);
    clock.advance_nanos(5 * SECOND);
    bucket.try_acquire(9).unwrap();

    clock.rewind(Duration::from_millis(999));
    let denied = bucket.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(999)));
    assert_eq!(bucket.healed(), 0);
    clock.advance(Duration::from_millis(999));
    assert_eq!(bucket.drain().permits(), 1);
}

#[test]
fn going_back_by_more_than_a_second_starts_again_from_full_and_is_counted_once() {
    let clock = ManualClock::at(YEAR);
    let bucket = bucket(quota!(10 / second), &clock);
    clock.advance_nanos(YEAR);
    bucket.drain();
    for healed in 1..=3 {
        clock.rewind(Duration::from_secs(3_600));
        assert!(bucket.peek(10).is_ok(), "a look heals too");
        assert_eq!(bucket.healed(), healed);
        assert_eq!(bucket.drain().permits(), 10);
        assert!(bucket.try_acquire(1).is_err());
        assert_eq!(bucket.healed(), healed);
        clock.advance_nanos(SECOND);
        assert_eq!(bucket.drain().permits(), 10, "and it earns from then on");
        clock.advance_nanos(60 * SECOND);
        bucket.drain();
    }
}

/// A limiter that was made just before the processor's counter started again
/// has no past for its level to be ahead of. It denied for as long as the
/// counter had run before.
#[test]
fn a_young_limiter_survives_a_clock_that_starts_again() {
    let clock = ManualClock::at(YEAR);
    for refill in [Refill::Smooth, Refill::Interval] {
        clock.set_nanos(YEAR);
        let bucket = bucket(quota!(10 / second).with_refill(refill), &clock);
        bucket.drain();
        clock.set_nanos(5);
        assert!(bucket.try_acquire(10).is_ok());
        assert_eq!(bucket.healed(), 1);
        assert!(bucket.try_acquire(1).is_err());
        clock.advance_nanos(SECOND);
        assert!(bucket.try_acquire(10).is_ok());
        assert_eq!(bucket.healed(), 1);
    }
}

/// A thread whose clock is half a second behind changes the quota, and one whose
/// clock is not changes it back. The half second was earned each time.
#[test]
fn changes_by_threads_whose_clocks_differ_let_no_time_be_earned_twice() {
    type Change = fn(&TokenBucket<&ManualClock>);
    let changes: [Change; 2] = [
        |bucket| bucket.reconfigure(bucket.quota(), Carry::Keep),
        |bucket| bucket.restore(&bucket.snapshot(), Duration::ZERO),
    ];
    for change in changes {
        let clock = ManualClock::at(10 * SECOND);
        let bucket = bucket(quota!(1_000 / second), &clock);
        let mut admitted = bucket.drain().permits();
        for _ in 0..20 {
            clock.rewind(Duration::from_millis(500));
            change(&bucket);
            clock.advance(Duration::from_millis(500));
            change(&bucket);
            admitted += bucket.drain().permits();
        }
        assert_eq!(admitted, 1_000);
    }
}

/// A clock at 0 is not just after one at the end of its range, where a difference
/// that wraps would have it.
#[test]
fn a_second_before_its_beginning_a_limiter_waits_and_longer_before_it_starts_again() {
    for origin_nanos in [1, SECOND, SECOND + 1, YEAR, u64::MAX - 1, u64::MAX] {
        for now_nanos in [0, 1, 5, 100, SECOND, YEAR, 500 * YEAR] {
            let clock = ManualClock::at(origin_nanos);
            let bucket = bucket(quota!(1_000_000_000 / second, burst 100), &clock);
            bucket.try_acquire(100).unwrap();
            clock.set_nanos(now_nanos.min(origin_nanos));
            let heals = origin_nanos.saturating_sub(now_nanos) > SECOND;
            assert_eq!(bucket.try_acquire(100).is_ok(), heals, "{origin_nanos} {now_nanos}");
            assert_eq!(bucket.healed(), u64::from(heals));
        }
    }
}

#[test]
fn whatever_looks_at_an_impossible_level_heals_it() {
    type Look = fn(&LeakyBucket<&ManualClock>) -> u64;
    let looks: [Look; 6] = [
        |bucket| bucket.peek(0).unwrap().remaining(),
        |bucket| bucket.try_acquire(0).unwrap().remaining(),
        |bucket| bucket.drain().permits(),
        |bucket| bucket.try_acquire_up_to(9).unwrap().permits() + 1,
        |bucket| bucket.snapshot().remaining(),
        |bucket| 10 - bucket.level(),
    ];
    for look in looks {
        let clock = ManualClock::at(YEAR);
        let bucket = LeakyBucket::meter_with_clock(quota!(10 / second), &clock);
        clock.advance_nanos(YEAR);
        bucket.try_acquire(10).unwrap();
        clock.rewind(Duration::from_secs(60));
        assert_eq!((look(&bucket), bucket.healed()), (10, 1));
    }
}

#[test]
fn a_hundred_idle_years_leave_a_limiter_full() {
    let quotas = [
        quota!(2_147_483_648 / second),
        quota!(1 / second),
        quota!(3 / second),
        quota!(2 / ns),
        quota!(7 / 30 days),
    ];
    for quota in quotas.into_iter().flat_map(|quota| [quota, quota.with_refill(Refill::Interval)]) {
        let many = [100, 1, 60, 69, 91, 137, 145, 150, 400];
        for years in &many[..if cfg!(miri) { 1 } else { many.len() }] {
            let clock = ManualClock::new();
            let buckets = [(); 4].map(|()| bucket(quota, &clock));
            for bucket in &buckets {
                bucket.drain();
            }
            clock.advance_nanos(years * YEAR);
            assert_eq!(buckets[0].peek(0).unwrap().remaining(), quota.burst(), "{years} {quota:?}");
            assert_eq!(buckets[1].drain().permits(), quota.burst());
            assert_eq!(buckets[2].try_acquire(quota.burst()).unwrap().remaining(), 0);
            assert_eq!(buckets[3].snapshot().remaining(), quota.burst());
        }
    }
}

#[test]
fn a_limiter_made_at_the_end_of_the_clocks_range_works_and_never_panics() {
    for refill in [Refill::Smooth, Refill::Interval] {
        let clock = ManualClock::at(u64::MAX);
        let bucket = bucket(quota!(10 / second).with_refill(refill), &clock);
        assert_eq!(bucket.try_acquire(4).unwrap().remaining(), 6);
        bucket.force(10).unwrap();
        assert!(bucket.try_acquire(1).unwrap_err().retry_after().is_some());
        bucket.reconfigure(quota!(3 / hour).with_refill(refill), Carry::Scale);
        bucket.restore(&bucket.snapshot(), Duration::MAX);
        bucket.reset();
        clock.advance_nanos(1);
        assert_eq!(bucket.drain().permits(), 3);
    }
}

/// Gives its next reading once, and then its own again.
#[derive(Debug)]
struct Stumbling {
    nanos: AtomicU64,
    once_nanos: AtomicU64,
}

impl Stumbling {
    const NOT_NOW: u64 = u64::MAX;

    fn at(nanos: u64) -> Stumbling {
        Stumbling { nanos: AtomicU64::new(nanos), once_nanos: AtomicU64::new(Stumbling::NOT_NOW) }
    }
}

impl Clock for &Stumbling {
    fn now_nanos(&self) -> u64 {
        match self.once_nanos.swap(Stumbling::NOT_NOW, Relaxed) {
            Stumbling::NOT_NOW => self.nanos.load(Relaxed),
            once => once,
        }
    }
}

#[test]
fn one_reading_from_long_before_is_taken_again_and_heals_nothing() {
    let quota = quota!(10 / second);
    for quota in [quota, quota.with_refill(Refill::Interval)] {
        let clock = Stumbling::at(YEAR);
        let bucket = TokenBucket::with_clock(quota, &clock);
        assert_eq!(bucket.drain().permits(), 10);
        clock.nanos.store(YEAR + SECOND, Relaxed);
        clock.once_nanos.store(0, Relaxed);
        assert_eq!(bucket.try_acquire(7).map(|grant| grant.remaining()), Ok(3));
        clock.once_nanos.store(0, Relaxed);
        assert_eq!(bucket.peek(0).map(|grant| grant.remaining()), Ok(3));
        clock.once_nanos.store(0, Relaxed);
        assert_eq!(bucket.drain().permits(), 3);
        assert_eq!(bucket.healed(), 0);
    }
}

#[test]
fn a_look_at_shards_takes_a_reading_from_long_before_again() {
    let clock = Stumbling::at(YEAR);
    let sharded = Sharded::builder(quota!(10 / second)).shards(2).clock(&clock).build().unwrap();
    while sharded.try_acquire(1).is_ok() {}
    clock.nanos.store(YEAR + SECOND, Relaxed);
    clock.once_nanos.store(0, Relaxed);
    assert_eq!(sharded.peek(0).map(|grant| grant.remaining()), Ok(10));
    assert_eq!(sharded.healed(), 0);
}

#[test]
fn a_manual_clock_goes_no_further_than_to_either_end_of_its_range() {
    let clock = ManualClock::at(5);
    clock.rewind(Duration::from_nanos(6));
    assert_eq!(clock.now_nanos(), 0);
    clock.rewind(Duration::MAX);
    assert_eq!(clock.now_nanos(), 0);
    clock.advance(Duration::MAX);
    assert_eq!(clock.now_nanos(), u64::MAX);
    clock.advance_nanos(1);
    assert_eq!(clock.now_nanos(), u64::MAX);
}

#[test]
fn a_look_at_shards_heals_what_no_clock_explains() {
    let clock = ManualClock::at(YEAR);
    let sharded = Sharded::builder(quota!(10 / second)).shards(2).clock(&clock).build().unwrap();
    for at_nanos in [YEAR, YEAR + 10 * SECOND] {
        clock.set_nanos(at_nanos);
        while sharded.try_acquire(1).is_ok() {}
    }
    clock.set_nanos(YEAR + 5 * SECOND);
    assert_eq!(sharded.peek(0).map(|grant| grant.remaining()), Ok(10));
    assert_eq!(sharded.healed(), 1);
}

/// A token is 2^49 units, the burst 2^60 of the 2^61 that a balance has space for, and a nanosecond earns two units
/// and a little.
#[test]
fn shards_that_grant_nothing_for_eighteen_years_are_full_and_count_a_healing() {
    let rate = Rate::new(512, Duration::from_nanos((1 << 57) - 1)).unwrap();
    let quota = Quota::new(rate).with_burst(2_048).unwrap().with_max_debt(0).unwrap();
    let clock = ManualClock::new();
    let sharded = Sharded::builder(quota).shards(1).clock(&clock).build().unwrap();
    // Sixteen permits leave the root, 2^53 units.
    assert!(sharded.try_acquire(1).is_ok());
    let end_nanos = (1 << 59) + (1 << 52) - 4;
    assert_eq!(end_nanos / YEAR, 18);
    for (now_nanos, healed) in [(end_nanos - 1, 0), (end_nanos, 1)] {
        clock.set_nanos(now_nanos);
        assert_eq!(sharded.peek(0).map(|grant| grant.remaining()), Ok(2_047));
        assert_eq!(sharded.healed(), healed);
    }
    assert_eq!(sharded.try_acquire_up_to(2_048).map(|grant| grant.permits()), Ok(2_047));
    assert!(sharded.try_acquire(1).is_err());
    assert_eq!(sharded.healed(), 1);
}

#[test]
fn a_window_takes_a_reading_from_long_before_again() {
    let clock = Stumbling::at(YEAR);
    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    window.try_acquire(3).unwrap();
    clock.once_nanos.store(0, Relaxed);
    assert_eq!(window.try_acquire(2).map(|grant| grant.remaining()), Ok(5));
    assert_eq!(window.healed(), 0);
}
