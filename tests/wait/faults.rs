//! Clocks, wakers and callers that misbehave. None of them may hold up the others.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use sluicegate::wait::{AcquireError, LineLimits, Waiting, WhenLineFull};
use sluicegate::{Clock, Limiter, ManualClock, TokenBucket, Wait, quota};

use super::support::{Caller, MILLI, NoTimer, empty_bucket};

/// A clock whose reading number `odd_at` is `odd`, or a panic if that is `u64::MAX`.
#[derive(Default)]
struct Glitch {
    nanos: AtomicU64,
    readings: AtomicU64,
    odd_at: AtomicU64,
    odd: AtomicU64,
}

impl Glitch {
    /// Makes the reading after `later` others the odd one.
    fn next(&self, later: u64, odd: u64) {
        self.odd.store(odd, Relaxed);
        self.odd_at.store(self.readings.load(Relaxed) + later + 1, Relaxed);
    }
}

impl Clock for Glitch {
    fn now_nanos(&self) -> u64 {
        let reading = self.readings.fetch_add(1, Relaxed) + 1;
        let odd = self.odd.load(Relaxed);
        let is_odd = reading == self.odd_at.load(Relaxed);
        assert!(!is_odd || odd != u64::MAX, "the clock panics");
        if is_odd { odd } else { self.nanos.load(Relaxed) }
    }
}

#[test]
fn a_newcomer_to_a_line_whose_clock_has_gone_back_stands_in_it() {
    let clock = ManualClock::new();
    clock.set_nanos(3_600_000_000_000);
    let bucket = empty_bucket(&clock);
    let mut first = Caller::new(&bucket, 4);
    clock.set_nanos(0);
    assert!(Caller::new(&bucket, 5).is_granted());
    assert!(first.is_granted());
    assert_eq!(bucket.healed(), 1);
}

#[test]
fn one_wild_reading_of_the_clock_does_not_keep_the_line_locked() {
    let clock = Glitch::default();
    clock.nanos.store(3_600_000_000_000, Relaxed);
    let bucket = empty_bucket(&clock);
    let mut first = Caller::new(&bucket, 4);
    clock.next(0, 0);
    assert!(first.is_waiting());
    clock.nanos.fetch_add(4_000_000, Relaxed);
    assert!(first.is_granted());
}

#[test]
fn a_clock_that_panics_leaves_nobody_in_line_and_the_gate_open() {
    for later in 0..6 {
        let clock = Glitch::default();
        let bucket = empty_bucket(&clock);
        clock.next(later, u64::MAX);
        let _panics = catch_unwind(AssertUnwindSafe(|| drop(Caller::new(&bucket, 3))));
        assert_eq!((bucket.line().waiters(), bucket.line().permits()), (0, 0));
        clock.odd_at.store(0, Relaxed);
        clock.nanos.store(10_000_000, Relaxed);
        assert_eq!(bucket.drain().permits(), 10);
    }
}

#[test]
fn closing_reads_no_clock() {
    let clock = Glitch::default();
    let bucket = empty_bucket(&clock);
    let _in_line = Caller::new(&bucket, 3);
    clock.next(0, u64::MAX);
    bucket.line().close();
    clock.odd_at.store(0, Relaxed);
    clock.nanos.store(10_000_000, Relaxed);
    assert_eq!(bucket.drain().permits(), 10);
}

#[test]
fn draining_settles_for_a_line_that_nobody_polls() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let _never_polled_again = Caller::new(&bucket, 5);
    clock.advance(10 * MILLI);
    assert_eq!(bucket.drain().permits(), 5);
}

/// A waker that owns a caller in the same line: to drop the one is to drop the other.
struct OwnsAnother {
    _other: Mutex<Option<Waiting<'static, NoTimer>>>,
}

impl Wake for OwnsAnother {
    fn wake(self: Arc<Self>) {}
}

