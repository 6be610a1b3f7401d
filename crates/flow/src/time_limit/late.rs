//! Operations that go on without their callers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::events::CallEvent;
use super::record::CallRecord;

/// The rest of a call whose caller is gone: counts its end, and hands its result on.
pub(super) struct Late<R> {
    pub(super) record: Arc<CallRecord>,
    pub(super) is_failure: fn(&R) -> bool,
    pub(super) hook: Option<Box<dyn FnOnce(R) + Send>>,
}

impl<R> Late<R> {
    /// Notes the end of the operation, with its result unless it panicked, and hands the result on.
    pub(super) fn end(self, result: Option<R>) {
        let is_failure = result.as_ref().is_none_or(self.is_failure);
        self.record.note(if is_failure { CallEvent::FailedLate } else { CallEvent::FinishedLate });
        if let (Some(result), Some(hook)) = (result, self.hook) {
            hook(result);
        }
    }
}

/// A future that goes on without its caller.
pub(super) struct LateTask<F: Future> {
    future: Pin<Box<F>>,
    /// `None` once the end is noted.
    late: Option<Late<F::Output>>,
    /// True during a poll, and after one that has panicked.
    is_polled: bool,
}

impl<F: Future> LateTask<F> {
    pub(super) fn new(future: Pin<Box<F>>, late: Late<F::Output>) -> LateTask<F> {
        LateTask { future, late: Some(late), is_polled: false }
    }
}

impl<F: Future> Future for LateTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.late.is_none() {
            return Poll::Ready(());
        }
        self.is_polled = true;
        let polled = self.future.as_mut().poll(context);
        self.is_polled = false;
        polled.map(|output| {
            if let Some(late) = self.late.take() {
                late.end(Some(output));
            }
        })
    }
}

impl<F: Future> Drop for LateTask<F> {
    fn drop(&mut self) {
        match self.late.take() {
            Some(late) if self.is_polled => late.end(None),
            Some(late) => late.record.note(CallEvent::Lost),
            None => {}
        }
    }
}
