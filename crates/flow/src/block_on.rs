//! A future on a thread: for whoever has no runtime.

use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

/// A flag that a future is to be polled again. Not the parking of its thread: calls that block inside of
/// the future park it too, and would take the wake-up.
#[derive(Default)]
pub(crate) struct Signal {
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.is_woken() = true;
        self.woken.notify_one();
    }
}

impl Signal {
    fn is_woken(&self) -> MutexGuard<'_, bool> {
        self.is_woken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks until it is woken.
    pub(crate) fn wait(&self) {
        let mut is_woken = self.is_woken();
        while !std::mem::take(&mut *is_woken) {
            is_woken = self.woken.wait(is_woken).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks until it is woken, or until `end`. Returns false if it was not woken.
    pub(crate) fn wait_until(&self, end: Instant) -> bool {
        let mut is_woken = self.is_woken();
        while !std::mem::take(&mut *is_woken) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.woken.wait_timeout(is_woken, left);
            is_woken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// Runs `future` on the calling thread, to its end or until `end`, which is asked for if it has to
/// wait: `None` is for ever. Returns `None` if the time was over; the future is dropped then.
pub(crate) fn block_on_until<F: Future>(
    future: F,
    end: impl FnOnce() -> Option<Instant>,
) -> Option<F::Output> {
    let mut future = pin!(future);
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
        return Some(output);
    }
    let Some(end) = end() else { return Some(finish(future, &signal, &mut context)) };
    while signal.wait_until(end) {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
    }
    None
}

/// Runs `future` to its end on the calling thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    match future.as_mut().poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => finish(future, &signal, &mut context),
    }
}

/// Polls a future whenever it is woken.
fn finish<F: Future>(
    mut future: Pin<&mut F>,
    signal: &Signal,
    context: &mut Context<'_>,
) -> F::Output {
    loop {
        signal.wait();
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return output;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A future that blocks its thread when it is polled for the first time, is woken meanwhile, and is ready
    /// when it is polled again.
    fn blocks() -> impl Future<Output = ()> {
        let mut is_first = true;
        poll_fn(move |context| {
            if !std::mem::take(&mut is_first) {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            let waking = thread::spawn(move || waker.wake());
            waking.join().unwrap();
            // Takes a wake-up that is meant for the thread.
            thread::park_timeout(Duration::from_millis(5));
            Poll::Pending
        })
    }

    #[test]
    fn a_wake_up_is_not_lost_to_what_blocks_inside() {
        block_on(blocks());
        assert_eq!(block_on_until(blocks(), || None), Some(()));
    }

    #[test]
    fn a_future_is_given_up_at_its_end() {
        let end = || Some(Instant::now() + Duration::from_millis(5));
        assert_eq!(block_on_until(std::future::pending::<()>(), end), None);
        assert_eq!(block_on_until(std::future::ready(7), end), Some(7));
    }
}
