//! Code of users that panics: wakers and timers. Nothing is lost, and nobody is forgotten.

use std::future::{Future, Pending, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sluicegate::wait::{LineLimits, Timer, WhenLineFull};
use sluicegate_flow::concurrency::ConcurrencyLimit;

use super::Caller;

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Panics>) {
        panic!("as the test wants");
    }
}

fn panics<R>(act: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_err()
}

/// Polls a caller that has to wait, with a waker that panics.
fn stand<F: Future>(caller: Pin<&mut F>) {
    let waker = Waker::from(Arc::new(Panics));
    assert!(caller.poll(&mut Context::from_waker(&waker)).is_pending());
}

#[test]
fn permits_granted_to_a_caller_whose_arrival_wakes_one_that_panics_come_back() {
    let limit = ConcurrencyLimit::new(5);
    let held = limit.try_acquire(3).unwrap();
    limit.line().set_limits(LineLimits::new().max_waiters(1).when_full(WhenLineFull::EvictOldest));
    let mut evicted = pin!(limit.acquire(5));
    stand(evicted.as_mut());
    // Evicts the first, and fits then. It is told nothing, as the other's waker panics.
    assert!(panics(|| Caller::new(limit.acquire(2)).is_granted()));
    assert_eq!((limit.in_flight(), limit.line().waiters()), (3, 0));
    drop(held);
    assert!(limit.try_acquire(5).is_ok());
}

#[test]
fn a_caller_whose_arrival_wakes_one_that_panics_leaves_the_line() {
    let limit = ConcurrencyLimit::new(5);
    let held = limit.try_acquire(3).unwrap();
    let limits = LineLimits::new().max_waiters(2).when_full(WhenLineFull::EvictOldest);
    limit.line().set_limits(limits);
    let mut evicted = pin!(limit.acquire(5));
    stand(evicted.as_mut());
    let mut waiting = Caller::new(limit.acquire(2));
    assert!(panics(|| Caller::new(limit.acquire(1)).is_waiting()));
    assert_eq!((limit.in_flight(), limit.line().waiters()), (5, 0));
    assert!(waiting.is_granted());
    drop((held, waiting));
    assert!(limit.try_acquire(5).is_ok());
}

/// A timer that panics when it is dropped, and so do its sleeps, if it says so.
struct Fragile {
    sleeps_are: bool,
}

struct FragileSleep {
    pending: Pending<()>,
    panics: bool,
}

impl Timer for Fragile {
    type Sleep = FragileSleep;

    fn sleep(&self, _: Duration) -> FragileSleep {
        FragileSleep { pending: pending(), panics: self.sleeps_are }
    }
}

impl Future for FragileSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.pending).poll(context)
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(self.sleeps_are, "as the test wants");
    }
}

impl Drop for FragileSleep {
    fn drop(&mut self) {
        assert!(!self.panics, "as the test wants");
    }
}

#[test]
fn permits_come_back_if_the_timer_panics_after_their_grant() {
    let limit = ConcurrencyLimit::new(2);
    assert!(panics(|| limit.acquire(1).timer(Fragile { sleeps_are: false }).wait_blocking()));
    assert_eq!(limit.in_flight(), 0);

    let held = limit.try_acquire(2).unwrap();
    let fragile = Fragile { sleeps_are: true };
    let day = Duration::from_secs(86_400);
    let mut caller = Box::pin(limit.acquire(1).timeout(day).timer(fragile));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(caller.as_mut().poll(context).is_pending());
    drop(held);
    assert_eq!(limit.in_flight(), 1);
    assert!(panics(|| caller.as_mut().poll(context).is_ready()));
    assert_eq!(limit.in_flight(), 0);
}

#[test]
fn a_change_for_all_keys_is_seen_by_each_line_if_a_waker_of_one_panics() {
    let keyed = sluicegate_flow::concurrency::KeyedConcurrency::<u64>::new(1);
    let keys = 0..200;
    let _held: Vec<_> = keys.clone().map(|key| keyed.try_acquire(&key, 1).unwrap()).collect();
    let mut fragile = pin!(keyed.acquire(&100, 1));
    stand(fragile.as_mut());
    let others = keys.filter(|key| *key != 100);
    let mut callers: Vec<_> = others.map(|key| Caller::new(keyed.acquire(&key, 1))).collect();
    assert!(panics(|| keyed.set_limit(2)));
    assert!(callers.iter().all(|caller| caller.woken() == 1));
    assert!(callers.iter_mut().all(Caller::is_granted));
    assert_eq!(keyed.waiters(&100), 0);
}
