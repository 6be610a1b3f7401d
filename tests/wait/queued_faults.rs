//! Limiters behind a line that misbehave, or do not know how long a caller has to wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use sluicegate::settle::Receipt;
use sluicegate::wait::Queued;
use sluicegate::window::WeightedLog;
use sluicegate::{
    Clock, Denied, Grant, Limiter, ManualClock, Sharded, TokenBucket, Wait, quota, rate,
};

use super::support::{Caller, MILLI};

/// The first in line looks again after this, if nobody knows how long it has to wait.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A clock that goes on by a nanosecond at each reading.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now_nanos(&self) -> u64 {
        self.0.fetch_add(1, Relaxed)
    }
}

#[test]
fn the_first_does_not_oversleep_if_its_wait_ends_while_it_is_asked_for() {
    for left in 1..20 {
        let clock = Ticking::default();
        let log = WeightedLog::with_clock(rate!(1 / 10 us), &clock).unwrap();
        let line = Queued::with_clock(log, &clock);
        line.try_acquire(1).unwrap();
        clock.0.store(10_000 - left, Relaxed);
        let mut caller = Caller::new(&line, 1);
        assert!(caller.sleeps_for() <= Duration::from_micros(10), "{left} ns before its turn");
        clock.0.fetch_add(10_000, Relaxed);
        assert!(caller.is_granted());
    }
}

#[test]
fn a_try_is_never_told_to_wait_for_ever() {
    let clock = ManualClock::new();
    let shards = Sharded::builder(quota!(10 / second)).shards(1).clock(&clock).build().unwrap();
    let line = Queued::with_clock(&shards, &clock);
    let lease = shards.lease(8).unwrap();
    let mut callers = [6, 2].map(|permits| Caller::new(&line, permits));
    assert_eq!(line.try_acquire(1).unwrap_err().retry_after(), Some(LOOK_AGAIN));
    drop(lease);
    clock.advance(LOOK_AGAIN);
    assert!(callers[0].is_granted());
    clock.advance(1_000 * MILLI);
    assert!(callers[1].is_granted());
}

/// A bucket that panics when it says so, or denies without a wait.
struct Odd<'a> {
    bucket: TokenBucket<&'a ManualClock>,
    panics: AtomicBool,
    denies: AtomicBool,
}

impl<'a> Odd<'a> {
    fn new(clock: &'a ManualClock) -> Odd<'a> {
        let bucket = TokenBucket::with_clock(quota!(10 / second), clock);
        Odd { bucket, panics: AtomicBool::new(false), denies: AtomicBool::new(false) }
    }

    fn misbehave(&self) -> Result<(), Denied> {
        assert!(!self.panics.load(Relaxed), "as the test wants");
        if self.denies.load(Relaxed) {
            return Err(Denied::Full { retry_after: Duration::ZERO });
        }
        Ok(())
    }
}

impl Limiter for Odd<'_> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.misbehave()?;
        self.bucket.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.misbehave()?;
        self.bucket.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.misbehave()?;
        self.bucket.peek(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.misbehave()?;
        self.bucket.try_acquire_revocable(permits)
    }

    fn reset(&self) {
        self.bucket.reset();
    }

    fn is_idle(&self) -> bool {
        self.bucket.is_idle()
    }

    fn healed(&self) -> u64 {
        self.bucket.healed()
    }
}

#[test]
fn a_limiter_that_panics_again_and_again_does_not_abort_and_holds_up_nobody() {
    let clock = ManualClock::new();
    let line = Queued::with_clock(Odd::new(&clock), &clock);
    line.try_acquire(10).unwrap();
    let [mut first, mut second, mut third] = [4, 1, 2].map(|permits| Caller::new(&line, permits));
    clock.advance(500 * MILLI);
    line.limiter().panics.store(true, Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| first.poll())).is_err());
    // The second leaves the line as it unwinds.
    assert!(
        catch_unwind(AssertUnwindSafe(move || {
            let _answer = second.poll();
            drop(second);
        }))
        .is_err()
    );
    line.limiter().panics.store(false, Relaxed);
    assert_eq!(third.woken(), 1, "it is to settle, as the first is awake");
    assert!(third.is_waiting() && first.woken() == 0 && first.is_granted());
    clock.advance(100 * MILLI);
    assert!(third.is_granted());
    assert_eq!((line.line().waiters(), line.peek(0).unwrap().remaining()), (0, 0));
}

#[test]
fn a_denial_with_no_wait_makes_nobody_spin() {
    let clock = ManualClock::new();
    let line = Queued::with_clock(Odd::new(&clock), &clock);
    line.limiter().denies.store(true, Relaxed);
    let mut callers = [1, 1].map(|permits| Caller::new(&line, permits));
    assert_eq!(callers[0].sleeps_for(), LOOK_AGAIN);
    assert!(callers[1].sleeps_for() > LOOK_AGAIN, "it is woken when it is the first");
    line.limiter().denies.store(false, Relaxed);
    clock.advance(LOOK_AGAIN);
    assert!(callers.each_mut().iter_mut().all(|caller| caller.is_granted()));
}

#[test]
fn an_update_that_panics_wakes_the_first() {
    let clock = ManualClock::new();
    let line = Queued::with_clock(Odd::new(&clock), &clock);
    line.try_acquire(10).unwrap();
    let mut caller = Caller::new(&line, 4);
    let update = || {
        line.update(|odd| {
            odd.reset();
            panic!("as the test wants");
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(update)).is_err());
    assert_eq!(caller.woken(), 1);
    assert!(caller.is_granted());
}

#[test]
fn a_denial_at_the_gate_tells_what_the_limiter_has() {
    let clock = ManualClock::new();
    let line =
        Queued::with_clock(WeightedLog::with_clock(rate!(10 / second), &clock).unwrap(), &clock);
    line.try_acquire(5).unwrap();
    let _waits = Caller::new(&line, 6);
    let Err(Denied::Wait(shortfall)) = line.try_acquire(2) else { panic!("granted") };
    assert_eq!((shortfall.limit(), shortfall.remaining()), (10, 5));
}

#[test]
fn a_line_behind_another_is_asked_when_its_own_has_passed() {
    let clock = ManualClock::new();
    let inner = Queued::with_clock(Odd::new(&clock), &clock);
    let outer = Queued::with_clock(&inner, &clock);
    inner.try_acquire(10).unwrap();
    let mut ahead = Caller::new(&inner, 5);
    let mut caller = Caller::new(&outer, 1);
    assert_eq!(caller.sleeps_for(), 500 * MILLI);
    clock.advance(500 * MILLI);
    assert!(ahead.is_granted() && caller.is_waiting());
    clock.advance(100 * MILLI);
    assert!(caller.is_granted());
}
