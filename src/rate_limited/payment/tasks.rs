//! A task that pays.

use alloc::boxed::Box;
use core::task::{Context, Poll};

use crate::wait::acquire;
use crate::wait::error::AcquireError;
use crate::wait::timer::Timer;
use crate::wait::traits::Wait;
use crate::wait::waiter::Asked;

use super::Payment;

impl<L: Wait, T: Timer> Payment<L, T> {
    /// Takes all that is owed. What is owed after an error is taken by the next call.
    pub(crate) fn poll_pay(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        while self.account.owed > 0 {
            self.account.begin();
            // A user's, which may panic when it is dropped: before there is an answer to be lost.
            if let Some(sleep) = &mut self.sleep {
                sleep.as_mut().set(None);
            }
            match self.account.waiter.ask(context.waker()) {
                Asked::Told(answer) => self.account.note(answer)?,
                Asked::Sleep(longest) => {
                    let sleep = self.sleep.get_or_insert_with(|| Box::pin(None));
                    acquire::sleep(sleep.as_mut(), &self.timer, longest, context);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
