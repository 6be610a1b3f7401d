//! A future on a thread: for whoever has no runtime.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use alloc::sync::Arc;
use alloc::task::Wake;
use std::thread::{self, Thread};

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
