//! Models of the turn that a caller in line for a bucket is told, to which it sets its timer. What is
//! checked, over every interleaving: nobody that tries takes what it was told of; and if its turn
//! comes earlier, it is woken. (A sleep that nobody ends is a deadlock, which loom reports.)

use std::cell::Cell;
use std::future::{Future, Pending, pending};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sluicegate::settle::Receipt;
use sluicegate::wait::{AcquireError, Timer, Waiting};
use sluicegate::{Grant, Limiter, Quota, Wait, quota};
use sluicegate_loom_tests::{
    ANY, Arc, Bucket, SECOND, TestClock, bucket_with, check, race, thread,
};

const TWO: Quota = quota!(1 / second, burst 2);

/// Time does not wake anybody. Notes how long a caller is to sleep.
#[derive(Clone, Default)]
struct NotedTimer(Rc<Cell<Duration>>);

impl Timer for NotedTimer {
    type Sleep = Pending<()>;

    fn sleep(&self, duration: Duration) -> Pending<()> {
        self.0.set(duration);
        pending()
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: StdArc<Unpark>) {
        self.0.unpark();
    }
}

fn poll(caller: &mut Pin<&mut Waiting<'_, NotedTimer>>) -> Poll<Result<Grant, AcquireError>> {
    let waker = Waker::from(StdArc::new(Unpark(thread::current())));
    caller.as_mut().poll(&mut Context::from_waker(&waker))
}

/// A bucket with `tokens`. On real threads, the calling one may have run ahead in the race before.
fn fresh(tokens: u64) -> Arc<Bucket> {
    TestClock::run_ahead(0);
    bucket_with(tokens, TWO)
}

#[test]
fn a_try_takes_nothing_that_a_caller_in_line_was_told_of() {
    check(ANY, || {
        race(&fresh(1), [true, false], |bucket, waits| {
            if !waits {
                let _taken = bucket.try_acquire(1);
                return;
            }
            let timer = NotedTimer::default();
            let mut caller = pin!(bucket.acquire(2).timer(timer.clone()));
            assert!(poll(&mut caller).is_pending());
            TestClock::run_ahead(timer.0.get().as_nanos() as u64);
            assert!(poll(&mut caller).is_ready(), "not granted at its turn");
        });
    });
}

#[test]
fn a_caller_whose_turn_comes_earlier_is_woken() {
    check(ANY, || {
        race(&fresh(0), [true, false], |bucket, stays| {
            let timer = NotedTimer::default();
            let permits = if stays { 1 } else { 2 };
            let mut caller = pin!(bucket.acquire(permits).timer(timer.clone()));
            assert!(poll(&mut caller).is_pending());
            // Until the other one has left.
            while stays && timer.0.get() > Duration::from_secs(1) {
                thread::park();
                assert!(poll(&mut caller).is_pending());
            }
        });
    });
}

/// A caller waits for both permits, which were taken revocably; both are its own when they come back, and
/// there are no more at that instant.
#[test]
fn a_caller_in_line_is_charged_as_of_no_instant_before_permits_came_back() {
    check(ANY, || {
        race(&fresh(2), [true, false], |bucket, takes| {
            let late_nanos = 19 * SECOND / 10;
            if takes {
                let receipt = bucket.try_acquire_revocable(2);
                TestClock::run_ahead(late_nanos);
                let _is_back = receipt.is_ok_and(Receipt::give_back);
                return;
            }
            let mut caller = pin!(bucket.acquire(2).timer(NotedTimer::default()));
            let is_waiting = poll(&mut caller).is_pending();
            TestClock::run_ahead(late_nanos);
            if is_waiting && poll(&mut caller).is_ready() {
                assert!(bucket.try_acquire(1).is_err(), "charged as of before");
            }
        });
    });
}

/// The first in line is due and is not served; then it leaves, and the other one is charged as of then.
#[test]
fn a_caller_in_line_is_charged_as_of_no_instant_before_it_came() {
    check(ANY, || {
        race(&fresh(0), [()], |bucket, ()| {
            let mut first = Box::pin(bucket.acquire(2).timer(NotedTimer::default()));
            assert!(poll(&mut first.as_mut()).is_pending());
            TestClock::run_ahead(3 * SECOND / 2);
            let mut second = pin!(bucket.acquire(1).timer(NotedTimer::default()));
            assert!(poll(&mut second).is_pending());
            TestClock::run_ahead(5 * SECOND);
            drop(first);
            assert!(poll(&mut second).is_ready());
            assert!(bucket.try_acquire(2).is_err(), "charged as of before");
        });
    });
}
