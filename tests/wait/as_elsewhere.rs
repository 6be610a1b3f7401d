//! Cases of the test suites of other libraries, under their names for them.

use std::sync::mpsc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::TopUp;
use sluicegate::wait::{AcquireError, Queued, SettleInLine};
use sluicegate::window::WeightedLog;
use sluicegate::{Denied, FixedWindow, Limiter, ManualClock, TokenBucket, Wait, quota, rate};

use super::support::{Caller, MILLI, NoTimer, block_on};

/// Asserts that nothing is taken from a limiter that has ten permits by calls that are cancelled before
/// they begin.
fn assert_cancelled_calls_spend_nothing(limiter: &impl Wait) {
    // A future that is dropped before it is polled.
    drop(limiter.acquire(1));
    // The same, because what cancels it comes first.
    let mut acquire = Box::pin(limiter.acquire(1));
    let mut either = std::pin::pin!(async {
        std::future::poll_fn(|context: &mut Context<'_>| {
            let is_cancelled = true;
            if is_cancelled {
                return Poll::Ready(None);
            }
            acquire.as_mut().poll(context).map(Some)
        })
        .await
    });
    assert!(block_on(either.as_mut()).is_none());
    // A deadline that has passed.
    let past = Instant::now().checked_sub(MILLI).unwrap();
    assert!(matches!(
        limiter.acquire(1).wait_blocking_until(past),
        Err(AcquireError::TimedOut { .. })
    ));
    assert_eq!(limiter.line().waiters(), 0);
    assert_eq!(limiter.try_acquire_up_to(11).unwrap().permits(), 10);
}

#[test]
fn a_call_whose_context_is_already_cancelled_spends_nothing() {
    let clock = ManualClock::new();
    let quota = quota!(10 / second);
    assert_cancelled_calls_spend_nothing(&TokenBucket::with_clock(quota, &clock));
    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    assert_cancelled_calls_spend_nothing(&window);
    let log = WeightedLog::with_clock(rate!(10 / second), &clock).unwrap();
    assert_cancelled_calls_spend_nothing(&Queued::with_clock(log, &clock));
    let bucket = Queued::with_clock(SettleableBucket::with_clock(quota, &clock), &clock);
    drop(bucket.acquire_settleable(1));
    assert_cancelled_calls_spend_nothing(&bucket);
}

#[test]
fn retry_after_knows_the_queue() {
    let clock = ManualClock::new();
    let retry_after = |limiter: &dyn Limiter, permits| match limiter.try_acquire(permits) {
        Err(denied @ Denied::Wait(_)) => denied.retry_after().unwrap(),
        other => panic!("{other:?}"),
    };

    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    bucket.drain();
    assert_eq!(retry_after(&bucket, 2), 200 * MILLI);
    let mut line = [3, 4].map(|permits| Caller::new(&bucket, permits));
    assert_eq!(retry_after(&bucket, 2), 900 * MILLI);
    // What it tells suffices, once those ahead have had their turns.
    clock.advance(900 * MILLI);
    assert!(line.iter_mut().all(Caller::is_granted));
    assert!(bucket.try_acquire(2).is_ok() && bucket.try_acquire(1).is_err());

    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    window.try_acquire(10).unwrap();
    let now = retry_after(&window, 1);
    let _line = [7, 7].map(|permits| Caller::new(&window, permits));
    assert_eq!(
        retry_after(&window, 1),
        now + Duration::from_secs(1),
        "the second has the next one"
    );
}

#[test]
fn credit_above_the_burst_is_kept_and_granted_whole() {
    let clock = ManualClock::new();
    let bucket = || TokenBucket::with_clock(quota!(10 / second), &clock);
    // Of a bucket, what does not fit is lost, which keeps its bound.
    let alone = bucket();
    alone.credit(15);
    assert_eq!(alone.drain().permits(), 10);
    // Of a balance beside it, all is there.
    let topped_up = TopUp::new(bucket());
    topped_up.add(15);
    assert_eq!(topped_up.try_acquire(15).unwrap().permits(), 15);
    assert_eq!(topped_up.try_acquire(10).unwrap().permits(), 10);
    assert!(topped_up.try_acquire(1).is_err());
}

/// Closes the line when it is dropped, so that a test that fails leaves nobody in it.
struct Closes<'a, 'c>(&'a TokenBucket<&'c ManualClock>);

impl Drop for Closes<'_, '_> {
    fn drop(&mut self) {
        self.0.line().close();
    }
}

/// Threads and tasks in turn, of all sizes. On a clock that stands still, what comes is brought one
/// permit at a time, so whoever is granted out of order would be seen.
#[test]
fn threads_and_tasks_of_any_size_end_in_the_order_in_which_they_came() {
    const CALLERS: usize = if cfg!(miri) { 6 } else { 24 };
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1 / day, burst 10), &clock);
    bucket.drain();
    let random = &mut StdRng::seed_from_u64(1);
    let sizes: Vec<u64> = (0..CALLERS).map(|_| random.random_range(1..=10)).collect();
    let (told, ends) = mpsc::channel();
    std::thread::scope(|scope| {
        let _closes = Closes(&bucket);
        for (place, &permits) in sizes.iter().enumerate() {
            let (bucket, told) = (&bucket, told.clone());
            scope.spawn(move || {
                let answer = if place % 2 == 0 {
                    bucket.acquire_blocking(permits)
                } else {
                    block_on(bucket.acquire(permits).timer(NoTimer))
                };
                told.send((place, answer.unwrap().permits())).unwrap();
            });
            while bucket.line().waiters() <= place {
                std::thread::yield_now();
            }
        }
        for (place, &permits) in sizes.iter().enumerate() {
            for _ in 1..permits {
                bucket.credit(1);
            }
            assert_eq!(bucket.line().waiters(), CALLERS - place, "nobody has gone yet");
            assert!(bucket.try_acquire(1).is_err(), "and nobody overtakes");
            bucket.credit(1);
            assert_eq!(ends.recv().unwrap(), (place, permits));
        }
    });
    assert_eq!(bucket.drain().permits(), 0);
}