/// Returns a waker that owns a caller in the line of `bucket`.
fn owner_of_another(bucket: &'static TokenBucket<&ManualClock>) -> Waker {
    let mut other = bucket.acquire(1).timer(NoTimer);
    assert!(Pin::new(&mut other).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    Waker::from(Arc::new(OwnsAnother { _other: Mutex::new(Some(other)) }))
}

fn leaked_bucket() -> &'static TokenBucket<&'static ManualClock> {
    let clock: &ManualClock = Box::leak(Box::default());
    Box::leak(Box::new(empty_bucket(clock)))
}

#[test]
fn a_waker_may_drop_another_caller_of_the_line() {
    let bucket = leaked_bucket();
    let noop = &mut Context::from_waker(Waker::noop());
    for outcome in 0..4 {
        bucket.drain();
        let waker = owner_of_another(bucket);
        let mut caller = pin!(bucket.acquire(1).timer(NoTimer));
        assert!(caller.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        match outcome {
            0 => assert!(caller.as_mut().poll(noop).is_pending(), "another waker"),
            1 => bucket.reset(),
            2 => caller.set(bucket.acquire(0).timer(NoTimer)),
            _ => bucket.line().close(),
        }
    }
    assert!(bucket.line().waiters() <= 1);
}

#[test]
fn the_old_waker_of_a_caller_that_is_too_late_is_dropped_outside_of_the_lock() {
    let bucket = leaked_bucket();
    let noop = &mut Context::from_waker(Waker::noop());
    let waker = owner_of_another(bucket);
    let mut late = pin!(bucket.acquire(4).timeout(5 * MILLI).timer(NoTimer));
    assert!(late.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    bucket.force(1).unwrap();
    assert!(late.as_mut().poll(noop).is_ready());
    assert_eq!(bucket.line().waiters(), 0);
}

struct PanicsWhenWoken;

impl Wake for PanicsWhenWoken {
    fn wake(self: Arc<Self>) {
        panic!("the waker panics");
    }
}

#[test]
fn a_waker_that_panics_takes_no_wake_up_from_others() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut first = pin!(bucket.acquire(1).timer(NoTimer));
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let second = Caller::new(&bucket, 1);
    assert!(catch_unwind(AssertUnwindSafe(|| bucket.line().close())).is_err());
    assert_eq!(second.woken(), 1);
}

#[test]
fn a_caller_whose_permits_are_there_is_granted_and_not_evicted() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let limits = LineLimits::new().max_permits(7).when_full(WhenLineFull::EvictOldest);
    bucket.line().set_limits(limits);
    bucket.try_acquire(7).unwrap();
    let mut large = Caller::new(&bucket, 5);
    let mut small = Caller::new(&bucket, 1);
    assert!(Caller::new(&bucket, 7).is_waiting());
    assert_eq!(large.error(), Some(AcquireError::Evicted));
    assert!(small.is_granted());
}

#[test]
fn nobody_sleeps_for_no_time_at_the_end_of_the_clock() {
    let clock = ManualClock::new();
    clock.set_nanos(u64::MAX - 1_000);
    let bucket = empty_bucket(&clock);
    let mut first = Caller::new(&bucket, 4);
    clock.set_nanos(u64::MAX);
    assert!(first.is_waiting());
    assert_eq!(first.sleeps_for(), Duration::MAX);
    assert!(Caller::with_timeout(&bucket, 1, MILLI).error().is_some());
}

#[test]
fn what_is_given_back_wakes_the_first_that_sleeps() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(10 / day), &clock);
    let receipts = [5, 5].map(|permits| bucket.try_acquire_revocable(permits).unwrap());
    let never_polled_again = Caller::new(&bucket, 1);
    let second = Caller::new(&bucket, 1);
    // The newest first, or nothing is given back.
    for (receipt, woken) in receipts.into_iter().rev().zip([[1, 0], [1, 1]]) {
        assert!(receipt.give_back());
        assert_eq!([never_polled_again.woken(), second.woken()], woken);
    }
}

#[test]
fn a_grant_is_kept_when_the_clock_panics_as_its_jitter_begins() {
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), Glitch::default());
    bucket.try_acquire(10).unwrap();
    let [mut told, mut dropped] =
        [4, 2].map(|permits| Caller::of(bucket.acquire(permits).jitter(3 * MILLI)));
    for caller in [&mut told, &mut dropped] {
        bucket.clock().nanos.fetch_add(4_000_000, Relaxed);
        // One reading settles the line.
        bucket.clock().next(1, u64::MAX);
        assert!(catch_unwind(AssertUnwindSafe(|| caller.poll())).is_err());
    }
    assert!(told.is_granted());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 2);
    drop(dropped);
    assert_eq!((bucket.peek(0).unwrap().remaining(), bucket.line().waiters()), (4, 0));
}
