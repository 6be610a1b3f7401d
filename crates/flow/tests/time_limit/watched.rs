//! Operations and events that a test can watch.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluicegate_flow::time_limit::{CallEvent, ObserveCalls, OnTimeout, TimeLimit, TimeLimiter};

use sluicegate::wait::TokioTimer;

/// Events in the order in which they were told.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<CallEvent>>>);

impl Events {
    pub(crate) fn all(&self) -> Vec<CallEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ObserveCalls for Events {
    fn ended(&self, limiter: &str, event: CallEvent) {
        assert_eq!(limiter, NAME);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

pub(crate) const NAME: &str = "watched";

/// A hundred milliseconds.
pub(crate) fn limit(on_timeout: OnTimeout) -> TimeLimit {
    TimeLimit::new(millis(100)).unwrap().with_on_timeout(on_timeout)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A limiter in paused time that lets operations finish as tasks of tokio.
pub(crate) fn limiter(on_timeout: OnTimeout) -> (TimeLimiter<TokioTimer>, Events) {
    let events = Events::default();
    let limiter = TimeLimiter::builder(NAME)
        .limit(limit(on_timeout))
        .timer(TokioTimer)
        .spawner(|task| drop(tokio::spawn(task)))
        .observer(events.clone())
        .build();
    (limiter, events)
}

/// Says when it is dropped.
pub(crate) struct Dropped(pub(crate) Arc<Mutex<bool>>);

impl Dropped {
    pub(crate) fn new() -> (Dropped, Arc<Mutex<bool>>) {
        let is_dropped = Arc::new(Mutex::new(false));
        (Dropped(Arc::clone(&is_dropped)), is_dropped)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}
