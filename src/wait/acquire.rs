//! Waiting for permits: the future for tasks, and the call that puts a thread to sleep.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use pin_project_lite::pin_project;

use crate::decision::grant::Grant;
use crate::time::clock::Timeline;

use super::error::AcquireError;
use super::jitter::Jitter;
use super::request::{Asked, LineRequest};
use super::thread_waker::thread_waker;
use super::timer::Timer;
use super::timer::clock::ClockTimer;
use super::way_to_line::{HasLine, WayToLine};

pin_project! {
    /// A caller that waits for permits, first come, first served: a future for tasks, and
    /// [`wait_blocking`](Waiting::wait_blocking) for threads. Both stand in the same line.
    ///
    /// Does nothing until it is polled. The caller's place in line is that of its first poll. If it
    /// is polled again after its answer, it asks anew.
    ///
    /// # Errors
    ///
    /// All of [`AcquireError`]. A caller that is refused has taken nothing.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time. A caller that still stands in line leaves it, and has taken
    /// nothing. If its permits had been granted but it had not been polled since, they are given
    /// back if nothing else was granted in between; otherwise they are lost, as if they had been
    /// used.
    ///
    /// # Fairness
    ///
    /// Callers are granted permits in the order of their first polls, whatever they ask for. A
    /// future that is not polled holds up no others for longer than until its own turn: those
    /// behind it, or any call that tries, then serve it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{TokenBucket, Wait, quota};
    /// use sluicegate::wait::AcquireError;
    ///
    /// async fn send(bucket: &TokenBucket) -> Result<(), AcquireError> {
    ///     bucket.acquire(3).timeout(Duration::from_secs(1)).await?;
    ///     Ok(())
    /// }
    ///
    /// let bucket = TokenBucket::new(quota!(1_000 / second));
    /// assert!(bucket.acquire(5).wait_blocking().is_ok());
    /// ```
    #[must_use = "a future does nothing until it is polled"]
    pub struct Waiting<'a, T: Timer = ClockTimer> {
        request: LineRequest<WayToLine<'a>>,
        timer: T,
        #[pin]
        sleep: Option<T::Sleep>,
    }
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(line: WayToLine<'a>, permits: u64) -> Waiting<'a> {
        Waiting { request: LineRequest::new(line, permits), timer: ClockTimer, sleep: None }
    }
}

impl<'a, T: Timer> Waiting<'a, T> {
    /// Waits for no longer than `timeout`, counted from the first poll by the limiter's clock. If
    /// the permits are not due by then, the caller is refused at once. If it asks anew, it has the
    /// whole timeout again.
    pub fn timeout(mut self, timeout: Duration) -> Waiting<'a, T> {
        self.request.set_timeout(timeout);
        self
    }

    /// Delays the answer to a caller that had to wait by a random time after its grant, so that
    /// callers of a burst do not all go on at one moment. A caller that is granted its permits at
    /// once is not delayed.
    ///
    /// Gives away nothing but earliness: the permits are taken at the caller's turn, as without
    /// jitter, and nobody else waits for longer. Delays are measured by the limiter's clock, and end
    /// at the timeout at the latest. A caller that is dropped meanwhile gives its permits back if
    /// nothing else was granted since; otherwise they are lost. Allocates.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{TokenBucket, Wait, quota};
    ///
    /// let bucket = TokenBucket::new(quota!(1_000 / second, burst 1));
    /// for _ in 0..3 {
    ///     bucket.acquire(1).jitter(Duration::from_millis(2)).wait_blocking()?;
    /// }
    /// # Ok::<(), sluicegate::wait::AcquireError>(())
    /// ```
    pub fn jitter(mut self, jitter: impl Into<Jitter>) -> Waiting<'a, T> {
        self.request.set_jitter(Some(jitter.into()));
        self
    }

    /// Sleeps by `timer` instead of [`ClockTimer`]. For threads, the timer does not matter.
    pub fn timer<U: Timer>(self, timer: U) -> Waiting<'a, U> {
        Waiting { request: self.request, timer, sleep: None }
    }

    /// Blocks the thread until there is an answer.
    ///
    /// # Errors
    ///
    /// All of [`AcquireError`].
    pub fn wait_blocking(mut self) -> Result<Grant, AcquireError> {
        block(&mut self.request)
    }

    /// Waits as [`wait_blocking`](Waiting::wait_blocking) does, for no longer than until `deadline`. After the
    /// deadline, takes nothing.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`], and all others.
    pub fn wait_blocking_until(self, deadline: Instant) -> Result<Grant, AcquireError> {
        match deadline.checked_duration_since(Instant::now()) {
            Some(timeout) => self.timeout(timeout).wait_blocking(),
            None => self.request.refuse_in_time(),
        }
    }

    /// Reads the limiter's clock, by which the timeout and the jitter are measured.
    pub fn now_nanos(&self) -> u64 {
        self.request.limiter().now_nanos()
    }
}

