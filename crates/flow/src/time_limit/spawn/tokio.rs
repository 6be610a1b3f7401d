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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use sluicegate::wait::TokioTimer;

    use crate::time_limit::{OnTimeout, TimeLimit, TimeLimiter};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_operation_goes_on_in_the_runtime_and_may_use_its_timer() {
        let limiter = TimeLimiter::builder("tokio")
            .limit(TimeLimit::default().with_on_timeout(OnTimeout::LetFinish))
            .timer(TokioTimer)
            .spawner(Handle::current())
            .build();
        let (sender, late) = mpsc::channel();
        let operation = async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            42
        };
        let call = limiter.execute(operation).on_late(move |end| sender.send(end).unwrap());
        assert!(call.await.is_err());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(late.try_recv(), Ok(42));
    }

    #[test]
    fn a_closure_runs_on_a_thread_of_the_runtime() {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).thread_name("of the runtime").build().unwrap();
        let limiter = TimeLimiter::builder("tokio").spawner(runtime.handle().clone()).build();
        let name = limiter.run(|_| thread::current().name().map(str::to_owned));
        assert_eq!(name, Ok(Some("of the runtime".to_owned())));
    }
}
