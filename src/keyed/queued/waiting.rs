//! Waiting for permits of a key: the future for tasks, and the call for threads.

use alloc::borrow::{Cow, ToOwned};
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use pin_project_lite::pin_project;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::wait::acquire::sleep;
use crate::wait::error::AcquireError;
use crate::wait::jitter::Jitter;
use crate::wait::request::{Asked, LineRequest};
use crate::wait::thread_waker::thread_waker;
use crate::wait::timer::Timer;
use crate::wait::timer::clock::ClockTimer;

use super::at_key::{AtKey, WayToKeys};

pin_project! {
    /// A caller that waits for permits of a key, first come, first served: a future for tasks, and
    /// [`wait_blocking`](WaitingForKey::wait_blocking) for threads. Both stand in the same line.
    ///
    /// Does nothing until it is polled. The caller's place in line is that of its first poll.
    ///
    /// # Errors
    ///
    /// All of [`AcquireError`]. A caller that is refused has taken nothing.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time. A caller that still stands in line leaves it, and has taken
    /// nothing. If its permits had been granted but it had not been polled since, they are spent.
    ///
    /// # Fairness
    ///
    /// Callers of a key are granted permits in the order of their first polls, whatever they ask
    /// for. Those of other keys do not matter.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{Keyed, quota};
    /// use sluicegate::keyed::QueuedKeys;
    ///
    /// let users = QueuedKeys::new(Keyed::<String>::new(quota!(1_000 / second, burst 1)));
    /// for _ in 0..2 {
    ///     users.acquire("ada", 1).timeout(Duration::from_secs(1)).wait_blocking()?;
    /// }
    /// # Ok::<(), sluicegate::wait::AcquireError>(())
    /// ```
    #[must_use = "a future does nothing until it is polled"]
    pub struct WaitingForKey<'a, K, T: Timer = ClockTimer>
    where
        K: ToOwned,
        K: ?Sized,
        K: Sync,
        K::Owned: Sync,
    {
        caller: Caller<'a, K>,
        timer: T,
        #[pin]
        sleep: Option<T::Sleep>,
    }
}

struct Caller<'a, K: ToOwned<Owned: Sync> + Sync + ?Sized> {
    keys: WayToKeys<'a, K>,
    key: Cow<'a, K>,
    permits: u64,
    timeout: Option<Duration>,
    jitter: Option<Jitter>,
    /// `None` before its first request, and from its answer on.
    request: Option<LineRequest<AtKey<'a, K>>>,
    answer: Option<Result<Grant, AcquireError>>,
}

impl<K: ToOwned<Owned: Sync> + Sync + ?Sized> Caller<'_, K> {
    /// Asks for the permits, and stands in line if need be.
    fn ask(&mut self, waker: &Waker) -> Asked {
        if let Some(answer) = self.answer {
            return Asked::Told(answer);
        }
        let asked = match &mut self.request {
            Some(request) => request.ask(waker),
            None => self.begin(waker),
        };
        if let Asked::Told(answer) = asked {
            self.answer = Some(answer);
            // The line may have no other user.
            self.request = None;
        }
        asked
    }

    /// Asks for the permits for the first time. What is too large is refused as such even if the lines
    /// are closed. A caller that comes to stand asks the store once more under the lock of the line: a
    /// change may have come before it, and tells only those in line.
    fn begin(&mut self, waker: &Waker) -> Asked {
        match self.keys.try_now(&self.key, self.permits) {
            Ok(grant) => return Asked::Told(Ok(grant)),
            Err(Denied::TooLarge { limit, .. }) => {
                return Asked::Told(Err(AcquireError::TooLarge { limit }));
            }
            Err(_) => {}
        }
        let line = match self.keys.enter(&self.key) {
            Ok(line) => line,
            Err(error) => return Asked::Told(Err(error)),
        };
        let at_key = AtKey::new(self.keys.clone(), self.key.clone(), line);
        let request = self.request.insert(LineRequest::new(at_key, self.permits));
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        if let Some(jitter) = self.jitter {
            request.set_jitter(Some(jitter));
        }
        request.stand(waker)
    }
}

impl<'a, K: ToOwned<Owned: Sync> + Sync + ?Sized> WaitingForKey<'a, K> {
    pub(super) fn new(
        keys: WayToKeys<'a, K>,
        key: Cow<'a, K>,
        permits: u64,
    ) -> WaitingForKey<'a, K> {
        let (timeout, jitter, request, answer) = (None, None, None, None);
        let caller = Caller { keys, key, permits, timeout, jitter, request, answer };
        WaitingForKey { caller, timer: ClockTimer, sleep: None }
    }
}

impl<'a, K: ToOwned<Owned: Sync> + Sync + ?Sized, T: Timer> WaitingForKey<'a, K, T> {
    /// Waits for no longer than `timeout`, counted from the first poll by the clock of the lines. If the
    /// permits cannot be there by then, the caller is refused at once.
    pub fn timeout(mut self, timeout: Duration) -> WaitingForKey<'a, K, T> {
        self.caller.timeout = Some(timeout);
        self
    }

    /// Delays the answer to a caller that had to wait, as [`Waiting::jitter`](crate::wait::Waiting::jitter)
    /// does; to be set before the first poll. If it is dropped meanwhile, its permits are spent.
    pub fn jitter(mut self, jitter: impl Into<Jitter>) -> WaitingForKey<'a, K, T> {
        self.caller.jitter = Some(jitter.into());
        self
    }

    /// Sleeps by `timer` instead of [`ClockTimer`]. For threads, the timer does not matter.
    pub fn timer<U: Timer>(self, timer: U) -> WaitingForKey<'a, K, U> {
        WaitingForKey { caller: self.caller, timer, sleep: None }
    }

    /// Blocks the thread until there is an answer.
    ///
    /// # Errors
    ///
    /// All of [`AcquireError`].
    pub fn wait_blocking(mut self) -> Result<Grant, AcquireError> {
        let waker = thread_waker();
        loop {
            match self.caller.ask(&waker) {
                Asked::Told(answer) => return answer,
                Asked::Sleep(longest) => thread::park_timeout(longest),
            }
        }
    }

    /// Waits as [`wait_blocking`](WaitingForKey::wait_blocking) does, for no longer than until `deadline`. After
    /// the deadline, takes nothing.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`], and all others.
    pub fn wait_blocking_until(self, deadline: Instant) -> Result<Grant, AcquireError> {
        match deadline.checked_duration_since(Instant::now()) {
            Some(timeout) => self.timeout(timeout).wait_blocking(),
            None => Err(AcquireError::TimedOut { retry_after: Duration::ZERO }),
        }
    }
}

impl<K: ToOwned<Owned: Sync> + Sync + ?Sized, T: Timer> Future for WaitingForKey<'_, K, T> {
    type Output = Result<Grant, AcquireError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        match this.caller.ask(context.waker()) {
            Asked::Told(answer) => {
                this.sleep.set(None);
                Poll::Ready(answer)
            }
            Asked::Sleep(longest) => {
                let timeline = this.caller.keys.clock().timeline();
                sleep(this.sleep, this.timer, timeline, longest, context);
                Poll::Pending
            }
        }
    }
}

impl<K: ToOwned<Owned: Sync> + Sync + ?Sized, T: Timer> fmt::Debug for WaitingForKey<'_, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingForKey")
            .field("permits", &self.caller.permits)
            .finish_non_exhaustive()
    }
}
