//! A caller that waits for permits in flight: its place in line, and the end of its time.
//!
//! No caller has an instant, so it sleeps only to be woken, or until its time is over: the line keeps
//! no deadlines, and is told with a request that the time is over. And it may own its limit.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;
use sluicegate::wait::{ResourceCaller, ResourceLine, Timer, thread_waker};

use super::ConcurrencyLimit;
use super::entering::error::InFlightError;
use super::in_flight::{Home, InFlight};
use super::word::{LimitWord, Tally};

/// A concurrency limit, or what is built on one.
pub(super) trait Limited: Sized {
    /// Guard that ends the permits when it is dropped.
    type Guard<'a>
    where
        Self: 'a;

    fn limit_in_flight(&self) -> &ConcurrencyLimit;

    /// Returns the guard of `permits` that have been granted. Called before any code of users runs,
    /// so that the permits come back if that panics. `in_flight` are those right after the grant.
    fn guard(home: Home<'_, Self>, permits: u64, in_flight: u64) -> Self::Guard<'_>;
}

impl Limited for ConcurrencyLimit {
    type Guard<'a> = InFlight<'a>;

    fn limit_in_flight(&self) -> &ConcurrencyLimit {
        self
    }

    fn guard(home: Home<'_, ConcurrencyLimit>, permits: u64, _: u64) -> InFlight<'_> {
        InFlight::new(home, permits)
    }
}

type Answer<'a, H> = Result<<H as Limited>::Guard<'a>, InFlightError>;

/// A caller that wants permits. Leaves the line when it is dropped.
struct Caller<'a, H: Limited>(ResourceCaller<LimitWord, Home<'a, H>>);

impl<H: Limited> AsRef<ResourceLine<LimitWord>> for Home<'_, H> {
    fn as_ref(&self) -> &ResourceLine<LimitWord> {
        self.limit_in_flight().line_of_word()
    }
}

pin_project! {
    /// A caller with the time that it has.
    pub(super) struct Queueing<'a, H: Limited, T: Timer> {
        caller: Caller<'a, H>,
        // Counted from when the caller comes to stand in line; `None` for ever.
        timeout: Option<Duration>,
        timer: T,
        #[pin]
        sleep: Option<T::Sleep>,
    }
}

impl<'a, H: Limited> Caller<'a, H> {
    /// Asks for the permits, and stands in line if need be. Returns `None` if they are to be waited
    /// for; `waker` is called when there is an answer. A caller whose time `is_over` is always told
    /// one, and does not come to stand. A caller that has been told its answer asks anew.
    fn ask(&mut self, waker: &Waker, is_over: bool) -> Option<Answer<'a, H>> {
        if !self.0.stands() {
            match self.0.line().limit_in_flight().admit(self.0.permits()) {
                Ok(tally) => return Some(Ok(self.guard(tally))),
                Err(denied) if denied.is_too_large() => {
                    return Some(Err(InFlightError::TooLarge { limit: denied.limit() }));
                }
                // It would close the gate for a moment, and evict others.
                Err(_) if is_over => return Some(Err(InFlightError::TimedOut)),
                Err(_) => {}
            }
        }
        let told = if is_over {
            Poll::Ready(self.0.last_turn())
        } else {
            // Its time is by another clock than the line's.
            self.0.poll_turn(waker)
        };
        match told {
            Poll::Pending => None,
            Poll::Ready(Ok(bits)) => Some(Ok(self.guard(Tally::from_bits(bits)))),
            Poll::Ready(Err(error)) => Some(Err(error.into())),
        }
    }

    fn guard(&self, tally: Tally) -> H::Guard<'a> {
        H::guard(self.0.line().clone(), self.0.permits(), tally.in_flight())
    }
}

impl<'a, H: Limited, T: Timer> Queueing<'a, H, T> {
    pub(super) fn new(home: Home<'a, H>, permits: u64, timer: T) -> Queueing<'a, H, T> {
        let caller = Caller(ResourceCaller::new(home, permits));
        Queueing { caller, timeout: None, timer, sleep: None }
    }

    pub(super) fn permits(&self) -> u64 {
        self.caller.0.permits()
    }

    pub(super) fn timeout(self, timeout: Duration) -> Queueing<'a, H, T> {
        // One that sleeps already sleeps for as long as this says, from now on.
        Queueing { timeout: Some(timeout), sleep: None, ..self }
    }

    pub(super) fn timer<U: Timer>(self, timer: U) -> Queueing<'a, H, U> {
        Queueing { caller: self.caller, timeout: self.timeout, timer, sleep: None }
    }

    /// Blocks the thread until there is an answer.
    pub(super) fn wait_blocking(self) -> Answer<'a, H> {
        let timeout = self.timeout;
        // `None` is for ever, or beyond the end of the clock.
        let end = move || timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.block(has_no_time(timeout), end)
    }

    /// Blocks the thread until there is an answer, or until `deadline`. From then on, asks for
    /// nothing.
    pub(super) fn wait_blocking_until(self, deadline: Instant) -> Answer<'a, H> {
        let is_over = deadline <= Instant::now();
        if is_over && self.permits() > 0 {
            return Err(InFlightError::TimedOut);
        }
        self.block(is_over, || Some(deadline))
    }

    /// Blocks the thread until there is an answer, or until its `end`, which is asked for if it has
    /// to wait.
    fn block(mut self, mut is_over: bool, end: impl FnOnce() -> Option<Instant>) -> Answer<'a, H> {
        let waker = thread_waker();
        let mut told = self.caller.ask(&waker, is_over);
        let end = if told.is_none() { end() } else { None };
        let answer = loop {
            if let Some(answer) = told {
                break answer;
            }
            match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => is_over = true,
                Some(left) => thread::park_timeout(left),
            }
            told = self.caller.ask(&waker, is_over);
        };
        // The timer is a user's, and may panic when it is dropped: while the guard can still be.
        drop(self);
        answer
    }
}

impl<'a, H: Limited, T: Timer> Future for Queueing<'a, H, T> {
    type Output = Answer<'a, H>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let mut is_over = has_no_time(*this.timeout);
        loop {
            if let Some(answer) = this.caller.ask(context.waker(), is_over) {
                this.sleep.set(None);
                return Poll::Ready(answer);
            }
            let Some(timeout) = *this.timeout else { return Poll::Pending };
            if this.sleep.is_none() {
                this.sleep.set(Some(this.timer.sleep(timeout)));
            }
            is_over = this.sleep.as_mut().as_pin_mut().is_none_or(|it| it.poll(context).is_ready());
            if !is_over {
                return Poll::Pending;
            }
        }
    }
}

/// Returns true for a caller that is not to wait at all.
fn has_no_time(timeout: Option<Duration>) -> bool {
    timeout.is_some_and(|timeout| timeout.is_zero())
}
