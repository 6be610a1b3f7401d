//! Live changes: what becomes of the tokens when the quota changes. What is
//! checked:
//!
//! * `Keep` and `Scale`, and the extremes;
//! * nothing is retroactive, and what was earned of a period is not lost;
//! * a change that is held up brings nothing back that was cut off;
//! * a change to the same quota changes nothing, and one of the burst alone leaves
//!   the steps of an interval refill where they are.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::*;

use crate::support::held_up::HeldUp;

const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

type Bucket<'a> = TokenBucket<&'a ManualClock>;

fn remaining(bucket: &Bucket) -> u64 {
    bucket.peek(0).unwrap().remaining()
}

fn interval(quota: Quota) -> Quota {
    quota.with_refill(Refill::Interval)
}

#[test]
fn keep_keeps_the_tokens_up_to_the_new_burst() {
    let clock = ManualClock::new();
    let bucket = Bucket::with_clock(quota!(10 / second), &clock);
    bucket.try_acquire(3).unwrap();
    bucket.reconfigure(quota!(7 / hour, burst 100), Carry::Keep);
    assert_eq!(remaining(&bucket), 7);
    bucket.reconfigure(quota!(1_000_000 / second, burst 5), Carry::Keep);
    assert_eq!(remaining(&bucket), 5);
    bucket.reconfigure(quota!(10 / second), Carry::Keep);
    assert_eq!(remaining(&bucket), 5);
}

#[test]
fn scale_keeps_the_share_of_the_burst() {
    let clock = ManualClock::new();
    let bucket = Bucket::with_clock(quota!(10 / second), &clock);
    bucket.try_acquire(5).unwrap();
    for (quota, half) in [
        (quota!(1_000 / second), 500),
        (quota!(2_147_483_648 / second), 1 << 30),
        (quota!(1 / hour, burst 3), 1),
        (quota!(10 / second), 5),
    ] {
        bucket.reconfigure(quota, Carry::Scale);
        assert_eq!(remaining(&bucket), half);
    }
}

#[test]
fn a_change_is_not_retroactive() {
    let clock = ManualClock::new();
    let bucket = Bucket::with_clock(quota!(1 / second, burst 1_000), &clock);
    bucket.drain();
    clock.advance(10 * SECOND);
    bucket.reconfigure(quota!(100 / second, burst 1_000), Carry::Keep);
    assert_eq!(remaining(&bucket), 10);
    clock.advance(SECOND);
    bucket.reconfigure(quota!(1 / second, burst 1_000), Carry::Keep);
    assert_eq!(remaining(&bucket), 110);
    clock.advance(SECOND);
    assert_eq!(remaining(&bucket), 111);
}

#[test]
fn changing_to_the_same_quota_again_and_again_changes_nothing() {
    let clock = ManualClock::new();
    for quota in [quota!(10 / second), interval(quota!(10 / second)), interval(quota!(7 / us))] {
        let bucket = Bucket::with_clock(quota, &clock);
        let untouched = Bucket::with_clock(quota, &clock);
        let _ = (bucket.drain(), untouched.drain());
        for _ in 0..if cfg!(miri) { 50 } else { 5_000 } {
            clock.advance_nanos(1_237_001);
            bucket.reconfigure(quota, Carry::Keep);
            assert_eq!(bucket.try_acquire(7).is_ok(), untouched.try_acquire(7).is_ok());
            assert_eq!(bucket.snapshot(), untouched.snapshot());
        }
    }
}

#[test]
fn the_extremes_change_into_each_other() {
    let clock = ManualClock::new();
    let century = Rate::new(1, Rate::MAX_PERIOD).unwrap();
    let most = Quota::MAX_BURST;
    let extremes = [
        Quota::new(century),
        Quota::new(century).with_burst(most).unwrap().with_max_debt(Quota::MAX_DEBT).unwrap(),
        quota!(2_147_483_648 / second, burst 1).with_max_debt(0).unwrap(),
        quota!(4_294_967_296 / 2 seconds),
        Quota::new(Rate::new(Rate::MAX_PERMITS, Rate::MAX_PERIOD).unwrap()),
        quota!(2 / ns),
    ];
    let few = if cfg!(miri) { 2 } else { extremes.len() };
    let both = |quota: &Quota| [*quota, interval(*quota)];
    for old in extremes[..few].iter().flat_map(both) {
        for new in extremes.iter().flat_map(both) {
            let bucket = Bucket::with_clock(old, &clock);
            bucket.reconfigure(new, Carry::Keep);
            assert_eq!(remaining(&bucket), old.burst().min(new.burst()), "{old:?} {new:?}");
            bucket.reconfigure(old, Carry::Scale);
            bucket.reconfigure(new, Carry::Scale);
            assert!(remaining(&bucket) <= new.burst());

            let full = Bucket::with_clock(old, &clock);
            full.reconfigure(new, Carry::Scale);
            assert_eq!(remaining(&full), new.burst(), "{old:?} {new:?}");

            let _ = full.force(full.quota().burst() + full.quota().max_debt());
            for carry in [Carry::Keep, Carry::Scale] {
                full.reconfigure(old, carry);
                full.reconfigure(new, carry);
                assert!(full.try_acquire(1).is_err() || new.max_debt() == 0);
            }
            assert_eq!(full.healed(), 0);
            full.reconfigure(old, Carry::Reset);
            assert_eq!(full.drain().permits(), old.burst());
        }
    }
}

