//! The types of limiters, and how they differ. What is checked:
//!
//! * the leaky bucket's level;
//! * the cells of a GCRA, and what it says of itself;
//! * that limiters are `Send`, `Sync` and small;
//! * that decisions are small.

use std::fmt::Debug;
use std::mem::size_of;
use std::time::Duration;

use sluicegate::bucket::{Carry, SettleableBucket, Snapshot};
use sluicegate::lease::Lease;
use sluicegate::settle::{Estimate, Settled, Unpaid};
use sluicegate::*;

const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_level_rises_with_each_permit_and_leaks_at_the_rate() {
    let clock = ManualClock::new();
    let meter = LeakyBucket::meter_with_clock(quota!(2 / second, burst 5), &clock);
    assert_eq!(meter.level(), 0);
    meter.try_acquire(5).unwrap();
    assert_eq!(meter.level(), 5);
    clock.advance(SECOND / 2);
    assert_eq!(meter.level(), 4);
    clock.advance(NANO);
    assert_eq!(meter.level(), 4, "a part of a permit counts whole");
    meter.force(3).unwrap();
    assert_eq!(meter.level(), 7);
    clock.advance(SECOND * 60);
    assert_eq!(meter.level(), 0);
}

#[test]
fn cells_pass_up_to_the_tolerance_early() {
    let clock = ManualClock::new();
    let cells = Gcra::with_clock(SECOND, SECOND * 5 / 2, &clock).unwrap();
    assert_eq!(cells.peek(0).unwrap().limit(), 3);
    assert_eq!(cells.try_acquire_up_to(9).unwrap().permits(), 3);
    // The theoretical arrival time is 3 s; the tolerance makes that 0.5 s.
    assert_eq!(cells.try_acquire(1).unwrap_err().retry_after(), Some(SECOND / 2));
    clock.advance(SECOND / 2);
    assert!(cells.try_acquire(1).is_ok());
    assert_eq!(cells.try_acquire(1).unwrap_err().retry_after(), Some(SECOND));
}

#[test]
fn a_gcra_says_what_it_was_given() {
    let clock = ManualClock::new();
    let day = SECOND * 86_400;
    for (interval, tolerance) in [(NANO, NANO * 7), (SECOND, Duration::ZERO), (day, day * 99)] {
        let cells = Gcra::with_clock(interval, tolerance, &clock).unwrap();
        assert_eq!((cells.interval(), cells.tolerance()), (interval, tolerance));
        cells.reconfigure(interval * 2, tolerance, Carry::Scale).unwrap();
        assert_eq!((cells.interval(), cells.tolerance()), (interval * 2, tolerance));
    }
}

#[test]
fn a_gcra_out_of_range_is_explained_and_leaves_the_old_one_in_force() {
    let clock = ManualClock::new();
    let cells = Gcra::with_clock(SECOND, SECOND, &clock).unwrap();
    let century = Rate::MAX_PERIOD;
    for (interval, tolerance, field) in [
        (Duration::ZERO, SECOND, "interval"),
        (century + NANO, SECOND, "interval"),
        (Duration::MAX, SECOND, "interval"),
        (SECOND, century + NANO, "tolerance"),
        (SECOND, Duration::from_nanos(u64::MAX), "tolerance"),
        (SECOND, Duration::from_nanos(u64::MAX) + NANO, "tolerance"),
        (SECOND, Duration::MAX, "tolerance"),
        // Less than 2^32 intervals are allowed.
        (NANO, NANO * u32::MAX + NANO, "tolerance"),
        (NANO * 10, (NANO * 10) * u32::MAX + NANO * 10, "tolerance"),
    ] {
        let error = cells.reconfigure(interval, tolerance, Carry::Reset).unwrap_err();
        assert_eq!(error.field(), field);
        assert!(error.to_string().contains(": must be from "), "{error}");
        assert_eq!(Gcra::with_clock(interval, tolerance, &clock).unwrap_err(), error);
    }
    assert_eq!((cells.interval(), cells.tolerance()), (SECOND, SECOND));
    let ten = NANO * 10;
    for (interval, most) in
        [(NANO, NANO * u32::MAX), (ten, ten * u32::MAX + NANO * 9), (century, century)]
    {
        assert_eq!(Gcra::with_clock(interval, most, &clock).unwrap().tolerance(), most);
    }
}

#[test]
fn a_quota_survives_the_round_trip_through_a_limiter() {
    for quota in [
        quota!(1 / second),
        quota!(5_000 / hour, burst 7).with_max_debt(3).unwrap(),
        quota!(4_294_967_296 / 2 seconds).with_refill(Refill::Interval),
        Quota::new(Rate::every(Rate::MAX_PERIOD).unwrap()).with_burst(Quota::MAX_BURST).unwrap(),
    ] {
        let found = TokenBucket::with_clock(quota, ManualClock::new()).quota();
        assert_eq!(found, LeakyBucket::meter_with_clock(quota, ManualClock::new()).quota());
        assert_eq!((found.rate(), found.burst()), (quota.rate(), quota.burst()));
        assert_eq!((found.refill(), found.max_debt()), (quota.refill(), quota.max_debt()));
    }
}

#[test]
fn limiters_are_shared_by_threads_and_take_half_a_kilobyte_at_most() {
    fn check<L: Limiter + Debug + Send + Sync + Unpin + 'static>() {
        assert!(size_of::<L>() <= 512, "{} bytes", size_of::<L>());
    }
    check::<TokenBucket<ManualClock>>();
    check::<LeakyBucket<ManualClock>>();
    check::<SettleableBucket<ManualClock>>();
    check::<Gcra<ManualClock>>();
    check::<TokenBucket>();
}

#[test]
fn decisions_are_small_copies() {
    fn check<D: Copy + Send + Sync + Debug + Eq + 'static>(most: usize) {
        assert!(size_of::<D>() <= most, "{} bytes", size_of::<D>());
    }
    check::<Grant>(80);
    check::<Denied>(80);
    check::<Quota>(64);
    check::<Snapshot>(32);
    check::<ConfigError>(56);
    check::<Settled>(24);
    check::<Unpaid>(32);
}

#[test]
fn an_estimate_may_be_settled_by_another_thread() {
    fn check<E: Send + Sync + Unpin + Debug>(most: usize) {
        assert!(size_of::<E>() <= most, "{} bytes", size_of::<E>());
    }
    check::<Estimate<'_>>(256);
}

#[test]
fn a_lease_is_as_large_as_the_table_of_the_readme_says() {
    assert_eq!(size_of::<Lease<'_>>(), 128);
}
