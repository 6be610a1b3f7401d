//! Callers that go away while a request for them is on its way.

use std::sync::Arc;

use sluicegate::quota;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

use super::{hot, plain};
use crate::run_script::{Run, RunScript};
use crate::tests::server::Server;
use crate::{Async, KeySpace, LeasedLimiter, RedisLimit, RedisLimiter, StoreError};

/// A client whose requests wait, each until the gate is opened for one more.
#[derive(Clone)]
struct Gated {
    inner: Arc<Async>,
    gate: Arc<Semaphore>,
}

impl RunScript for Gated {
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        self.gate.acquire().await.expect("is never closed").forget();
        self.inner.run(run).await
    }
}

/// The permits of callers that have gone are the lease's, as far as they fit: no lease holds more than its share.
#[tokio::test]
async fn a_lease_does_not_grow_beyond_its_share_by_what_callers_left_behind() {
    let server = Server::start();
    let thousand = RedisLimit::token_bucket(quota!(1_000 / 1_000 days)).unwrap();
    let inner = Arc::new(plain(&server, thousand.clone()).runner().clone());
    let runner = Gated { inner, gate: Arc::new(Semaphore::new(0)) };
    let limiter = RedisLimiter::new(thousand, KeySpace::new("app").unwrap(), runner.clone());
    // Leases of 100.
    let limiter = LeasedLimiter::new(limiter, hot(2).share_percent(20).build().unwrap()).unwrap();
    let call = |permits| {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.try_acquire("ada", permits).await })
    };
    let first = call(100);
    yield_now().await;
    let others: Vec<_> = (0..5).map(|_| call(100)).collect();
    yield_now().await;
    runner.gate.add_permits(1);
    first.await.unwrap().unwrap();
    // The second request is for all of them, and they go.
    for other in &others {
        other.abort();
    }
    for other in others {
        assert!(other.await.is_err_and(|error| error.is_cancelled()));
    }
    let last = call(1);
    yield_now().await;
    runner.gate.add_permits(1);
    last.await.unwrap().unwrap();
    assert_eq!(limiter.counts().requests, 2);
    assert_eq!(limiter.held("ada"), Some(99));
}
