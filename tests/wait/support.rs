//! Callers in line that the test polls by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sluicegate::wait::{AcquireError, Timer, Waiting};
use sluicegate::{Clock, Grant, Limiter, TokenBucket, Wait, quota};

pub(crate) const MILLI: Duration = Duration::from_millis(1);

/// A timer that never wakes anybody.
pub(crate) struct NoTimer;

impl Timer for NoTimer {
    type Sleep = std::future::Pending<()>;

    fn sleep(&self, _: Duration) -> std::future::Pending<()> {
        std::future::pending()
    }
}

/// The same, and remembers for how long a caller would have slept.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<Mutex<Duration>>);

impl Noted {
    /// Returns how long a caller would have slept, as of its last request.
    pub(crate) fn longest(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

impl Timer for Noted {
    type Sleep = std::future::Pending<()>;

    fn sleep(&self, duration: Duration) -> std::future::Pending<()> {
        *self.0.lock().unwrap() = duration;
        std::future::pending()
    }
}

/// Counts how often a caller is woken.
#[derive(Default)]
pub(crate) struct Woken(AtomicUsize);

impl Woken {
    pub(crate) fn woken(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A caller that stands in line, or did.
pub(crate) type Caller<'a> = Polled<Waiting<'a, Noted>>;

/// A future of a grant that is polled by hand.
pub(crate) struct Polled<F> {
    future: Pin<Box<F>>,
    noted: Noted,
    woken: Arc<Woken>,
    was_told: bool,
    /// Kept, because a caller that is polled again after its answer asks anew.
    answer: Option<Result<Grant, AcquireError>>,
}

impl<'a> Caller<'a> {
    /// A caller that has asked for `permits` once.
    pub(crate) fn new(bucket: &'a (impl Wait + ?Sized), permits: u64) -> Caller<'a> {
        Caller::of(bucket.acquire(permits))
    }

    pub(crate) fn with_timeout(
        bucket: &'a (impl Wait + ?Sized),
        permits: u64,
        timeout: Duration,
    ) -> Caller<'a> {
        Caller::of(bucket.acquire(permits).timeout(timeout))
    }

    pub(crate) fn of(future: Waiting<'a>) -> Caller<'a> {
        let noted = Noted::default();
        Polled::once(future.timer(noted.clone()), noted)
    }
}

impl<F: Future<Output = Result<Grant, AcquireError>>> Polled<F> {
    /// Polls a future once that sleeps by this timer.
    pub(crate) fn once(future: F, noted: Noted) -> Polled<F> {
        let (future, woken) = (Box::pin(future), Arc::default());
        let mut caller = Polled { future, noted, woken, was_told: false, answer: None };
        caller.was_told = caller.poll().is_ready();
        caller
    }

    pub(crate) fn poll(&mut self) -> Poll<Result<Grant, AcquireError>> {
        if self.answer.is_none() {
            let waker = Waker::from(Arc::clone(&self.woken));
            let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
            self.answer = if let Poll::Ready(answer) = polled { Some(answer) } else { None };
        }
        self.answer.map_or(Poll::Pending, Poll::Ready)
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

    /// Returns whether the caller had an answer at once.
    pub(crate) fn was_told(&self) -> bool {
        self.was_told
    }

    /// Returns how long the caller would sleep, as of its last request.
    pub(crate) fn sleeps_for(&self) -> Duration {
        self.noted.longest()
    }

    /// Number of times that the caller was woken.
    pub(crate) fn woken(&self) -> usize {
        self.woken.woken()
    }
}

/// A bucket that earns a permit each millisecond, up to ten, and is empty.
pub(crate) fn empty_bucket<C: Clock>(clock: C) -> TokenBucket<C> {
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), clock);
    bucket.try_acquire(10).unwrap();
    bucket
}

/// Asserts that every verb, beside callers in line, denies one permit and grants zero.
pub(crate) fn assert_every_verb_denied(limiter: &(impl Limiter + ?Sized)) {
    assert!(limiter.try_acquire(1).is_err());
    assert!(limiter.try_acquire_up_to(1).is_err());
    assert!(limiter.peek(1).is_err());
    assert!(limiter.try_acquire_revocable(1).is_err());
    assert!(limiter.try_acquire(0).is_ok() && limiter.peek(0).is_ok());
    assert!(limiter.try_acquire_up_to(0).is_ok());
}

/// Runs a future on this thread, which sleeps until it is woken.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
