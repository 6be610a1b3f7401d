//! Waiting for an estimate: a grant in line that can be settled.

use alloc::sync::Arc;
use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use pin_project_lite::pin_project;
use slab::Slab;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::settle::Settle;
use crate::settle::estimate::Estimate;
use crate::settle::estimate::detached::Detached;
use crate::sync::Lock;
use crate::time::clock::Clock;
use crate::wait::acquire::sleep;
use crate::wait::charged::Charged;
use crate::wait::error::AcquireError;
use crate::wait::jitter::Jitter;
use crate::wait::request::{Asked, LineRequest};
use crate::wait::thread_waker::thread_waker;
use crate::wait::timer::Timer;
use crate::wait::timer::clock::ClockTimer;
use crate::wait::traits::Wait;
use crate::wait::turn::TakesTurns;
use crate::wait::way_to_line::HasLine;

use super::Queued;
use super::kept_estimates::{KeptEstimates, remove};

/// Limiters in whose line callers can wait for an estimate, which is settled later: a [`Queued`] of a limiter that can be
/// [settled](Settle), and its [tenants](super::tenant::Tenant).
///
/// Estimates and permits are waited for in one line. What an [`Estimate`] gives back goes to the first in it, who is
/// woken. This trait is sealed.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::bucket::SettleableBucket;
/// use sluicegate::wait::{Queued, SettleInLine};
///
/// let tokens = Queued::new(SettleableBucket::new(quota!(10_000 / minute)));
/// let estimate = tokens.acquire_settleable_blocking(8_000)?;
/// assert_eq!(estimate.settle(2_000)?.given_back(), 6_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(private_interfaces, reason = "what the line asks for is hidden")]
pub trait SettleInLine: Settle + Wait {
    #[doc(hidden)]
    fn in_line(&self) -> &(dyn TakesTurns + Sync);

    /// Returns what is kept for callers in line.
    #[doc(hidden)]
    fn kept(&self) -> &Lock<Slab<Detached>>;

    /// Takes an estimate of `permits`, and blocks the thread until they are there. It is settled like that
    /// of [`try_acquire_settleable`](Settle::try_acquire_settleable).
    ///
    /// # Errors
    ///
    /// As for [`acquire`](crate::Wait::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use sluicegate::quota;
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::wait::{Queued, SettleInLine};
    ///
    /// let tokens = Queued::new(SettleableBucket::new(quota!(10_000 / minute)));
    /// let first = tokens.acquire_settleable_blocking(8_000)?;
    /// thread::scope(|scope| {
    ///     // Too many are taken, so it waits ...
    ///     let second = scope.spawn(|| tokens.acquire_settleable_blocking(5_000).map(|it| it.permits()));
    ///     // ... until the first answer is there, and shorter than expected.
    ///     first.settle(2_000)?;
    ///     assert_eq!(second.join().unwrap()?, 5_000);
    ///     Ok::<(), Box<dyn std::error::Error>>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn acquire_settleable_blocking(&self, permits: u64) -> Result<Estimate<'_>, AcquireError>
    where
        Self: Sized,
    {
        self.acquire_settleable(permits).wait_blocking()
    }

    /// Returns a future of an estimate of `permits`: to `.await`, or for a thread to
    /// [block](WaitingForEstimate::wait_blocking) on.
    fn acquire_settleable(&self, permits: u64) -> WaitingForEstimate<'_>
    where
        Self: Sized,
    {
        WaitingForEstimate::new(WayToEstimates::Borrowed(self), permits)
    }

    /// Waits as [`acquire_settleable`](SettleInLine::acquire_settleable) does, with a future that keeps the limiter
    /// alive, as its estimate does: to be kept in a struct, or moved into a task. Clones the `Arc`, and allocates for
    /// an estimate what [`into_owned`](Estimate::into_owned) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    /// use sluicegate::quota;
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::wait::{Queued, SettleInLine};
    ///
    /// let tokens = Arc::new(Queued::new(SettleableBucket::new(quota!(10_000 / minute))));
    /// let waiting = tokens.acquire_settleable_owned(8_000);
    /// let used = thread::spawn(move || waiting.wait_blocking().map(|estimate| estimate.settle(2_000)));
    /// assert_eq!(used.join().unwrap()??.given_back(), 6_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn acquire_settleable_owned(self: &Arc<Self>, permits: u64) -> WaitingForEstimate<'static>
    where
        Self: Sized + 'static,
    {
        WaitingForEstimate::new(WayToEstimates::Owned(Arc::clone(self) as _), permits)
    }
}

