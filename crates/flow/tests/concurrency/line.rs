//! Callers that wait in line for permits in flight.

mod changes;
mod leaving;
mod order;
mod others;
mod panics;
mod random;
mod storm;
mod time;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sluicegate::wait::Timer;
use sluicegate_flow::concurrency::{Entering, InFlight, InFlightError};

/// A timer that rings when the test says so.
#[derive(Clone, Default)]
pub(crate) struct Bell(Arc<AtomicBool>);

impl Bell {
    pub(crate) fn ring(&self) {
        self.0.store(true, Relaxed);
    }
}

/// A sleep of a [`Bell`].
pub(crate) struct UntilItRings(Bell);

impl Timer for Bell {
    type Sleep = UntilItRings;

    fn sleep(&self, _: Duration) -> UntilItRings {
        UntilItRings(self.clone())
    }
}

impl Future for UntilItRings {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.0.load(Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Ends what other threads go on with until then, even if this one panics.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
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

/// A caller that the test polls by hand, and that has asked once.
pub(crate) struct Caller<'a> {
    future: Pin<Box<Entering<'a, Bell>>>,
    bell: Bell,
    woken: Arc<Woken>,
    answer: Option<Result<InFlight<'a>, InFlightError>>,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(future: Entering<'a>) -> Caller<'a> {
        let bell = Bell::default();
        let future = Box::pin(future.timer(bell.clone()));
        let mut caller = Caller { future, bell, woken: Arc::default(), answer: None };
        caller.ask();
        caller
    }

    /// Polls it, unless it has its answer.
    fn ask(&mut self) {
        if self.answer.is_none() {
            let waker = Waker::from(Arc::clone(&self.woken));
            if let Poll::Ready(answer) = self.future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                self.answer = Some(answer);
            }
        }
    }

    pub(crate) fn is_waiting(&mut self) -> bool {
        self.ask();
        self.answer.is_none()
    }

    pub(crate) fn is_granted(&mut self) -> bool {
        self.ask();
        matches!(self.answer, Some(Ok(_)))
    }

    pub(crate) fn error(&mut self) -> Option<InFlightError> {
        self.ask();
        self.answer.as_ref().and_then(|answer| answer.as_ref().err()).copied()
    }

    /// Returns the guard; what it holds is in flight until that is dropped.
    pub(crate) fn into_guard(mut self) -> InFlight<'a> {
        self.answer.take().expect("it has asked").expect("it was granted its permits")
    }

    /// Ends the caller's time.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// Number of times that it was woken.
    pub(crate) fn woken(&self) -> usize {
        self.woken.0.load(Relaxed)
    }
}
