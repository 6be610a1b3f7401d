//! Threads that wait, on the true clock, and futures that may move between threads. No test asserts a time.

use std::cell::Cell;
use std::future::{Ready, ready};
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::wait::{AcquireError, Reserve, Timer};
use sluicegate::{TokenBucket, Wait, quota};

use super::support::block_on;

#[test]
fn threads_are_granted_what_they_ask_for_and_no_more() {
    let bucket = TokenBucket::new(quota!(20_000 / second, burst 50));
    let granted = AtomicU64::new(0);
    let began = Instant::now();
    thread::scope(|scope| {
        for thread in 1..=4 {
            let (bucket, granted) = (&bucket, &granted);
            scope.spawn(move || {
                for _ in 0..50 {
                    bucket.acquire_blocking(thread).unwrap();
                    granted.fetch_add(thread, Relaxed);
                }
            });
        }
    });
    let granted = granted.into_inner();
    assert_eq!(granted, 50 * (1 + 2 + 3 + 4));
    // The bound, by the true clock: more cannot have been earned.
    let earned = began.elapsed().as_nanos() * 20_000 / 1_000_000_000;
    assert!(u128::from(granted) <= 50 + earned + 1);
    assert_eq!(bucket.line().waiters(), 0);
}

#[test]
fn a_thread_that_is_not_due_in_time_does_not_wait() {
    let bucket = TokenBucket::new(quota!(1 / day));
    assert!(bucket.acquire(1).timeout(Duration::ZERO).wait_blocking().is_ok());
    let minute = Duration::from_secs(60);
    assert!(matches!(
        bucket.acquire(1).timeout(minute).wait_blocking(),
        Err(AcquireError::TimedOut { .. })
    ));
    let soon = Instant::now() + minute;
    assert!(matches!(
        bucket.acquire(1).wait_blocking_until(soon),
        Err(AcquireError::TimedOut { .. })
    ));
    bucket.credit(1);
    let past = Instant::now().checked_sub(Duration::from_nanos(1)).unwrap();
    assert!(matches!(
        bucket.acquire(1).wait_blocking_until(past),
        Err(AcquireError::TimedOut { .. })
    ));
    assert!(
        bucket.acquire(1).wait_blocking_until(soon).is_ok(),
        "nothing was taken after the deadline"
    );
}

#[test]
fn closing_wakes_every_thread_that_waits() {
    let bucket = TokenBucket::new(quota!(1 / day));
    bucket.try_acquire(1).unwrap();
    let ready = Barrier::new(4);
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    ready.wait();
                    bucket.acquire_blocking(1)
                })
            })
            .collect();
        ready.wait();
        while bucket.line().waiters() < 3 {
            thread::yield_now();
        }
        bucket.line().close();
        for thread in waiting {
            assert_eq!(thread.join().unwrap(), Err(AcquireError::Closed));
        }
    });
}

#[test]
fn threads_and_tasks_stand_in_one_line() {
    let bucket = TokenBucket::new(quota!(2_000 / second, burst 1));
    let granted = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (bucket, granted) = (&bucket, &granted);
            scope.spawn(move || {
                for _ in 0..10 {
                    if thread % 2 == 0 {
                        bucket.acquire_blocking(1).unwrap();
                    } else {
                        block_on(bucket.acquire(1)).unwrap();
                    }
                    granted.fetch_add(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), 40);
}

/// Has sleeps that are over at once, and is not `Sync`.
struct Moves(Cell<u32>);

impl Timer for Moves {
    type Sleep = Ready<()>;

    fn sleep(&self, _: Duration) -> Ready<()> {
        self.0.set(self.0.get() + 1);
        ready(())
    }
}

fn assert_send<T: Send>(_: T) {}

#[test]
fn a_future_that_sleeps_needs_no_timer_that_is_shared() {
    let timer = || Moves(Cell::new(0));
    let bucket = TokenBucket::new(quota!(10 / second));
    assert_send(bucket.acquire(1).timer(timer()));
    assert_send(bucket.reserve(1).unwrap().wait(timer()));
}
