//! A caller that waits for permits in flight: its place in line, and the end of its time.
//!
//! It differs from a [`Waiter`](crate::wait::waiter) for permits that are earned in two things. No
//! caller has an instant, so it sleeps only to be woken, or until its time is over: the line keeps
//! no deadlines, and is told with a request that the time is over. And it may own its limit.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use pin_project_lite::pin_project;

use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::wait::acquire::thread_waker;
use crate::wait::line::{self, Standing};
use crate::wait::timer::Timer;
use crate::wait::turn::TakesTurns;
use crate::wait::waiters::{Key, Outcome};

use super::ConcurrencyLimit;
use super::entering::error::InFlightError;
use super::in_flight::Home;

/// A concurrency limit, or what is built on one.
pub(super) trait Limited {
    fn limit_in_flight(&self) -> &ConcurrencyLimit;
}

impl Limited for ConcurrencyLimit {
    fn limit_in_flight(&self) -> &ConcurrencyLimit {
        self
    }
}

/// Permits that were granted, to be followed by one end of as many.
pub(super) struct Entered<'a, H> {
    pub(super) home: Home<'a, H>,
    pub(super) permits: u64,
    /// The permits in flight right after the admission.
    pub(super) in_flight: u64,
}

type Answer<'a, H> = Result<Entered<'a, H>, InFlightError>;

/// A caller that wants permits. Leaves the line when it is dropped.
struct Caller<'a, H: Limited> {
    home: Home<'a, H>,
    permits: u64,
    /// Its place, while it stands in line.
    key: Option<Key>,
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
    /// one. A caller that has been told its answer asks anew.
    fn ask(&mut self, waker: &Waker, is_over: bool) -> Option<Answer<'a, H>> {
        // Any instant is before the turn of a caller that has to wait.
        let deadline_nanos = is_over.then_some(0);
        let limit = self.home.limit_in_flight();
        let standing = if self.key.is_some() {
            Ok(line::ask(limit, &mut self.key, deadline_nanos, waker.clone()))
        } else {
            match limit.try_now(self.permits) {
                Ok(grant) => return Some(Ok(self.entered(grant))),
                Err(Denied::TooLarge { limit, .. }) => {
                    return Some(Err(InFlightError::TooLarge { limit }));
                }
                Err(_) => {}
            }
            line::stand(limit, self.permits, &mut self.key, deadline_nanos, waker.clone())
        };
        match standing {
            Ok(Standing::Waiting { .. }) => None,
            Ok(Standing::Told(Outcome::Granted(grant, _))) => Some(Ok(self.entered(grant))),
            Ok(Standing::Told(Outcome::Refused(error))) | Err(error) => Some(Err(error.into())),
        }
    }

    fn entered(&self, grant: Grant) -> Entered<'a, H> {
        let in_flight = match grant.forecast {
            Forecast::Known(known) => known.used,
            _ => self.permits,
        };
        Entered { home: self.home.clone(), permits: self.permits, in_flight }
    }
}

impl<H: Limited> Drop for Caller<'_, H> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            line::leave(self.home.limit_in_flight(), key);
        }
    }
}

impl<'a, H: Limited, T: Timer> Queueing<'a, H, T> {
    pub(super) fn new(home: Home<'a, H>, permits: u64, timer: T) -> Queueing<'a, H, T> {
        let caller = Caller { home, permits, key: None };
        Queueing { caller, timeout: None, timer, sleep: None }
    }

    pub(super) fn permits(&self) -> u64 {
        self.caller.permits
    }

    pub(super) fn timeout(self, timeout: Duration) -> Queueing<'a, H, T> {
        Queueing { timeout: Some(timeout), ..self }
    }

    pub(super) fn timer<U: Timer>(self, timer: U) -> Queueing<'a, H, U> {
        Queueing { caller: self.caller, timeout: self.timeout, timer, sleep: None }
    }

    /// Blocks the thread until there is an answer.
    pub(super) fn wait(mut self) -> Answer<'a, H> {
        let waker = thread_waker();
        let mut end = None;
        let mut is_over = has_no_time(self.timeout);
        loop {
            if let Some(answer) = self.caller.ask(&waker, is_over) {
                return answer;
            }
            let Some(timeout) = self.timeout else {
                thread::park();
                continue;
            };
            let now = Instant::now();
            // `None` is beyond the end of the clock.
            match *end.get_or_insert_with(|| now.checked_add(timeout)) {
                None => thread::park(),
                Some(end) if end <= now => is_over = true,
                Some(end) => thread::park_timeout(end - now),
            }
        }
    }

    /// Blocks the thread until there is an answer, or until `deadline`. After it, asks for nothing.
    pub(super) fn wait_until(self, deadline: Instant) -> Answer<'a, H> {
        match deadline.checked_duration_since(Instant::now()) {
            Some(timeout) => self.timeout(timeout).wait(),
            None => Err(InFlightError::TimedOut),
        }
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
