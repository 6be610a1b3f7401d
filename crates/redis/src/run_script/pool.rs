//! Scripts run by a pool of connections, one for each thread that waits.

use super::{Run, RunScriptBlocking, is_unknown};
use crate::error::StoreError;

/// Runs scripts on a pool of connections of the crate `redis`, for callers on threads.
///
/// A caller takes a connection for one request, and waits if all are taken, up to the pool's time-out. The time-outs
/// of reading and writing are settings of the connections.
#[derive(Clone, Debug)]
pub struct Pool {
    pool: r2d2::Pool<redis::Client>,
}

impl Pool {
    /// Creates a runner on `pool`.
    #[must_use]
    pub fn new(pool: r2d2::Pool<redis::Client>) -> Pool {
        Pool { pool }
    }
}

impl RunScriptBlocking for Pool {
    fn run_blocking(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let mut connection =
            self.pool.get().map_err(|error| StoreError::Unreachable(Box::new(error)))?;
        match run.by_digest().query(&mut connection) {
            Err(error) if is_unknown(&error) => Ok(run.by_source().query(&mut connection)?),
            answer => Ok(answer?),
        }
    }
}
