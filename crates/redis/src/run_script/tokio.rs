//! Scripts run by the connections of the crate `redis` for tokio.

use redis::aio::ConnectionLike;

use super::{Run, RunScript, is_unknown};
use crate::error::StoreError;

/// Runs scripts on a connection of the crate `redis` that its clones share:
/// [`MultiplexedConnection`](redis::aio::MultiplexedConnection),
/// [`ConnectionManager`](redis::aio::ConnectionManager), which connects again when its connection breaks, or
/// `ClusterConnection`.
///
/// Callers' requests are sent one behind the other without waiting for the answers. A time-out is a setting of
/// the connection.
#[derive(Clone, Debug)]
pub struct Async<C> {
    connection: C,
}

impl<C: ConnectionLike + Clone + Send + Sync> Async<C> {
    /// Creates a runner on `connection`, of which it makes a clone for each request.
    pub fn new(connection: C) -> Async<C> {
        Async { connection }
    }
}

impl<C: ConnectionLike + Clone + Send + Sync> RunScript for Async<C> {
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let mut connection = self.connection.clone();
        match run.by_digest().query_async(&mut connection).await {
            Err(error) if is_unknown(&error) => {
                Ok(run.by_source().query_async(&mut connection).await?)
            }
            answer => Ok(answer?),
        }
    }
}
