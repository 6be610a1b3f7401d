//! A caller that keeps its limiter, and asks it again and again.

use alloc::boxed::Box;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::decision::grant::Grant;

use super::acquire;
use super::error::AcquireError;
use super::jitter::Jitter;
use super::request::{Asked, LineRequest};
use super::timer::Timer;
use super::timer::clock::ClockTimer;
use super::traits::Wait;
use super::turn::TakesTurns;
use super::way_to_line::{Answered, HasLine};

/// A caller that keeps its limiter (by value, by reference or in an `Arc`), and asks it for permits again and
/// again: for types that are polled themselves, such as streams, readers and services, or that block a
/// thread.
///
/// It stands in line as a [`Waiting`](crate::wait::Waiting) does, at the same rank and with the same guarantees.
///
/// The first sleep of a task allocates a box, which later ones use again; the timer may allocate for each sleep.
///
/// # Cancel safety
///
/// May be dropped at any time: it leaves the line. Permits that it was granted and has not been told of are given back if
/// nothing else was granted in between; otherwise they are lost, as if they had been used.
///
/// # Examples
///
/// A service that takes a permit for each call:
///
/// ```
/// use std::task::{Context, Poll, Waker, ready};
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::wait::{AcquireError, Caller};
///
/// struct Paced {
///     caller: Caller<TokenBucket>,
///     has_permit: bool,
/// }
///
/// impl Paced {
///     fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
///         if !self.has_permit {
///             ready!(self.caller.poll_acquire(1, context))?;
///             self.has_permit = true;
///         }
///         Poll::Ready(Ok(()))
///     }
/// }
///
/// let bucket = TokenBucket::new(quota!(10 / second, burst 1));
/// let mut service = Paced { caller: Caller::new(bucket), has_permit: false };
/// let mut context = Context::from_waker(Waker::noop());
/// assert!(service.poll_ready(&mut context).is_ready());
/// service.has_permit = false;
/// assert!(service.poll_ready(&mut context).is_pending());
/// ```
pub struct Caller<L: Wait, T: Timer = ClockTimer> {
    request: LineRequest<Kept<L>>,
    /// The permits of the request that has no answer yet.
    asked: Option<u64>,
    timer: T,
    /// In a box, so that the caller can be moved while it stands in line.
    sleep: Option<Pin<Box<Option<T::Sleep>>>>,
}

impl<L: Wait> Caller<L> {
    /// Returns a caller that stands in no line yet. Reads no clock.
    pub fn new(limiter: L) -> Caller<L> {
        let request = LineRequest::new(Kept(limiter), 0);
        Caller { request, asked: None, timer: ClockTimer, sleep: None }
    }
}

impl<L: Wait, T: Timer> Caller<L, T> {
    /// Sleeps by `timer` instead of [`ClockTimer`]. For threads, the timer does not matter.
    #[must_use]
    pub fn timer<U: Timer>(self, timer: U) -> Caller<L, U> {
        Caller { request: self.request, asked: self.asked, timer, sleep: None }
    }

    /// Delays the answers to its next grants, as [`Waiting::jitter`](crate::wait::Waiting::jitter) does; with `None`,
    /// no longer.
    pub fn set_jitter(&mut self, jitter: Option<Jitter>) {
        self.request.set_jitter(jitter);
    }

    /// Returns the limiter that it asks.
    pub fn limiter(&self) -> &L {
        &self.request.handle().0
    }

    /// Returns the most permits that are ever granted at once, such as the burst. Reads no clock.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.request.limiter().limit()
    }

    /// Takes all of `permits`, or stands in line for them.
    ///
    /// A call with as many permits as the last one, which had no answer, goes on with that request. With
    /// another number it leaves the line, and asks anew. After an answer, each call is a new request.
    ///
    /// # Errors
    ///
    /// All of [`AcquireError`]. A caller that is refused has taken nothing.
    pub fn poll_acquire(
        &mut self,
        permits: u64,
        context: &mut Context<'_>,
    ) -> Poll<Result<Grant, AcquireError>> {
        // A user's, which may panic when it is dropped: before there is an answer to be lost.
        if let Some(sleep) = &mut self.sleep {
            sleep.as_mut().set(None);
        }
        self.ask_for(permits);
        match self.request.ask(context.waker()) {
            Asked::Told(answer) => {
                self.asked = None;
                Poll::Ready(answer)
            }
            Asked::Sleep(longest) => {
                let sleep = self.sleep.get_or_insert_with(|| Box::pin(None));
                let timeline = self.request.limiter().clock().timeline();
                acquire::sleep(sleep.as_mut(), &self.timer, timeline, longest, context);
                Poll::Pending
            }
        }
    }

    /// Does the same for a thread, and blocks it until there is an answer.
    ///
    /// # Errors
    ///
    /// As for [`poll_acquire`](Caller::poll_acquire).
    pub fn acquire_blocking(&mut self, permits: u64) -> Result<Grant, AcquireError> {
        self.ask_for(permits);
        let answer = acquire::block(&mut self.request);
        self.asked = None;
        answer
    }

    fn ask_for(&mut self, permits: u64) {
        if self.asked != Some(permits) {
            self.request.restart(permits);
            self.asked = Some(permits);
        }
    }
}

/// A limiter that is kept: by itself, by reference or in an `Arc`.
struct Kept<L>(L);

impl<L: Wait> HasLine for Kept<L> {
    /// The line's address: the limiter is found by a user's code, which may find another one.
    type Home = usize;

    fn home(&self, limiter: &dyn TakesTurns) -> usize {
        limiter.line_lock().address()
    }

    fn limiter(&self) -> &(dyn TakesTurns + Sync) {
        self.0.line().limiter()
    }

    fn is_counted(&self) -> bool {
        self.0.line().is_counted()
    }

    fn note(&self, answered: Answered<'_>) {
        self.0.line().count_answer(answered);
    }
}

impl<L: Wait, T: Timer> fmt::Debug for Caller<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("asked", &self.asked).finish_non_exhaustive()
    }
}
