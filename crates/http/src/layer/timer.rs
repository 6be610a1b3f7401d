//! The timer of a layer, whatever its type.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::wait::Timer;

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A timer behind a pointer. A sleep allocates.
#[derive(Clone)]
pub(super) struct SharedTimer {
    timer: Arc<dyn Fn(Duration) -> Sleep + Send + Sync>,
}

impl SharedTimer {
    pub(super) fn new<T>(timer: T) -> SharedTimer
    where
        T: Timer<Sleep: Send + 'static> + Send + Sync + 'static,
    {
        SharedTimer { timer: Arc::new(move |duration| Box::pin(timer.sleep(duration))) }
    }
}

impl Timer for SharedTimer {
    type Sleep = Sleep;

    fn sleep(&self, duration: Duration) -> Sleep {
        (self.timer)(duration)
    }
}

impl fmt::Debug for SharedTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTimer").finish_non_exhaustive()
    }
}
