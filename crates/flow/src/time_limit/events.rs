//! Events of the calls of a time limiter.

use std::sync::Arc;

/// The end of a call, or that of an operation which its caller no longer waits for.
///
/// A call that has begun has exactly one of the first four, once it has ended. An operation that
/// went on without its caller has one of the others besides, once it has ended too. That comes
/// second, unless a closure ends on its thread at the very time at which its caller gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallEvent {
    /// The operation ended in time.
    #[doc(alias = "TimeLimiterOnSuccessEvent")]
    Succeeded,
    /// The operation ended in time, with an error where errors count (`try_execute`, `try_run`) or
    /// with a panic; or it could not be started.
    #[doc(alias = "TimeLimiterOnErrorEvent")]
    Failed,
    /// The operation took too long.
    #[doc(alias = "TimeLimiterOnTimeoutEvent")]
    TimedOut,
    /// The caller dropped the future of the call before it had ended.
    Dropped,
    /// The operation ended after its caller had gone.
    FinishedLate,
    /// The operation ended after its caller had gone, with an error where errors count or with a
    /// panic.
    FailedLate,
    /// The operation was to go on without its caller, and was dropped before its end: it could not
    /// be run elsewhere, or its runtime was shut down.
    Lost,
}

/// An observer of the calls of time limiters: to log, or to feed metrics.
///
/// It is called by the thread that learns of the event, without a lock, so its time adds to that of
/// the call. It should not block, and must not panic: some events are told in destructors.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use sluicegate_flow::time_limit::{CallEvent, ObserveCalls, TimeLimit, TimeLimiter};
///
/// #[derive(Default)]
/// struct Events(Mutex<Vec<(String, CallEvent)>>);
///
/// impl ObserveCalls for Events {
///     fn ended(&self, limiter: &str, event: CallEvent) {
///         self.0.lock().unwrap().push((limiter.to_owned(), event));
///     }
/// }
///
/// let events = Arc::new(Events::default());
/// let limiter = TimeLimiter::builder("search").observer(Arc::clone(&events)).build();
/// assert_eq!(limiter.run(|_| 6 * 7).unwrap(), 42);
/// assert_eq!(*events.0.lock().unwrap(), [("search".to_owned(), CallEvent::Succeeded)]);
/// ```
#[doc(alias = "EventPublisher")]
pub trait ObserveCalls: Send + Sync {
    /// Notes an event of the limiter with this name, once it is in the limiter's counts.
    fn ended(&self, limiter: &str, event: CallEvent);
}

/// Tells the observer behind a pointer.
macro_rules! through {
    ($Pointer:ty) => {
        impl<O: ObserveCalls + ?Sized> ObserveCalls for $Pointer {
            fn ended(&self, limiter: &str, event: CallEvent) {
                (**self).ended(limiter, event);
            }
        }
    };
}

through!(&O);
through!(Box<O>);
through!(Arc<O>);

/// Tells both, the first one first.
impl<A: ObserveCalls, B: ObserveCalls> ObserveCalls for (A, B) {
    fn ended(&self, limiter: &str, event: CallEvent) {
        self.0.ended(limiter, event);
        self.1.ended(limiter, event);
    }
}
