//! Scripts run on a server, by a connection of the crate `redis` for tokio.

use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, RedisResult};

use super::link::{Connect, Link, Make};
use super::{Run, RunScript, is_unknown};
use crate::error::StoreError;

/// The longest that the first answer of a connection takes which was just made.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Runs scripts on a server, by a connection that all callers share. A clone shares it too.
///
/// Requests are sent one behind the other without waiting for the answers.
///
/// The connection is made at the first request, on the runtime of that, and replaced when it ends; when a request was given up or
/// timed out, and nothing was answered since it was sent; and when the server answers by an error that all requests
/// have to expect, such as `READONLY` after a failover behind the same address. The first attempt comes at once if a connection
/// has ended and after 25 to 50 ms otherwise, and others after pauses that double up to 2 seconds, cut by up to a half at random.
///
/// # Cancel safety
///
/// If a future is dropped, the script may have been run, or may yet. A connection that is being made goes on.
#[derive(Clone, Debug)]
pub struct Async {
    link: Link<OneServer>,
}

struct OneServer {
    make: Make<Client>,
    config: AsyncConnectionConfig,
}

impl Async {
    /// Creates a runner on the server of `client`, with the time-outs of the crate `redis`: 1 second for a connection, 500
    /// ms for an answer. Sends nothing.
    #[must_use]
    pub fn new(client: Client) -> Async {
        Async::with_config(client, AsyncConnectionConfig::new())
    }

    /// Creates a runner on the server of `client` whose connections have the settings of `config`. Sends nothing.
    #[must_use]
    pub fn with_config(client: Client, config: AsyncConnectionConfig) -> Async {
        Async::by(move || Ok(client.clone()), config)
    }

    /// Creates a runner whose connections are those of the clients that `make` returns, one for each attempt to connect: for a
    /// password that changes.
    #[must_use]
    pub fn by(
        make: impl Fn() -> RedisResult<Client> + Send + Sync + 'static,
        config: AsyncConnectionConfig,
    ) -> Async {
        Async { link: Link::new(OneServer { make: Box::new(make), config }) }
    }
}

impl Connect for OneServer {
    type Connection = MultiplexedConnection;
    const PARTS: usize = 1;

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let client = (self.make)()?;
        first_answer(client.get_multiplexed_async_connection_with_config(&self.config).await?).await
    }
}

/// Returns a connection once the server has answered on it. An error is an answer, and requests will tell it.
pub(super) async fn first_answer(
    mut connection: MultiplexedConnection,
) -> RedisResult<MultiplexedConnection> {
    let ping = redis::cmd("PING");
    let answer = tokio::time::timeout(FIRST_ANSWER, ping.exec_async(&mut connection)).await;
    match answer.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
    {
        Err(error) if error.code().is_none() => Err(error),
        _ => Ok(connection),
    }
}

impl<C: Connect<Connection: ConnectionLike>> Link<C> {
    /// Runs a script on a connection of one part.
    pub(super) async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let sent = self.begin(0).await?;
        let mut connection = sent.connection();
        let answer = match run.by_digest().query_async(&mut connection).await {
            Err(error) if is_unknown(&error) => run.by_source().query_async(&mut connection).await,
            answer => answer,
        };
        sent.end(answer)
    }
}

impl RunScript for Async {
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        self.link.run(run).await
    }
}
