//! Scripts run by a pool of connections, one for each thread that waits.

use std::time::Duration;

use redis::{Client, RedisError, RedisResult};

use super::{Run, RunScriptBlocking, is_unknown};
use crate::error::StoreError;

/// Runs scripts on a pool of connections, for callers on threads.
///
/// A caller takes a connection for one request, and waits if all are taken, up to the pool's time-out. A connection
/// is left when a request on it fails: by the time limit of [`Connections`], or by an error that all requests
/// have to expect, such as `READONLY` after a failover behind the same address. The pool makes others in their place, after pauses that
/// double while it fails to.
#[derive(Clone, Debug)]
pub struct Pool {
    pool: r2d2::Pool<Connections>,
}

/// Makes the connections of a [`Pool`]: each request on one, and each attempt to make one, has a time limit.
///
/// # Examples
///
/// ```no_run
/// # fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use sluicegate_redis::{Connections, Pool};
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let connections = Connections::new(client, Duration::from_millis(250));
/// let pool = Pool::new(r2d2::Pool::builder().max_size(8).build(connections)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Connections {
    client: Client,
    time_limit: Duration,
}

/// A connection of a [`Pool`].
pub struct PooledConnection {
    connection: redis::Connection,
    /// Set if no more requests are to be sent on it.
    has_failed: bool,
}

impl Connections {
    /// Creates a maker of connections to the server of `client`. The time limit is at least 1 ms.
    #[must_use]
    pub fn new(client: Client, time_limit: Duration) -> Connections {
        Connections { client, time_limit: time_limit.max(Duration::from_millis(1)) }
    }
}

impl r2d2::ManageConnection for Connections {
    type Connection = PooledConnection;
    type Error = RedisError;

    fn connect(&self) -> RedisResult<PooledConnection> {
        let connection = self.client.get_connection_with_timeout(self.time_limit)?;
        connection.set_read_timeout(Some(self.time_limit))?;
        connection.set_write_timeout(Some(self.time_limit))?;
        Ok(PooledConnection { connection, has_failed: false })
    }

    fn is_valid(&self, pooled: &mut PooledConnection) -> RedisResult<()> {
        // An error is an answer, and requests will tell it.
        match redis::cmd("PING").exec(&mut pooled.connection) {
            Err(error) if error.code().is_none() => Err(error),
            _ => Ok(()),
        }
    }

    fn has_broken(&self, pooled: &mut PooledConnection) -> bool {
        pooled.has_failed || !redis::ConnectionLike::is_open(&pooled.connection)
    }
}

impl Pool {
    /// Creates a runner on `pool`.
    #[must_use]
    pub fn new(pool: r2d2::Pool<Connections>) -> Pool {
        Pool { pool }
    }
}

impl RunScriptBlocking for Pool {
    fn run_blocking(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let mut pooled =
            self.pool.get().map_err(|error| StoreError::Unreachable(Box::new(error)))?;
        let answer = match run.by_digest().query(&mut pooled.connection) {
            Err(error) if is_unknown(&error) => run.by_source().query(&mut pooled.connection),
            answer => answer,
        };
        let answer = answer.map_err(StoreError::from);
        pooled.has_failed = answer.as_ref().is_err_and(StoreError::is_of_server);
        answer
    }
}

impl std::fmt::Debug for PooledConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PooledConnection")
            .field("has_failed", &self.has_failed)
            .finish_non_exhaustive()
    }
}
