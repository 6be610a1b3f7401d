//! Configuration of a time limiter, with all that it needs besides its limit.

use std::fmt;
use std::sync::Arc;

use sluicegate::wait::ThreadTimer;

use crate::time_limit::events::ObserveCalls;
use crate::time_limit::limit::TimeLimit;
use crate::time_limit::record::CallRecord;
use crate::time_limit::spawn::Spawn;

use super::TimeLimiter;

/// Configuration of a [`TimeLimiter`].
///
/// | part | default | |
/// |---|---|---|
/// | [`limit`](TimeLimiterBuilder::limit) | 1000 ms, then cancelled | how long, and what then |
/// | [`timer`](TimeLimiterBuilder::timer) | [`ThreadTimer`] | what futures sleep on |
/// | [`spawner`](TimeLimiterBuilder::spawner) | [`ThreadSpawner`](crate::time_limit::ThreadSpawner) | where operations run without their callers |
/// | [`observer`](TimeLimiterBuilder::observer) | none | is told of each end |
#[must_use = "a builder builds nothing until it is told to"]
pub struct TimeLimiterBuilder<T = ThreadTimer> {
    pub(in crate::time_limit) name: String,
    pub(in crate::time_limit) limit: TimeLimit,
    pub(in crate::time_limit) timer: T,
    pub(in crate::time_limit) spawner: Arc<dyn Spawn>,
    pub(in crate::time_limit) observer: Option<Arc<dyn ObserveCalls>>,
}

impl<T> TimeLimiterBuilder<T> {
    /// Sets how long callers wait, and what becomes of the operation then.
    pub fn limit(self, limit: TimeLimit) -> TimeLimiterBuilder<T> {
        TimeLimiterBuilder { limit, ..self }
    }

    /// Sets the timer that futures sleep on.
    pub fn timer<U>(self, timer: U) -> TimeLimiterBuilder<U> {
        let TimeLimiterBuilder { name, limit, spawner, observer, .. } = self;
        TimeLimiterBuilder { name, limit, timer, spawner, observer }
    }

    /// Sets where futures go on that have timed out, and where closures run.
    pub fn spawner(mut self, spawner: impl Spawn + 'static) -> TimeLimiterBuilder<T> {
        self.spawner = Arc::new(spawner);
        self
    }

    /// Tells `observer` of the end of each call.
    pub fn observer(mut self, observer: impl ObserveCalls + 'static) -> TimeLimiterBuilder<T> {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Builds the limiter. Allocates.
    #[must_use]
    pub fn build(self) -> TimeLimiter<T> {
        let TimeLimiterBuilder { name, limit, timer, spawner, observer } = self;
        TimeLimiter { limit, timer, record: Arc::new(CallRecord::new(name, spawner, observer)) }
    }
}

impl<T> fmt::Debug for TimeLimiterBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeLimiterBuilder")
            .field("name", &self.name)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
