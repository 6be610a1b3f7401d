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

/// Returns a waker that unparks the calling thread, for a thread that polls and [parks](thread::park) in between.
///
/// Made once for each thread, which allocates; later calls clone it.
///
/// # Examples
///
/// ```
/// use std::task::Poll;
/// use std::thread;
/// use sluicegate::wait::{Resource, ResourceCaller, ResourceLine, thread_waker};
///
/// /// Blocks the thread until its turn has come.
/// fn take_blocking<R: Resource>(line: &ResourceLine<R>, permits: u64) -> Option<u64> {
///     let mut caller = ResourceCaller::new(line, permits);
///     loop {
///         match caller.poll_turn(&thread_waker()) {
///             Poll::Ready(answer) => return answer.ok(),
///             Poll::Pending => thread::park(),
///         }
///     }
/// }
/// ```
pub fn thread_waker() -> Waker {
    // A thread that is ending has none of its own any more.
    WAKER.try_with(Waker::clone).unwrap_or_else(|_| own_waker())
}
