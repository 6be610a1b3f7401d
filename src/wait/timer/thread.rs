//! The timer for any executor.

use core::fmt;
use core::future::Future;
use core::num::NonZeroU64;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use super::Timer;

mod alarms;
mod keeper;
mod slack;

use self::alarms::Alarm;
use self::keeper::{Keeper, now_nanos};

/// A timer for any executor. One thread of the process, started by the first sleep that is polled,
/// keeps all sleeps of this kind.
///
/// It measures the real time, to the nanosecond: how late a task wakes up depends on the system
/// alone. On Linux the thread asks not to be delayed to save power (a timer slack of 1 ns). For
/// tests in which no time passes take a `TokioClock` for the limiter, or a timer of your own.
///
/// A child of `fork` has a thread of its own, and sleeps that began before go on there when they are
/// polled.
///
/// If the system refuses to start the thread, a task that sleeps is polled all the time instead.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::wait::{ThreadTimer, Timer};
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

/// A sleep of [`ThreadTimer`]. Dropping it ends it.
///
/// All sleeps of a process stand in one list, in the order of their ends; each takes some 60 bytes of it.
/// A sleep takes the list's lock when it is polled before its end, and when it is dropped. It reads the
/// system's clock when it is made and whenever it is polled.
#[must_use = "a future does nothing unless it is polled"]
pub struct ThreadSleep {
    /// Not 0, so that an `Option` of a sleep takes no more memory. The last one is never.
    end_nanos: NonZeroU64,
    /// Its number among all sleeps, once it has begun.
    id: Option<NonZeroU64>,
}

impl ThreadSleep {
    fn alarm(&self) -> Option<Alarm> {
        self.id.map(|id| Alarm { end_nanos: self.end_nanos.get(), id })
    }
}

impl Timer for ThreadTimer {
    type Sleep = ThreadSleep;

    fn sleep(&self, duration: Duration) -> ThreadSleep {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let end_nanos = NonZeroU64::MIN.saturating_add(now_nanos()).saturating_add(nanos);
        ThreadSleep { end_nanos, id: None }
    }
}

impl Future for ThreadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let end_nanos = self.end_nanos.get();
        if end_nanos == u64::MAX {
            return Poll::Pending;
        }
        if end_nanos <= now_nanos() {
            return Poll::Ready(());
        }
        let keeper = Keeper::here();
        if let Some(alarm) = self.alarm() {
            if keeper.renew(alarm, context.waker().clone()) {
                return Poll::Pending;
            }
            // Its end has come in this very moment; or it began before a `fork`.
            if end_nanos <= now_nanos() {
                return Poll::Ready(());
            }
        }
        match keeper.begin(end_nanos, context.waker().clone()) {
            Some(alarm) => self.id = Some(alarm.id),
            None => context.waker().wake_by_ref(),
        }
        Poll::Pending
    }
}

impl Drop for ThreadSleep {
    fn drop(&mut self) {
        if let Some(alarm) = self.alarm() {
            Keeper::here().cancel(alarm);
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
    use std::thread;
    use std::time::Instant;

    use crate::wait::thread_waker::thread_waker;

    use super::*;

    fn block_on<F: Future>(future: F) -> F::Output {
        let mut future = pin!(future);
        let waker = thread_waker();
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }

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

    #[test]
    fn a_sleep_that_another_task_polls_wakes_that_one() {
        let mut sleep = pin!(ThreadTimer.sleep(Duration::from_millis(20)));
        assert_eq!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
        block_on(sleep);
    }

    #[test]
    fn many_sleeps_that_end_together_wake_all() {
        let end = Instant::now() + Duration::from_millis(20);
        let sleepers: Vec<_> = (0..200)
            .map(|_| ThreadTimer.sleep(end.saturating_duration_since(Instant::now())))
            .map(|sleep| thread::spawn(|| block_on(sleep)))
            .collect();
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    }

    #[test]
    fn a_waker_that_panics_holds_up_no_others() {
        struct Panics;
        impl alloc::task::Wake for Panics {
            fn wake(self: alloc::sync::Arc<Self>) {
                panic!("as the test wants");
            }
        }
        let waker = Waker::from(alloc::sync::Arc::new(Panics));
        let mut first = pin!(ThreadTimer.sleep(Duration::from_millis(5)));
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        block_on(ThreadTimer.sleep(Duration::from_millis(10)));
        assert_eq!(poll(&mut ThreadTimer.sleep(Duration::ZERO)), Poll::Ready(()));
    }

    #[test]
    fn a_sleep_that_may_be_there_takes_two_words() {
        assert_eq!(size_of::<Option<ThreadSleep>>(), 16);
    }
}
