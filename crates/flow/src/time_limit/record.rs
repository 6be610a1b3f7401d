//! The part of a limiter that outlives its calls: its name, its counts, and its spawner.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::counts::{CallCounts, EventCounters};
use super::events::{CallEvent, ObserveCalls};
use super::spawn::{Spawn, SpawnedJob, SpawnedTask};

/// The part of a limiter that its calls share, and that operations keep when they go on alone.
pub(super) struct CallRecord {
    name: Arc<str>,
    spawner: Arc<dyn Spawn>,
    observer: Option<Arc<dyn ObserveCalls>>,
    counters: EventCounters,
}

impl CallRecord {
    pub(super) fn new(
        name: String,
        spawner: Arc<dyn Spawn>,
        observer: Option<Arc<dyn ObserveCalls>>,
    ) -> CallRecord {
        CallRecord { name: name.into(), spawner, observer, counters: EventCounters::new() }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn counts(&self) -> CallCounts {
        self.counters.counts()
    }

    /// Counts an event, and tells it to the observer.
    pub(super) fn note(&self, event: CallEvent) {
        self.counters.add(event);
        if let Some(observer) = &self.observer {
            observer.ended(&self.name, event);
        }
    }

    /// Runs `task` elsewhere.
    pub(super) fn spawn(&self, task: SpawnedTask) {
        // May be called in a destructor, where a second panic would end the process. A task that
        // is dropped notes by itself that it is lost.
        let _ = catch_unwind(AssertUnwindSafe(|| self.spawner.spawn(task)));
    }

    /// Runs `job` on another thread.
    pub(super) fn spawn_blocking(&self, job: SpawnedJob) {
        // A job that is dropped tells its caller.
        let _ = catch_unwind(AssertUnwindSafe(|| self.spawner.spawn_blocking(job)));
    }
}

impl fmt::Debug for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRecord")
            .field("name", &self.name)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
