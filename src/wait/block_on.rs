//! A future on a thread: for whoever has no runtime.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use alloc::sync::Arc;
use alloc::task::Wake;
use std::thread::{self, Thread};
use std::time::Instant;

/// Wakes a thread that has parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Returns a waker of the calling thread. Allocates.
pub(crate) fn own_waker() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

std::thread_local! {
    static WAKER: Waker = own_waker();
}

/// Returns the waker of the calling thread, which is made once.
pub(crate) fn thread_waker() -> Waker {
    // A thread that is ending has none of its own any more.
    WAKER.try_with(Waker::clone).unwrap_or_else(|_| own_waker())
}

/// Runs `future` on the calling thread, to its end or until `end`, which is asked for if it has to
/// wait: `None` is for ever. Returns `None` if the time was over; the future is dropped then.
pub(crate) fn block_on_until<F: Future>(
    future: F,
    end: impl FnOnce() -> Option<Instant>,
) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = thread_waker();
    let mut context = Context::from_waker(&waker);
    if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
        return Some(output);
    }
    let end = end();
    loop {
        match end.map(|end| end.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(left) if left.is_zero() => return None,
            Some(left) => thread::park_timeout(left),
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
    }
}

/// Runs `future` to its end on the calling thread, which parks whenever it has to wait.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = own_waker();
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            // Another wake-up of this thread only polls once more.
            Poll::Pending => thread::park(),
        }
    }
}
