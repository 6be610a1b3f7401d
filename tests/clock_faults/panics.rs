//! Clocks that panic: all is as it was before the call, and no process ends, however often they do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::settle::Settle;
use sluicegate::wait::Queued;
use sluicegate::window::MultiWindow;
use sluicegate::*;

/// A clock that panics as long as it is told to.
#[derive(Default)]
struct Faulty(AtomicBool);

impl Clock for Faulty {
    fn now_nanos(&self) -> u64 {
        assert!(!self.0.load(Relaxed), "no time");
        7
    }
}

#[test]
fn a_clock_that_panics_leaves_the_limiter_as_it_was() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), Faulty::default());
    bucket.try_acquire(3).unwrap();
    bucket.clock().0.store(true, Relaxed);
    let calls: [fn(&TokenBucket<Faulty>); 5] = [
        |bucket| assert!(bucket.try_acquire(1).is_ok()),
        |bucket| assert!(bucket.force(1).is_ok()),
        |bucket| assert_eq!(bucket.snapshot().remaining(), 7),
        |bucket| bucket.reset(),
        |bucket| bucket.reconfigure(quota!(1 / second), Carry::Reset),
    ];
    for call in calls {
        assert!(catch_unwind(AssertUnwindSafe(|| call(&bucket))).is_err());
    }
    bucket.clock().0.store(false, Relaxed);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 7);
    bucket.reset();
    assert_eq!(bucket.peek(0).unwrap().remaining(), 10);
}

#[test]
fn a_receipt_or_lease_of_shards_is_dropped_while_its_caller_unwinds() {
    let clock = Faulty::default();
    let shards = Sharded::builder(quota!(10 / hour)).shards(1).clock(&clock).build().unwrap();
    let unwinds = catch_unwind(AssertUnwindSafe(|| {
        let _receipt = shards.try_acquire_revocable(3).unwrap();
        let mut lease = shards.lease(4).unwrap();
        assert!(lease.spend(1));
        clock.0.store(true, Relaxed);
        shards.reset();
    }));
    assert!(unwinds.is_err());
    clock.0.store(false, Relaxed);
    assert_eq!(shards.peek(0).unwrap().remaining(), 6);
    assert!(shards.try_acquire(6).is_ok());
    assert!(shards.try_acquire(1).is_err());
}

/// Settles an estimate of all of `limiter` by a clock that panics, while others wait for its permits.
fn settle_by(clock: &Faulty, limiter: impl Settle) {
    let line = Queued::with_clock(limiter, clock);
    let estimate = line.try_acquire_settleable(10).unwrap();
    let mut caller = pin!(line.acquire(4));
    let mut context = Context::from_waker(Waker::noop());
    assert!(caller.as_mut().poll(&mut context).is_pending());
    clock.0.store(true, Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| estimate.settle(0))).is_err());
    clock.0.store(false, Relaxed);
    // It is charged, or given back; and the line goes on.
    let is_back = line.limiter().peek(4).is_ok();
    assert_eq!(caller.as_mut().poll(&mut context).is_ready(), is_back);
}

#[test]
fn an_estimate_is_settled_by_a_clock_that_panics_while_others_wait() {
    let clock = Faulty::default();
    let limit = rate!(10 / hour);
    settle_by(&clock, FixedWindow::with_clock(limit, &clock).unwrap());
    settle_by(&clock, SlidingCounter::with_clock(limit, &clock).unwrap());
    settle_by(&clock, SlidingWindow::with_clock(limit, &clock).unwrap());
    settle_by(&clock, MultiWindow::with_clock([limit], &clock).unwrap());
    let longest = Duration::from_secs(86_400);
    let reservable = FixedWindow::with_clock(limit, &clock).unwrap().with_reservations(longest);
    settle_by(&clock, reservable);
}
