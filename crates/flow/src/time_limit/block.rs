//! A closure with a time limit.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::block_on::Signal;

use super::cancel_token::CancelToken;
use super::error::{CallError, TimedOut};
use super::events::CallEvent;
use super::late::Late;
use super::limit::{OnTimeout, TimeLimit};
use super::record::CallRecord;
use super::slot::{CallEnd, CallSlot};

/// A call of a blocking closure that has not begun: made by
/// [`TimeLimiter::call`](crate::time_limit::TimeLimiter::call), begun by [`run`](Call::run).
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use sluicegate_flow::time_limit::{OnTimeout, TimeLimit, TimeLimiter};
///
/// let limit = TimeLimit::new(Duration::from_millis(1))?.with_on_timeout(OnTimeout::LetFinish);
/// let limiter = TimeLimiter::new("payments", limit);
/// let (go_on, told_to) = mpsc::channel();
/// let (sender, late) = mpsc::channel();
///
/// let slow = move |_: &_| told_to.recv().map(|()| "paid");
/// let call = limiter.call(slow).on_late(move |result| drop(sender.send(result)));
/// assert!(call.run().unwrap_err().is_timeout());
///
/// go_on.send(())?;
/// assert_eq!(late.recv()?, Ok("paid"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a call does nothing until it is run"]
pub struct Call<C, R> {
    operation: C,
    limit: TimeLimit,
    late: Late<R>,
}

impl<C, R> Call<C, R>
where
    C: FnOnce(&CancelToken) -> R + Send + 'static,
    R: Send + 'static,
{
    pub(super) fn new(operation: C, limit: TimeLimit, record: Arc<CallRecord>) -> Call<C, R> {
        Call { operation, limit, late: Late { record, is_failure: |_| false, hook: None } }
    }

    /// Hands the result of an operation that ends after its time-out to `hook`, on the thread
    /// where it ends.
    ///
    /// Only of an operation that is let finish; else `hook` is never called. Allocates.
    pub fn on_late(mut self, hook: impl FnOnce(R) + Send + 'static) -> Call<C, R> {
        self.late.hook = Some(Box::new(hook));
        self
    }

    /// Counts an operation as failed if `is_failure` is true of its result.
    pub fn failing_when(mut self, is_failure: fn(&R) -> bool) -> Call<C, R> {
        self.late.is_failure = is_failure;
        self
    }

    /// Runs the closure on a thread of the limiter's spawner, and returns its result.
    ///
    /// **Blocks** the calling thread until the closure returns, at most for the time-out: by the
    /// system's clock, and without the limiter's timer, because a runtime whose thread is blocked
    /// may have nobody left to drive its timers. A task has better things to do than to block:
    /// `execute` the future of your runtime's `spawn_blocking`.
    ///
    /// Allocates the job, its place and its token. Locks nothing that other calls lock; a thread
    /// of its own has to be started.
    ///
    /// # Errors
    ///
    /// [`CallError::TimedOut`]. With [`OnTimeout::Cancel`] the closure's token is cancelled, and
    /// its result is dropped; a closure that does not look at its token goes on, on its thread. One
    /// that waits in the queue of a pool does not begin.
    ///
    /// [`CallError::NotRun`] if no thread takes the closure.
    ///
    /// # Panics
    ///
    /// If the closure panics in time, with its panic.
    pub fn run(self) -> Result<R, CallError> {
        let Call { operation, limit, mut late } = self;
        let record = Arc::clone(&late.record);
        let may_finish = limit.on_timeout() == OnTimeout::LetFinish;
        if !may_finish {
            late.hook = None;
        }
        let is_failure = late.is_failure;
        let (slot, token) = (Arc::new(CallSlot::new()), CancelToken::default());
        let deadline = Instant::now().checked_add(limit.timeout());
        let waiting = Some((operation, late));
        let job = Job { waiting, slot: Arc::clone(&slot), token: token.clone() };
        record.spawn_blocking(Box::new(move || job.run()));

        match wait(&slot, deadline) {
            Some(CallEnd::Returned(Ok(result))) => {
                let is_failure = is_failure(&result);
                record.note(if is_failure { CallEvent::Failed } else { CallEvent::Succeeded });
                Ok(result)
            }
            Some(CallEnd::Returned(Err(panic))) => {
                record.note(CallEvent::Failed);
                resume_unwind(panic)
            }
            Some(CallEnd::NotRun) => {
                record.note(CallEvent::Failed);
                Err(CallError::NotRun { name: Arc::clone(record.name()) })
            }
            None => {
                record.note(CallEvent::TimedOut);
                // After the caller has left: a closure that stops because of it is late.
                if !may_finish {
                    token.cancel();
                }
                let name = Arc::clone(record.name());
                // A thread cannot be killed, so it may finish in any case.
                let timed_out = TimedOut { name, timeout: limit.timeout(), may_finish: true };
                Err(CallError::TimedOut(timed_out))
            }
        }
    }
}

/// Waits for the end of a closure. Returns `None` if it has not come by the deadline; then it will
/// not come here any more.
fn wait<R>(slot: &CallSlot<R>, deadline: Option<Instant>) -> Option<CallEnd<R>> {
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    loop {
        if let Some(end) = slot.take(&waker) {
            return Some(end);
        }
        match deadline {
            Some(deadline) if !signal.wait_until(deadline) => return slot.leave(),
            Some(_) => {}
            // Beyond the end of the clock.
            None => signal.wait(),
        }
    }
}

/// A closure on its way to a thread, and on it.
struct Job<C, R> {
    /// `None` once it has begun.
    waiting: Option<(C, Late<R>)>,
    slot: Arc<CallSlot<R>>,
    token: CancelToken,
}

impl<C: FnOnce(&CancelToken) -> R, R> Job<C, R> {
    fn run(mut self) {
        // Nobody waits for it, and nobody wants it: dropped.
        if self.token.is_cancelled() {
            return;
        }
        let Some((operation, late)) = self.waiting.take() else { return };
        let result = catch_unwind(AssertUnwindSafe(|| operation(&self.token)));
        if let Err(CallEnd::Returned(result)) = self.slot.put(CallEnd::Returned(result)) {
            late.end(result.ok());
        }
    }
}

impl<C, R> Drop for Job<C, R> {
    fn drop(&mut self) {
        if let Some((_, late)) = self.waiting.take()
            && self.slot.put(CallEnd::NotRun).is_err()
        {
            late.record.note(CallEvent::Lost);
        }
    }
}

impl<C, R> fmt::Debug for Call<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("limiter", self.late.record.name())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