#[expect(private_interfaces, reason = "as in the trait")]
impl<L: Settle, C: Clock + Send + Sync> SettleInLine for Queued<L, C> {
    fn in_line(&self) -> &(dyn TakesTurns + Sync) {
        self
    }

    fn kept(&self) -> &Lock<Slab<Detached>> {
        &self.kept.get_or_init(KeptEstimates::new).kept
    }
}

/// The way of one caller to the line: a reference to the limiter, or a handle that keeps it alive.
enum WayToEstimates<'a> {
    Borrowed(&'a dyn SettleInLine),
    Owned(Arc<dyn SettleInLine>),
}

impl<'a> WayToEstimates<'a> {
    fn limiter(&self) -> &dyn SettleInLine {
        match self {
            WayToEstimates::Borrowed(limiter) => *limiter,
            WayToEstimates::Owned(limiter) => &**limiter,
        }
    }

    /// Takes an estimate at once, or not.
    fn try_now(&self, permits: u64) -> Result<Estimate<'a>, Denied> {
        match *self {
            WayToEstimates::Borrowed(limiter) => limiter.try_acquire_settleable(permits),
            WayToEstimates::Owned(ref limiter) => {
                let estimate = limiter.try_acquire_settleable(permits)?;
                Ok(estimate.owned(Arc::clone(limiter) as _))
            }
        }
    }

    /// Makes an estimate of a grant in line, of what was kept.
    fn take_up(&self, grant: Grant, charged: Charged) -> Estimate<'a> {
        let mut kept = remove(self.limiter().kept(), charged);
        let estimate = match *self {
            WayToEstimates::Borrowed(limiter) => limiter.take_up(&mut kept),
            WayToEstimates::Owned(ref limiter) => {
                let estimate = limiter.take_up(&mut kept);
                estimate.map(|estimate| estimate.owned(Arc::clone(limiter) as _))
            }
        };
        // A limiter that takes up nothing takes nothing back.
        estimate.unwrap_or_else(|| Estimate::spent(grant))
    }
}

/// The way of one caller to the line. Notes the charge of its grant.
struct ToLine<'a> {
    way: WayToEstimates<'a>,
    charged: Cell<Option<Charged>>,
}

impl HasLine for ToLine<'_> {
    type Home = ();

    fn home(&self, _: &dyn TakesTurns) {}

    fn limiter(&self) -> &(dyn TakesTurns + Sync) {
        self.way.limiter().in_line()
    }

    fn granted(&self, charged: Charged) {
        self.charged.set(Some(charged));
    }
}

pin_project! {
    /// A caller that waits for an [`Estimate`], in the same line as callers that wait for
    /// permits: a future for tasks, and [`wait_blocking`](WaitingForEstimate::wait_blocking) for threads.
    ///
    /// [`SettleInLine::acquire_settleable`] makes it. Does nothing until it is polled; if it is polled again
    /// after its answer, it asks anew.
    ///
    /// # Errors
    ///
    /// All of [`AcquireError`]. A caller that is refused has taken nothing.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time. A caller that still stands in line leaves it, and has taken nothing. An
    /// estimate that had been granted to it, without its having been polled since, is given back as by
    /// [`settle(0)`](Estimate::settle), and those behind it move up.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::quota;
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::wait::{Queued, SettleInLine};
    ///
    /// let tokens = Queued::new(SettleableBucket::new(quota!(10_000 / second)));
    /// let estimate = tokens.acquire_settleable(8_000).timeout(Duration::from_secs(1)).wait_blocking()?;
    /// assert_eq!(estimate.settle(2_000)?.given_back(), 6_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a future does nothing until it is polled"]
    pub struct WaitingForEstimate<'a, T: Timer = ClockTimer> {
        caller: Caller<'a>,
        timer: T,
        #[pin]
        sleep: Option<T::Sleep>,
    }
}

struct Caller<'a> {
    request: LineRequest<ToLine<'a>>,
    /// True if it has been denied, and stands in line or did.
    has_asked: bool,
}

impl<'a> Caller<'a> {
    fn ask(&mut self, waker: &Waker) -> Asked<Estimate<'a>> {
        let asked = if self.has_asked {
            self.request.ask(waker)
        } else {
            if let Ok(estimate) = self.request.handle().way.try_now(self.request.permits()) {
                return Asked::Told(Ok(estimate));
            }
            // A clock that panics leaves it without a place: then it begins anew.
            let asked = self.request.stand(waker);
            self.has_asked = true;
            asked
        };
        let answer = match asked {
            Asked::Sleep(longest) => return Asked::Sleep(longest),
            Asked::Told(answer) => answer,
        };
        self.has_asked = false;
        let ToLine { way, charged } = self.request.handle();
        let charged = charged.take().unwrap_or(Charged::NOTHING);
        Asked::Told(answer.map(|grant| way.take_up(grant, charged)))
    }
}

