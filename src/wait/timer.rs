//! Timers for tasks: what wakes a task that waits.

use core::future::Future;
use core::time::Duration;

pub(crate) mod thread;
#[cfg(feature = "tokio")]
pub(crate) mod tokio;

/// A source of futures that complete after a time: what tasks sleep on.
///
/// [`ThreadTimer`](crate::wait::ThreadTimer) works with every executor; `TokioTimer` is tokio's, whose
/// time can be paused in tests. Implement the trait for the timer of another runtime.
///
/// A sleep may end late. If it ends early, a caller that waits for permits of a rate finds that they
/// are not there yet, and sleeps again. For permits in flight a sleep is the caller's timeout: if it
/// ends early, so does the timeout.
///
/// # Examples
///
/// ```
/// use core::future::{Ready, ready};
/// use core::time::Duration;
/// use sluicegate::wait::Timer;
///
/// /// For a simulation in which no time passes: every sleep is over at once.
/// struct NoTime;
///
/// impl Timer for NoTime {
///     type Sleep = Ready<()>;
///
///     fn sleep(&self, _: Duration) -> Ready<()> {
///         ready(())
///     }
/// }
/// ```
pub trait Timer {
    /// The future that completes when the time is over. It must wake its task then.
    type Sleep: Future<Output = ()>;

    /// Returns a future that completes once `duration` is over, counted from now.
    fn sleep(&self, duration: Duration) -> Self::Sleep;
}

/// Forwards to the timer behind a pointer.
macro_rules! through {
    ($Pointer:ty) => {
        impl<T: Timer + ?Sized> Timer for $Pointer {
            type Sleep = T::Sleep;

            fn sleep(&self, duration: Duration) -> T::Sleep {
                (**self).sleep(duration)
            }
        }
    };
}

through!(&T);
through!(alloc::boxed::Box<T>);
through!(alloc::sync::Arc<T>);
