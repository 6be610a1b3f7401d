//! Callers that are polled again after their answer, or whose answer was held up by code of users
//! that panics.

use std::future::{Future, Pending, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::wait::{AcquireError, Jitter, Timer};
use sluicegate::{Grant, ManualClock, TokenBucket, Wait, quota};

use super::support::{MILLI, NoTimer, empty_bucket};

type Polled = Poll<Result<Grant, AcquireError>>;

fn poll<F: Future>(caller: &mut Pin<&mut F>) -> Poll<F::Output> {
    caller.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn is_granted(answer: &Polled) -> bool {
    matches!(answer, Poll::Ready(Ok(_)))
}

#[test]
fn a_caller_that_is_polled_after_its_grant_takes_as_much_again() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let mut caller = pin!(bucket.acquire(4).timer(NoTimer));
    assert!(is_granted(&poll(&mut caller)) && is_granted(&poll(&mut caller)));
    assert_eq!(bucket.peek(0).unwrap().remaining(), 2);
    assert!(poll(&mut caller).is_pending());
    assert_eq!(bucket.line().waiters(), 1);
    clock.advance(2 * MILLI);
    assert!(is_granted(&poll(&mut caller)));
    assert_eq!((bucket.peek(0).unwrap().remaining(), bucket.line().waiters()), (0, 0));
}

#[test]
fn a_caller_that_is_polled_after_its_refusal_has_its_whole_timeout_again() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = pin!(bucket.acquire(4).timeout(3 * MILLI).timer(NoTimer));
    let refused = Poll::Ready(Err(AcquireError::TimedOut { retry_after: 4 * MILLI }));
    assert_eq!(poll(&mut caller), refused);
    assert_eq!(poll(&mut caller), refused);
    clock.advance(MILLI);
    assert!(poll(&mut caller).is_pending());
    clock.advance(3 * MILLI);
    assert!(is_granted(&poll(&mut caller)));
}

#[test]
fn a_caller_that_is_polled_after_its_jitter_asks_anew() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let jitter = Jitter::between(3 * MILLI, 3 * MILLI);
    let mut caller = pin!(bucket.acquire(4).jitter(jitter).timer(NoTimer));
    assert!(poll(&mut caller).is_pending());
    clock.advance(4 * MILLI);
    assert!(poll(&mut caller).is_pending());
    clock.advance(3 * MILLI);
    assert!(is_granted(&poll(&mut caller)));
    assert!(poll(&mut caller).is_pending());
    assert_eq!(bucket.line().permits(), 4);
}

/// A timer whose sleeps panic when they are dropped, the first time.
struct Fragile(Arc<AtomicBool>);

struct FragileSleep(Pending<()>, Arc<AtomicBool>);

impl Timer for Fragile {
    type Sleep = FragileSleep;

    fn sleep(&self, _: Duration) -> FragileSleep {
        FragileSleep(pending(), Arc::clone(&self.0))
    }
}

impl Future for FragileSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl Drop for FragileSleep {
    fn drop(&mut self) {
        assert!(!self.1.swap(false, Relaxed), "as the test wants");
    }
}

#[test]
fn a_grant_is_not_lost_with_a_sleep_that_panics_when_it_is_dropped() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let panics = Arc::new(AtomicBool::new(false));
    let mut caller = pin!(bucket.acquire(4).timer(Fragile(Arc::clone(&panics))));
    assert!(poll(&mut caller).is_pending());
    clock.advance(5 * MILLI);
    panics.store(true, Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut caller))).is_err());
    assert!(is_granted(&poll(&mut caller)));
    assert_eq!(bucket.peek(0).unwrap().remaining(), 1);
}
