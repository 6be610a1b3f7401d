//! Permits for something that is to be moved, in as many parts as the limiter makes necessary.

#[cfg(any(feature = "futures", feature = "tokio"))]
use std::task::{Context, Poll, ready};

use sluicegate::wait::{AcquireError, Caller, ClockTimer, Jitter, Timer};
use sluicegate::{Grant, Wait};

/// Permits that are owed for something, and a caller that takes them. The caller leaves the line when
/// this is dropped.
pub(super) struct Payment<L: Wait, T: Timer> {
    caller: Caller<L, T>,
    jitter: Option<Jitter>,
    owed: u64,
    /// Permits that the caller asks for at present, or 0.
    asked: u64,
}

impl<L: Wait> Payment<L, ClockTimer> {
    pub(super) fn new(limiter: L) -> Payment<L, ClockTimer> {
        Payment { caller: Caller::new(limiter), jitter: None, owed: 0, asked: 0 }
    }
}

impl<L: Wait, T: Timer> Payment<L, T> {
    pub(super) fn with_jitter(self, jitter: Jitter) -> Payment<L, T> {
        let mut payment = Payment { jitter: Some(jitter), ..self };
        payment.ask_for(payment.asked);
        payment
    }

    pub(super) fn with_timer<U: Timer>(self, timer: U) -> Payment<L, U> {
        let Payment { caller, jitter, owed, asked } = self;
        Payment { caller: caller.timer(timer), jitter, owed, asked }
    }

    pub(super) fn limiter(&self) -> &L {
        self.caller.limiter()
    }

    /// Returns the most permits that are taken at once.
    pub(super) fn limit(&self) -> u64 {
        self.caller.limit()
    }

    /// Returns the permits that are still to be taken.
    pub(super) fn owed(&self) -> u64 {
        self.owed
    }

    /// Makes `permits` more to be taken.
    pub(super) fn owe(&mut self, permits: u64) {
        self.owed = self.owed.saturating_add(permits);
    }

    /// Takes all that is owed, and blocks the thread until it is there. What is owed after an error
    /// is taken by the next call.
    pub(super) fn pay(&mut self) -> Result<(), AcquireError> {
        while self.owed > 0 {
            self.begin();
            let answer = self.caller.acquire_blocking(self.asked);
            self.note(answer)?;
        }
        Ok(())
    }

    /// Does the same for a task.
    #[cfg(any(feature = "futures", feature = "tokio"))]
    pub(super) fn poll_pay(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        while self.owed > 0 {
            self.begin();
            let answer = ready!(self.caller.poll_acquire(self.asked, context));
            self.note(answer)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Chooses the next part to ask for, if none is being asked for.
    fn begin(&mut self) {
        if self.asked == 0 {
            self.ask_for(self.owed.min(self.limit().max(1)));
        }
    }

    /// Makes `permits` the next part. Only the last one is told with jitter.
    fn ask_for(&mut self, permits: u64) {
        self.caller.set_jitter(self.jitter.filter(|_| permits >= self.owed));
        self.asked = permits;
    }

    fn note(&mut self, answer: Result<Grant, AcquireError>) -> Result<(), AcquireError> {
        match answer {
            Ok(_) => {
                self.owed = self.owed.saturating_sub(self.asked);
                self.asked = 0;
                Ok(())
            }
            // The burst has become smaller. Less each time, so there is an end.
            Err(AcquireError::TooLarge { limit }) if 0 < limit && limit < self.asked => {
                self.ask_for(limit);
                Ok(())
            }
            Err(error) => {
                self.asked = 0;
                Err(error)
            }
        }
    }
}
