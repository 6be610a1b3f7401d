//! Scripts run on the primary that sentinels name.

use redis::aio::MultiplexedConnection;
use redis::sentinel::SentinelClient;
use redis::{AsyncConnectionConfig, RedisResult};

use super::link::{Connect, Link, Make};
use super::tokio::first_answer;
use super::{Run, RunScript};
use crate::error::StoreError;

/// Runs scripts on the primary that sentinels name. A clone shares its connection.
///
/// The connection is made and replaced as one of [`Async`](crate::Async), and the sentinels are asked for the primary
/// each time. So a primary that hangs, or that is a replica by now, is left for the new one.
///
/// # Cancel safety
///
/// The same as for [`Async`](crate::Async).
#[derive(Clone, Debug)]
pub struct Sentinels {
    link: Link<Named>,
}

struct Named {
    make: Make<SentinelClient>,
    config: AsyncConnectionConfig,
}

impl Sentinels {
    /// Creates a runner by the clients that `make` returns, one for each attempt to connect, which asks for the primary; its
    /// connections have the time-outs of `config`. Sends nothing.
    #[must_use]
    pub fn by(
        make: impl Fn() -> RedisResult<SentinelClient> + Send + Sync + 'static,
        config: AsyncConnectionConfig,
    ) -> Sentinels {
        Sentinels { link: Link::new(Named { make: Box::new(make), config }) }
    }
}

impl Connect for Named {
    type Connection = MultiplexedConnection;
    const PARTS: usize = 1;

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let mut client = (self.make)()?;
        first_answer(client.get_async_connection_with_config(&self.config).await?).await
    }
}

impl RunScript for Sentinels {
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        self.link.run(run).await
    }
}
