//! Sleeping on the clock of a session: a timer that notes when a caller is to be asked again, and wakers
//! that note which callers were woken.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sluicegate::Clock;
use sluicegate::wait::Timer;

use crate::algorithm::SharedClock;

/// A timer on the clock of a session. One caller at a time is polled, so it notes one instant.
#[derive(Clone, Debug)]
pub(super) struct VirtualTimer {
    clock: SharedClock,
    asked: Arc<Mutex<Option<u64>>>,
}

impl VirtualTimer {
    pub(super) fn new(clock: SharedClock) -> VirtualTimer {
        VirtualTimer { clock, asked: Arc::default() }
    }

    /// Takes the instant until which the caller that was polled last wants to sleep.
    pub(super) fn take_asked(&self) -> Option<u64> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Timer for VirtualTimer {
    type Sleep = VirtualSleep;

    fn sleep(&self, duration: Duration) -> VirtualSleep {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let until_nanos = self.clock.now_nanos().saturating_add(nanos);
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(until_nanos);
        VirtualSleep { clock: Arc::clone(&self.clock), until_nanos }
    }
}

/// A sleep that is over at an instant. It wakes nobody: the session polls its callers at their instants.
#[derive(Debug)]
pub(super) struct VirtualSleep {
    clock: SharedClock,
    until_nanos: u64,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.clock.now_nanos() >= self.until_nanos { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// The callers that were woken since the last look.
#[derive(Clone, Debug, Default)]
pub(super) struct Woken {
    callers: Arc<Mutex<Vec<u64>>>,
}

impl Woken {
    /// Returns the waker of the request with the number `n`.
    pub(super) fn waker(&self, n: u64) -> Waker {
        Arc::new(Bell { n, woken: self.clone() }).into()
    }

    pub(super) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.callers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Bell {
    n: u64,
    woken: Woken,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.callers.lock().unwrap_or_else(PoisonError::into_inner).push(self.n);
    }
}
