//! Tokio's runtime as a spawner.

use tokio::runtime::Handle;

use super::{Spawn, SpawnedJob, SpawnedTask};

/// Runs tasks on the runtime, and blocking operations on its threads for those.
///
/// `Handle::current()` is the handle of the runtime that the caller runs on.
impl Spawn for Handle {
    fn spawn(&self, task: SpawnedTask) {
        drop(Handle::spawn(self, task));
    }

    fn spawn_blocking(&self, job: SpawnedJob) {
        drop(Handle::spawn_blocking(self, job));
    }
}
