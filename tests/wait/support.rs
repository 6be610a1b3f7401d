//! Callers in line that the test polls by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sluicegate::{Acquire, AcquireError, Grant, Timer, Wait};

pub(crate) const MILLI: Duration = Duration::from_millis(1);

/// A timer that never wakes anybody.
pub(crate) struct NoTimer;

impl Timer for NoTimer {
    type Sleep = std::future::Pending<()>;

    fn sleep(&self, _: Duration) -> std::future::Pending<()> {
        std::future::pending()
    }
}

/// Counts how often a caller is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A caller that stands in line, or did.
pub(crate) struct Caller<'a> {
    future: Pin<Box<Acquire<'a, NoTimer>>>,
    woken: Arc<Woken>,
}

impl<'a> Caller<'a> {
    /// A caller that has asked for `permits` once.
    pub(crate) fn new(bucket: &'a impl Wait, permits: u64) -> Caller<'a> {
        Caller::of(bucket.acquire_async(permits).timer(NoTimer))
    }

    pub(crate) fn with_timeout(
        bucket: &'a impl Wait,
        permits: u64,
        timeout: Duration,
    ) -> Caller<'a> {
        Caller::of(bucket.acquire_async(permits).timeout(timeout).timer(NoTimer))
    }

    fn of(future: Acquire<'a, NoTimer>) -> Caller<'a> {
        let mut caller = Caller { future: Box::pin(future), woken: Arc::default() };
        let _first = caller.poll();
        caller
    }

    pub(crate) fn poll(&mut self) -> Poll<Result<Grant, AcquireError>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub(crate) fn is_waiting(&mut self) -> bool {
        self.poll().is_pending()
    }

    pub(crate) fn is_granted(&mut self) -> bool {
        matches!(self.poll(), Poll::Ready(Ok(_)))
    }

    pub(crate) fn error(&mut self) -> Option<AcquireError> {
        match self.poll() {
            Poll::Ready(answer) => answer.err(),
            Poll::Pending => None,
        }
    }

    /// Number of times that the caller was woken.
    pub(crate) fn woken(&self) -> usize {
        self.woken.0.load(Relaxed)
    }
}
