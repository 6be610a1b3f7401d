//! Timers for tasks: what wakes a task that waits.

use core::future::Future;
use core::time::Duration;

use crate::time::clock::Timeline;

pub(crate) mod clock;
pub(crate) mod thread;
#[cfg(feature = "tokio")]
pub(crate) mod tokio;

/// A source of futures that complete after a time: what tasks sleep on.
///
/// A task sleeps by [`ClockTimer`](crate::wait::ClockTimer) unless another timer is named:
/// [`ThreadTimer`](crate::wait::ThreadTimer) works with every executor; `TokioTimer` is tokio's.
/// Implement the trait for the timer of another runtime.
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

    /// Returns a future that completes once `duration` is over on a limiter's `timeline`. A timer that has a
    /// timeline of its own ignores the limiter's, as this default does.
    fn sleep_on(&self, _timeline: Timeline, duration: Duration) -> Self::Sleep {
        self.sleep(duration)
    }
}

/// Forwards to the timer behind a pointer.
macro_rules! through {
    ($Pointer:ty) => {
        impl<T: Timer + ?Sized> Timer for $Pointer {
            type Sleep = T::Sleep;

            fn sleep(&self, duration: Duration) -> T::Sleep {
                (**self).sleep(duration)
            }

            fn sleep_on(&self, timeline: Timeline, duration: Duration) -> T::Sleep {
                (**self).sleep_on(timeline, duration)
            }
        }
    };
}

through!(&T);
through!(alloc::boxed::Box<T>);
through!(alloc::sync::Arc<T>);
