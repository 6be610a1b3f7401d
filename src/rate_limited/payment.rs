//! Permits for something that is to be moved, in as many parts as the limiter makes necessary.

#[cfg(any(feature = "futures", feature = "tokio"))]
mod tasks;

use alloc::boxed::Box;
use core::pin::Pin;

use crate::decision::grant::Grant;
use crate::wait::acquire;
use crate::wait::error::AcquireError;
use crate::wait::jitter::Jitter;
use crate::wait::timer::Timer;
use crate::wait::timer::thread::ThreadTimer;
use crate::wait::traits::Wait;
use crate::wait::turn::{Answered, HasLine, TakesTurns};
use crate::wait::waiter::Waiter;

/// A limiter that is kept: by itself, by reference or in an `Arc`.
pub(crate) struct Kept<L>(L);

impl<L: Wait> HasLine for Kept<L> {
    /// The line's address: the limiter is found by a user's code, which may find another one.
    type Home = usize;

    fn home(&self, limiter: &dyn TakesTurns) -> usize {
        limiter.queue().address()
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

/// Permits that are owed for something, and a caller that takes them. The caller leaves the line when
/// this is dropped.
pub(crate) struct Account<L: Wait> {
    waiter: Waiter<Kept<L>>,
    owed: u64,
    /// Permits that the caller asks for at present, or 0.
    asked: u64,
}

impl<L: Wait> Account<L> {
    pub(crate) fn limiter(&self) -> &L {
        &self.waiter.handle().0
    }

    /// Returns the most permits that are taken at once.
    pub(crate) fn limit(&self) -> u64 {
        self.waiter.limiter().limit()
    }

    /// Returns the permits that are still to be taken.
    pub(crate) fn owed(&self) -> u64 {
        self.owed
    }

    /// Makes `permits` more to be taken.
    pub(crate) fn owe(&mut self, permits: u64) {
        self.owed = self.owed.saturating_add(permits);
    }

    /// Takes all that is owed, and blocks the thread until it is there. What is owed after an error
    /// is taken by the next call.
    pub(crate) fn pay(&mut self) -> Result<(), AcquireError> {
        while self.owed > 0 {
            self.begin();
            let answer = acquire::block(&mut self.waiter);
            self.note(answer)?;
        }
        Ok(())
    }

    /// Chooses the next part to ask for, if none is being asked for.
    fn begin(&mut self) {
        if self.asked == 0 {
            self.ask_for(self.owed.min(self.limit().max(1)));
        }
    }

    fn ask_for(&mut self, permits: u64) {
        self.waiter.restart(permits);
        self.waiter.set_delayed(permits >= self.owed);
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

/// An account, and what a task sleeps by.
pub(crate) struct Payment<L: Wait, T: Timer> {
    pub(crate) account: Account<L>,
    #[cfg_attr(
        not(any(feature = "futures", feature = "tokio")),
        expect(dead_code, reason = "only tasks sleep")
    )]
    timer: T,
    /// Allocated by the first sleep, and used again. In a box of its own, so that whatever pays can
    /// be moved.
    #[cfg_attr(
        not(any(feature = "futures", feature = "tokio")),
        expect(dead_code, reason = "only tasks sleep")
    )]
    sleep: Option<Pin<Box<Option<T::Sleep>>>>,
}

impl<L: Wait> Payment<L, ThreadTimer> {
    pub(crate) fn new(limiter: L) -> Payment<L, ThreadTimer> {
        let account = Account { waiter: Waiter::new(Kept(limiter), 0), owed: 0, asked: 0 };
        Payment { account, timer: ThreadTimer, sleep: None }
    }
}

impl<L: Wait, T: Timer> Payment<L, T> {
    pub(crate) fn with_jitter(mut self, jitter: Jitter) -> Payment<L, T> {
        self.account.waiter.set_jitter(jitter);
        self
    }

    pub(crate) fn with_timer<U: Timer>(self, timer: U) -> Payment<L, U> {
        Payment { account: self.account, timer, sleep: None }
    }
}