impl<'a> WaitingForEstimate<'a> {
    fn new(way: WayToEstimates<'a>, permits: u64) -> WaitingForEstimate<'a> {
        // The first one leaves word how to take estimates.
        _ = way.limiter().kept();
        let line = ToLine { way, charged: Cell::new(None) };
        let caller = Caller { request: LineRequest::new(line, permits), has_asked: false };
        WaitingForEstimate { caller, timer: ClockTimer, sleep: None }
    }
}

impl<'a, T: Timer> WaitingForEstimate<'a, T> {
    /// Waits for no longer than `timeout`, counted from the first poll by the line's clock. If the permits
    /// are known to come later, the caller is refused at once.
    pub fn timeout(mut self, timeout: Duration) -> WaitingForEstimate<'a, T> {
        self.caller.request.set_timeout(timeout);
        self
    }

    /// Delays the answer to a caller that had to wait, as [`Waiting::jitter`](crate::wait::Waiting::jitter) does.
    pub fn jitter(mut self, jitter: impl Into<Jitter>) -> WaitingForEstimate<'a, T> {
        self.caller.request.set_jitter(Some(jitter.into()));
        self
    }

    /// Sleeps by `timer` instead of [`ClockTimer`]. For threads, the timer does not matter.
    pub fn timer<U: Timer>(self, timer: U) -> WaitingForEstimate<'a, U> {
        WaitingForEstimate { caller: self.caller, timer, sleep: None }
    }

    /// Blocks the thread until there is an answer.
    ///
    /// # Errors
    ///
    /// All of [`AcquireError`].
    pub fn wait_blocking(mut self) -> Result<Estimate<'a>, AcquireError> {
        let waker = thread_waker();
        loop {
            match self.caller.ask(&waker) {
                Asked::Told(answer) => return answer,
                Asked::Sleep(longest) => thread::park_timeout(longest),
            }
        }
    }

    /// Waits as [`wait_blocking`](WaitingForEstimate::wait_blocking) does, for no longer than until `deadline`.
    /// After the deadline, takes nothing.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`], and all others.
    pub fn wait_blocking_until(self, deadline: Instant) -> Result<Estimate<'a>, AcquireError> {
        match deadline.checked_duration_since(Instant::now()) {
            Some(timeout) => self.timeout(timeout).wait_blocking(),
            None => Err(AcquireError::TimedOut { retry_after: Duration::ZERO }),
        }
    }
}

impl<'a, T: Timer> Future for WaitingForEstimate<'a, T> {
    type Output = Result<Estimate<'a>, AcquireError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // A user's, which may panic when it is dropped: before there is an answer to be lost.
        this.sleep.set(None);
        match this.caller.ask(context.waker()) {
            Asked::Told(answer) => Poll::Ready(answer),
            Asked::Sleep(longest) => {
                let timeline = this.caller.request.limiter().clock().timeline();
                sleep(this.sleep, this.timer, timeline, longest, context);
                Poll::Pending
            }
        }
    }
}

impl<T: Timer> fmt::Debug for WaitingForEstimate<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingForEstimate")
            .field("permits", &self.caller.request.permits())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::settleable_bucket::SettleableBucket;
    use crate::quota;
    use crate::time::clock::manual::ManualClock;

    #[test]
    fn nothing_is_kept_of_a_caller_that_was_told() {
        let clock = ManualClock::new();
        let bucket = SettleableBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
        let queued = Queued::with_clock(bucket, &clock);
        _ = queued.acquire_settleable_blocking(5);
        let mut context = Context::from_waker(Waker::noop());
        let mut permits = core::pin::pin!(queued.acquire(2));
        let mut estimate = core::pin::pin!(queued.acquire_settleable(3));
        assert!(permits.as_mut().poll(&mut context).is_pending());
        assert!(estimate.as_mut().poll(&mut context).is_pending());
        let kept = || queued.kept.get().map(|kept| kept.kept.lock().len());
        clock.advance(Duration::from_millis(5));
        assert!(permits.as_mut().poll(&mut context).is_ready());
        assert_eq!(kept(), Some(1), "settled for the other, too");
        assert!(estimate.as_mut().poll(&mut context).is_ready());
        assert_eq!(kept(), Some(0));
    }
}
