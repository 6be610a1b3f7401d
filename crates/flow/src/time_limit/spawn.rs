//! Places to run operations away from their callers.

use std::pin::Pin;
use std::thread;

use crate::block_on::block_on;

#[cfg(feature = "tokio")]
mod tokio;

/// An operation that is to finish without its caller.
pub type SpawnedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A closure that is to run on a thread where it may block.
pub type SpawnedJob = Box<dyn FnOnce() + Send>;

/// A place to run operations away from their callers: a runtime, or a pool of threads.
///
/// [`ThreadSpawner`] is the default. A closure over tasks is a spawner whose closures run on
/// threads of their own; with the feature `tokio`, so is `tokio::runtime::Handle`, for both.
///
/// A task or a job that cannot be run is to be dropped. Its limiter notices: a task counts as
/// [lost](crate::time_limit::CallEvent::Lost), the caller of a job gets
/// [`CallError::NotRun`](crate::time_limit::CallError::NotRun). A panic of a spawner is caught and means the
/// same.
///
/// # Examples
///
/// ```
/// use std::sync::{Mutex, mpsc};
/// use sluicegate_flow::time_limit::{Spawn, SpawnedJob, SpawnedTask, ThreadSpawner, TimeLimiter};
///
/// /// Blocking operations run on one thread, one after the other.
/// struct OneThread(mpsc::Sender<SpawnedJob>);
///
/// impl Spawn for OneThread {
///     fn spawn(&self, task: SpawnedTask) {
///         ThreadSpawner.spawn(task);
///     }
///
///     fn spawn_blocking(&self, job: SpawnedJob) {
///         let _ = self.0.send(job);
///     }
/// }
///
/// let (sender, jobs) = mpsc::channel::<SpawnedJob>();
/// std::thread::spawn(move || jobs.iter().for_each(|job| job()));
/// let limiter = TimeLimiter::builder("report").spawner(OneThread(sender)).build();
/// assert_eq!(limiter.run(|_| 42).unwrap(), 42);
/// ```
#[doc(alias = "ScheduledExecutorService")]
#[doc(alias = "ExecutorService")]
pub trait Spawn: Send + Sync {
    /// Runs `task` to its end, without making the caller wait. May be called in a destructor.
    fn spawn(&self, task: SpawnedTask);

    /// Runs `job` on a thread where it may block, without making the caller wait.
    ///
    /// The default is a thread of its own.
    fn spawn_blocking(&self, job: SpawnedJob) {
        ThreadSpawner.spawn_blocking(job);
    }
}

impl<F: Fn(SpawnedTask) + Send + Sync> Spawn for F {
    fn spawn(&self, task: SpawnedTask) {
        self(task);
    }
}

/// A thread of its own for each operation: needs no runtime.
///
/// Starting a thread takes tens of microseconds, hundreds on a busy machine, and its stack some
/// kilobytes. An operation that never ends keeps its thread for ever.
///
/// A task is polled outside of any runtime. One that starts a timer or opens a connection of a
/// runtime after its time-out needs a spawner of that runtime: tokio's own panic elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadSpawner;

impl Spawn for ThreadSpawner {
    fn spawn(&self, task: SpawnedTask) {
        self.spawn_blocking(Box::new(move || block_on(task)));
    }

    fn spawn_blocking(&self, job: SpawnedJob) {
        // If there is no thread to be had, the job is dropped, which its limiter notices.
        let _ = thread::Builder::new().name("sluicegate-call".into()).spawn(job);
    }
}