/// A new burst that makes the unit coarser had rounded the time into the step to it: by up to 23
/// seconds at one permit in a hundred years.
#[test]
fn a_new_burst_that_needs_another_unit_does_not_move_the_steps_either() {
    let clock = ManualClock::new();
    let century = Rate::new(1, Rate::MAX_PERIOD).unwrap();
    for rate in [century, rate!(1 / minute), rate!(7_919 / second), rate!(3 / day)] {
        let small = interval(Quota::new(rate).with_burst(1).unwrap());
        let large = small.with_burst(Quota::MAX_BURST).unwrap();
        for carry in [Carry::Keep, Carry::Scale, Carry::Reset] {
            let bucket = Bucket::with_clock(small, &clock);
            let ahead = rate.period() / 3 + NANO;
            clock.advance(ahead);
            bucket.reconfigure(large, carry);
            bucket.reconfigure(small, carry);
            bucket.drain();
            let denied = bucket.try_acquire(1).unwrap_err();
            assert_eq!(
                denied.retry_after(),
                rate.period().checked_sub(ahead),
                "{rate:?} {carry:?}"
            );
        }
    }
}

#[test]
fn the_part_of_a_step_counts_for_the_tokens_that_it_was_worth() {
    let clock = ManualClock::new();
    let bucket = Bucket::with_clock(interval(quota!(10 / minute)), &clock);
    bucket.drain();
    clock.advance(45 * SECOND); // worth 7.5 tokens
    bucket.reconfigure(interval(quota!(30 / hour)), Carry::Keep);
    assert_eq!(bucket.try_acquire(1).unwrap_err().retry_after(), Some(45 * 60 * SECOND));
    bucket.reconfigure(interval(quota!(5 / second)), Carry::Keep);
    let denied = bucket.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(NANO), "at the end of its step, but not beyond");
    assert_eq!(remaining(&bucket), 0);
}

/// A token of so long a time is not a whole number of nanoseconds.
#[test]
fn cells_of_the_tolerance_that_others_tell_have_the_same() {
    let clock = ManualClock::new();
    let interval = Duration::from_secs(40 * 31_557_600);
    for nanos in 1..100 {
        let tolerance = interval / 3 + nanos * NANO;
        let cells = Gcra::with_clock(interval, tolerance, &clock).unwrap();
        let told = cells.tolerance();
        assert!(told <= tolerance);
        assert_eq!(Gcra::with_clock(interval, told, &clock).unwrap().tolerance(), told);
    }
}

/// The new terms earn from the reading on, and for most of that time the lease has tokens in its
/// capacity; the old terms have nothing to cut off when it comes back.
#[test]
fn a_lease_that_ends_while_a_change_is_held_up_brings_nothing_back_that_was_cut_off() {
    let clock = Arc::new(HeldUp::at(0));
    let builder = Sharded::builder(quota!(1 / day, burst 8)).shards(2);
    let limiter = Arc::new(builder.clock(Arc::clone(&clock)).build().unwrap());
    limiter.try_acquire(1).unwrap();
    let mut lease = limiter.lease_owned(4).unwrap();
    let held_up = Arc::clone(&clock);
    clock.meanwhile(move || {
        held_up.manual.advance(1_000 * SECOND);
        assert!(lease.spend(4));
        drop(lease);
    });
    limiter.reconfigure(quota!(1 / second, burst 8), Carry::Keep);
    assert!(clock.has_happened());
    limiter.try_acquire(4).unwrap();
    let denied = limiter.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(SECOND));
    // The capacity is back with the limiter, and earns.
    let denied = limiter.try_acquire(8).unwrap_err();
    assert_eq!(denied.retry_after(), Some(8 * SECOND));
    clock.manual.advance(8 * SECOND);
    limiter.try_acquire(8).unwrap();
}
