//! Callers in line for a limiter, which no time wakes.

use std::future::{Future, Pending, pending};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sluicegate::wait::{AcquireError, Timer, Waiting};
use sluicegate::{Grant, Wait};

use crate::{TestClock, thread};

/// A caller in line.
pub type Caller<'a> = Waiting<'a, NoTimer>;

/// The answer to a poll.
pub type Polled = Poll<Result<Grant, AcquireError>>;

/// Time does not wake anybody.
#[derive(Debug)]
pub struct NoTimer;

impl Timer for NoTimer {
    type Sleep = Pending<()>;

    fn sleep(&self, _: Duration) -> Pending<()> {
        pending()
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Unpark>) {
        self.0.unpark();
    }
}

/// A caller that is about to ask for `permits`.
pub fn acquire(limiter: &impl Wait, permits: u64) -> Caller<'_> {
    limiter.acquire(permits).timer(NoTimer)
}

/// Lets a caller ask.
pub fn poll(caller: &mut Pin<&mut Caller<'_>>) -> Polled {
    let waker = Waker::from(std::sync::Arc::new(Unpark(thread::current())));
    caller.as_mut().poll(&mut Context::from_waker(&waker))
}

/// Sleeps until there is an answer.
///
/// # Errors
///
/// As the line has it.
pub fn wait(limiter: &impl Wait, permits: u64) -> Result<Grant, AcquireError> {
    let mut caller = pin!(acquire(limiter, permits));
    loop {
        match poll(&mut caller) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => thread::park(),
        }
    }
}

/// Asks for a permit now, and again `later` if it is not granted. Returns whether it was.
pub fn stand_and_ask(limiter: &impl Wait, later: u64) -> bool {
    stand_and_then(limiter, || TestClock::run_ahead(later))
}

/// Asks for a permit, and again after `between` if it is not granted. Returns whether it was. (A
/// caller that has its answer would ask anew.)
pub fn stand_and_then(limiter: &impl Wait, between: impl FnOnce()) -> bool {
    let mut caller = pin!(acquire(limiter, 1));
    let first = poll(&mut caller);
    between();
    matches!(poll_again(&mut caller, first), Poll::Ready(Ok(_)))
}

/// Lets a caller ask again, if it has no answer yet.
pub fn poll_again(caller: &mut Pin<&mut Caller<'_>>, polled: Polled) -> Polled {
    if polled.is_pending() { poll(caller) } else { polled }
}
