//! A caller that keeps its limiter, and asks it again and again.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use sluicegate::wait::{AcquireError, Caller, Jitter};
use sluicegate::{ManualClock, TokenBucket, Wait, quota};

use super::support::{MILLI, NoTimer, empty_bucket};

/// A bucket that earns a permit each millisecond, and has none.
fn empty(clock: &ManualClock) -> Arc<TokenBucket<&ManualClock>> {
    Arc::new(empty_bucket(clock))
}

fn poll<L: Wait>(caller: &mut Caller<L, NoTimer>, permits: u64) -> Poll<Result<u64, AcquireError>> {
    let answer = caller.poll_acquire(permits, &mut Context::from_waker(Waker::noop()));
    answer.map_ok(|grant| grant.permits())
}

#[test]
fn a_caller_keeps_its_place_until_it_is_granted_its_permits_and_then_asks_anew() {
    let clock = ManualClock::new();
    let bucket = empty(&clock);
    let mut caller = Caller::new(Arc::clone(&bucket)).timer(NoTimer);
    assert_eq!((caller.limit(), bucket.line().waiters()), (10, 0));
    assert!(poll(&mut caller, 3).is_pending());
    let mut behind = Caller::new(Arc::clone(&bucket)).timer(NoTimer);
    assert!(poll(&mut behind, 1).is_pending());
    clock.advance(2 * MILLI);
    assert!(poll(&mut caller, 3).is_pending() && poll(&mut behind, 1).is_pending());
    assert_eq!((bucket.line().waiters(), bucket.line().permits()), (2, 4));
    clock.advance(MILLI);
    assert_eq!(poll(&mut caller, 3), Poll::Ready(Ok(3)));
    // The next request stands behind.
    assert!(poll(&mut caller, 3).is_pending());
    clock.advance(MILLI);
    assert_eq!(poll(&mut behind, 1), Poll::Ready(Ok(1)));
    assert!(Arc::ptr_eq(caller.limiter(), &bucket));
}

#[test]
fn another_number_of_permits_is_a_new_request() {
    let clock = ManualClock::new();
    let bucket = empty(&clock);
    let [mut caller, mut behind] = [(); 2].map(|()| Caller::new(&*bucket).timer(NoTimer));
    assert!(poll(&mut caller, 3).is_pending() && poll(&mut behind, 1).is_pending());
    assert!(poll(&mut caller, 2).is_pending());
    assert_eq!((bucket.line().waiters(), bucket.line().permits()), (2, 3));
    clock.advance(MILLI);
    assert_eq!(poll(&mut behind, 1), Poll::Ready(Ok(1)));
    assert_eq!(poll(&mut caller, 11), Poll::Ready(Err(AcquireError::TooLarge { limit: 10 })));
    assert_eq!(bucket.line().waiters(), 0);
}

#[test]
fn a_caller_that_is_dropped_or_moved_leaves_or_keeps_its_place() {
    let clock = ManualClock::new();
    let bucket = empty(&clock);
    let mut caller = Caller::new(&*bucket).timer(NoTimer);
    assert!(poll(&mut caller, 3).is_pending());
    let mut moved = Box::new(caller);
    assert!(poll(&mut moved, 3).is_pending());
    assert_eq!(bucket.line().waiters(), 1);
    drop(moved);
    clock.advance(3 * MILLI);
    assert_eq!((bucket.line().waiters(), bucket.drain().permits()), (0, 3));
}

#[test]
fn jitter_can_be_switched_off_for_the_next_requests() {
    let clock = ManualClock::new();
    let bucket = empty(&clock);
    let mut caller = Caller::new(&*bucket).timer(NoTimer);
    let always = Jitter::between(5 * MILLI, 5 * MILLI);
    for (jitter, delay) in [(Some(always), 5 * MILLI), (None, Duration::ZERO)] {
        bucket.drain();
        caller.set_jitter(jitter);
        assert!(poll(&mut caller, 1).is_pending());
        clock.advance(MILLI);
        assert_eq!(poll(&mut caller, 1).is_pending(), delay > Duration::ZERO);
        clock.advance(delay);
        if jitter.is_some() {
            assert_eq!(poll(&mut caller, 1), Poll::Ready(Ok(1)));
        }
    }
}

#[test]
fn a_thread_that_asks_again_goes_each_time() {
    let bucket = Arc::new(TokenBucket::new(quota!(10_000 / second, burst 1)));
    let answers = thread::spawn({
        let mut caller = Caller::new(Arc::clone(&bucket));
        move || [1, 1, 2, 1].map(|permits| caller.acquire_blocking(permits).is_ok())
    });
    assert_eq!(answers.join().unwrap(), [true, true, false, true]);
    assert_eq!(bucket.line().waiters(), 0);
}
