//! The timer of the timeline of a limiter's clock.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

#[cfg(feature = "tokio")]
use alloc::boxed::Box;

#[cfg(feature = "tokio")]
use tokio::runtime::Handle;

use crate::time::clock::Timeline;

use super::Timer;
use super::thread::{ThreadSleep, ThreadTimer};
#[cfg(feature = "tokio")]
use super::tokio::{TokioSleep, TokioTimer};

/// The timer of the limiter's clock, by which a task sleeps unless another timer is named.
///
/// | the limiter's clock | sleeps by |
/// |---|---|
/// | `TokioClock` | `TokioTimer`, in a box for each sleep; outside of a runtime of tokio's, [`ThreadTimer`] |
/// | any other | [`ThreadTimer`] |
///
/// So a test that pauses tokio's time gives its limiters a `TokioClock`, and the code that waits for them
/// stays as it is. A [`Reservation`](crate::wait::Reservation) may be given it too, and sleeps on the timeline of its limiter's
/// clock. [`Timer::sleep`] itself knows no clock, and sleeps as [`ThreadTimer`] does.
///
/// # Panics
///
/// A sleep for a limiter on a `TokioClock` panics where tokio's own does: in a runtime of tokio's whose time is not enabled,
/// and on a thread that is in a runtime after that was shut down. (Tasks of the runtime are dropped then, and leave their
/// lines.)
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # {
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::clock::TokioClock;
/// use sluicegate::wait::AcquireError;
///
/// async fn work(limiter: &impl Wait) -> Result<(), AcquireError> {
///     limiter.acquire(1).await?;
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let bucket = TokenBucket::with_clock(quota!(1 / hour), TokioClock::new());
/// // Two hours pass at once.
/// for _ in 0..3 {
///     work(&bucket).await.unwrap();
/// }
/// # }
/// # main();
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockTimer;

/// A sleep of [`ClockTimer`]. Dropping it ends it.
#[must_use = "a future does nothing unless it is polled"]
pub struct ClockSleep(Sleep);

enum Sleep {
    System(ThreadSleep),
    #[cfg(feature = "tokio")]
    Tokio(Pin<Box<TokioSleep>>),
}

impl Timer for ClockTimer {
    type Sleep = ClockSleep;

    fn sleep(&self, duration: Duration) -> ClockSleep {
        self.sleep_on(Timeline::System, duration)
    }

    fn sleep_on(&self, timeline: Timeline, duration: Duration) -> ClockSleep {
        ClockSleep(match timeline {
            Timeline::System => Sleep::System(ThreadTimer.sleep(duration)),
            // Outside of a runtime nobody has paused tokio's time.
            #[cfg(feature = "tokio")]
            Timeline::Tokio if Handle::try_current().is_err() => {
                Sleep::System(ThreadTimer.sleep(duration))
            }
            #[cfg(feature = "tokio")]
            Timeline::Tokio => Sleep::Tokio(Box::pin(TokioTimer.sleep(duration))),
        })
    }
}

impl Future for ClockSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Sleep::System(sleep) => Pin::new(sleep).poll(context),
            #[cfg(feature = "tokio")]
            Sleep::Tokio(sleep) => sleep.as_mut().poll(context),
        }
    }
}

impl fmt::Debug for ClockSleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClockSleep").finish_non_exhaustive()
    }
}
