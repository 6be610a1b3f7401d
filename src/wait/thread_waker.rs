//! The waker of a thread that parks.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::task::Waker;
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

fn own_waker() -> Waker {
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
