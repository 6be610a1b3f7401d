//! The timer for any executor.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::time::Instant;

use futures_timer::Delay;

use super::Timer;

/// A timer for any executor. One thread of the process, started by the first sleep that is polled,
/// keeps all sleeps of this kind; it is the one of the crate
/// [`futures-timer`](https://docs.rs/futures-timer).
///
/// It measures the real time. For tests in which no time passes take `TokioTimer`, or a timer of
/// your own.
///
/// # Panics
///
/// A sleep panics when it is polled if the system refuses to start the thread.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ThreadTimer, Timer};
///
/// async fn after_a_pause() -> u32 {
///     ThreadTimer.sleep(Duration::from_millis(5)).await;
///     42
/// }
/// # assert_eq!(futures_executor::block_on(after_a_pause()), 42);
/// # mod futures_executor {
/// #     use std::{future::Future, pin::pin, sync::Arc, task::*, thread};
/// #     struct Unpark(thread::Thread);
/// #     impl Wake for Unpark { fn wake(self: Arc<Self>) { self.0.unpark() } }
/// #     pub fn block_on<F: Future>(future: F) -> F::Output {
/// #         let waker = Waker::from(Arc::new(Unpark(thread::current())));
/// #         let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
/// #         loop {
/// #             if let Poll::Ready(end) = future.as_mut().poll(&mut context) { return end }
/// #             thread::park();
/// #         }
/// #     }
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadTimer;

/// A sleep of [`ThreadTimer`].
///
/// Costs a reading of the system's clock until it is polled, and then an allocation and a message
/// to the thread. Dropping it ends it.
#[must_use = "a future does nothing unless it is polled"]
pub struct ThreadSleep(Sleep);

enum Sleep {
    /// Not polled yet; `None` is beyond the end of the clock.
    Until(Option<Instant>),
    Begun(Delay),
}

impl Timer for ThreadTimer {
    type Sleep = ThreadSleep;

    fn sleep(&self, duration: Duration) -> ThreadSleep {
        ThreadSleep(Sleep::Until(Instant::now().checked_add(duration)))
    }
}

impl Future for ThreadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.0 {
                Sleep::Until(None) => return Poll::Pending,
                Sleep::Until(Some(end)) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Poll::Ready(());
                    }
                    self.0 = Sleep::Begun(Delay::new(left));
                }
                Sleep::Begun(delay) => return Pin::new(delay).poll(context),
            }
        }
    }
}

impl fmt::Debug for ThreadSleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadSleep").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::pin::pin;
    use core::task::Waker;

    use crate::wait::block_on::block_on;

    use super::*;

    fn poll(sleep: &mut ThreadSleep) -> Poll<()> {
        Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_sleep_wakes_a_thread_that_has_parked() {
        block_on(ThreadTimer.sleep(Duration::from_millis(20)));
    }

    #[test]
    fn sleeps_end_in_the_order_of_their_instants() {
        let late = &mut ThreadTimer.sleep(Duration::from_secs(3_600));
        let soon = &mut pin!(ThreadTimer.sleep(Duration::from_millis(5)));
        let first = block_on(core::future::poll_fn(|context| {
            if Pin::new(&mut *late).poll(context).is_ready() {
                return Poll::Ready("late");
            }
            soon.as_mut().poll(context).map(|()| "soon")
        }));
        assert_eq!(first, "soon");
    }

    #[test]
    fn a_sleep_of_no_time_is_over_when_it_is_first_polled() {
        assert_eq!(poll(&mut ThreadTimer.sleep(Duration::ZERO)), Poll::Ready(()));
    }

    #[test]
    fn the_longest_sleep_there_is_goes_on() {
        assert_eq!(poll(&mut ThreadTimer.sleep(Duration::MAX)), Poll::Pending);
    }
}