impl<T: Timer> Future for Waiting<'_, T> {
    type Output = Result<Grant, AcquireError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // A user's, which may panic when it is dropped: before there is an answer to be lost.
        this.sleep.set(None);
        match this.request.ask(context.waker()) {
            Asked::Told(answer) => Poll::Ready(answer),
            Asked::Sleep(longest) => {
                let timeline = this.request.limiter().clock().timeline();
                sleep(this.sleep, this.timer, timeline, longest, context);
                Poll::Pending
            }
        }
    }
}

/// Lets a task sleep for `longest`.
pub(crate) fn sleep<T: Timer>(
    mut asleep: Pin<&mut Option<T::Sleep>>,
    timer: &T,
    timeline: Timeline,
    longest: Duration,
    context: &mut Context<'_>,
) {
    asleep.set(Some(timer.sleep_on(timeline, longest)));
    if asleep.as_pin_mut().is_none_or(|sleep| sleep.poll(context).is_ready()) {
        // Over already: it is the executor's turn, so that a timer without a time holds up nobody.
        context.waker().wake_by_ref();
    }
}

/// Blocks the thread until `waiter` has its answer.
pub(crate) fn block<H: HasLine>(request: &mut LineRequest<H>) -> Result<Grant, AcquireError> {
    let waker = thread_waker();
    loop {
        match request.ask(&waker) {
            Asked::Told(answer) => return answer,
            Asked::Sleep(longest) => thread::park_timeout(longest),
        }
    }
}

impl<T: Timer> fmt::Debug for Waiting<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("permits", &self.request.permits()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::task::Waker;
    use std::vec::Vec;

    use super::*;
    use crate::bucket::token_bucket::TokenBucket;
    use crate::quota;
    use crate::time::clock::manual::ManualClock;
    use crate::wait::limits::{LineLimits, WhenLineFull};
    use crate::wait::timer::clock::ClockSleep;
    use crate::wait::traits::Wait;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_caller_is_small() {
        assert_eq!(size_of::<Waiting<'_>>() - size_of::<Option<ClockSleep>>(), 80);
    }

    #[test]
    fn a_line_without_places_refuses_also_if_it_evicts() {
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota!(1 / hour), &clock);
        let limits = LineLimits::new().max_waiters(usize::MAX).when_full(WhenLineFull::EvictOldest);
        bucket.line().set_limits(limits);
        let mut context = Context::from_waker(Waker::noop());
        let mut callers = Vec::new();
        let refused = loop {
            let mut caller = bucket.acquire(1);
            match Pin::new(&mut caller).poll(&mut context) {
                Poll::Ready(Err(refused)) => break refused,
                Poll::Ready(Ok(_)) => {}
                Poll::Pending => callers.push(caller),
            }
        };
        assert!(matches!(refused, AcquireError::LineFull { .. }), "{refused}");
        assert_eq!(bucket.line().waiters(), callers.len());
        drop(callers.pop());
        assert!(Pin::new(&mut bucket.acquire(1)).poll(&mut context).is_pending());
    }
}
