//! Tokio's timer.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use tokio::task::coop::{Unconstrained, unconstrained};

use super::Timer;

/// Tokio's timer: for tasks of a tokio runtime with its time enabled.
///
/// `tokio::time::pause` stops it. The limiter then needs a [`TokioClock`](crate::clock::TokioClock), which stops too,
/// and whose waits sleep by this timer unless another is named: by another clock no time would pass for the limiter, and
/// a caller would sleep again and again. A sleep does not allocate. It takes no part in tokio's budget of a task, so a
/// task whose other parts use the budget up is woken all the same.
///
/// # Panics
///
/// [`sleep`](Timer::sleep) panics outside of a tokio runtime, and a sleep on a thread that is in a runtime after that was
/// shut down, as tokio's own do.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::wait::{Timer, TokioTimer};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// // The time is paused: an hour passes at once.
/// TokioTimer.sleep(Duration::from_secs(3_600)).await;
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

impl Timer for TokioTimer {
    type Sleep = TokioSleep;

    fn sleep(&self, duration: Duration) -> TokioSleep {
        TokioSleep { sleep: unconstrained(tokio::time::sleep(duration)) }
    }
}

pin_project! {
    /// A sleep of [`TokioTimer`]. Dropping it ends it.
    #[must_use = "a future does nothing unless it is polled"]
    pub struct TokioSleep {
        #[pin]
        sleep: Unconstrained<tokio::time::Sleep>,
    }
}

impl Future for TokioSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().sleep.poll(context)
    }
}

impl fmt::Debug for TokioSleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokioSleep").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::future::poll_fn;
    use core::pin::pin;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sleep_takes_as_long_as_it_says_in_paused_time() {
        for millis in [0, 1, 999, 86_400_000] {
            let began = tokio::time::Instant::now();
            TokioTimer.sleep(Duration::from_millis(millis)).await;
            assert_eq!(began.elapsed(), Duration::from_millis(millis));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleep_that_is_over_ends_in_a_task_whose_budget_is_used_up() {
        let mut sleep = pin!(TokioTimer.sleep(Duration::from_millis(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        let is_over = poll_fn(|context| {
            // The budget is a few hundred at most.
            for _ in 0..10_000 {
                let _ = pin!(tokio::task::consume_budget()).poll(context);
            }
            Poll::Ready(sleep.as_mut().poll(context).is_ready())
        });
        assert!(is_over.await);
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_sleep_there_is_goes_on() {
        let mut sleep = pin!(TokioTimer.sleep(Duration::MAX));
        let polled = poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context)));
        assert_eq!(polled.await, Poll::Pending);
    }
}
