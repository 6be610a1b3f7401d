//! Scripts run on the primary that sentinels name.

use std::fmt;
use std::sync::Arc;

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use redis::sentinel::SentinelClient;
use tokio::sync::Mutex;

use super::{Run, RunScript, is_unknown};
use crate::error::StoreError;

/// Runs scripts on the primary that sentinels name, and asks them again when it fails or is one no more.
///
/// A connection of the crate `redis` stays with the server that was the primary when it was made. This one is
/// dropped after a failure, and the next request asks the sentinels. Requests that come while it does wait for it.
#[derive(Clone)]
pub struct Sentinels {
    shared: Arc<Shared>,
}

struct Shared {
    config: AsyncConnectionConfig,
    state: Mutex<State>,
}

struct State {
    client: SentinelClient,
    primary: Option<MultiplexedConnection>,
    /// Number of the connection.
    number: u64,
}

impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinels").finish_non_exhaustive()
    }
}

impl Sentinels {
    /// Creates a runner by `client`, which asks for the primary; its connections have the time-outs of `config`. Sends
    /// nothing.
    #[must_use]
    pub fn new(client: SentinelClient, config: AsyncConnectionConfig) -> Sentinels {
        let state = Mutex::new(State { client, primary: None, number: 0 });
        Sentinels { shared: Arc::new(Shared { config, state }) }
    }

    /// Returns the connection to the primary, and its number.
    async fn primary(&self) -> Result<(MultiplexedConnection, u64), StoreError> {
        let mut state = self.shared.state.lock().await;
        if let Some(primary) = &state.primary {
            return Ok((primary.clone(), state.number));
        }
        let connected = state.client.get_async_connection_with_config(&self.shared.config).await;
        // Nothing was sent to it yet.
        let primary = connected.map_err(|error| StoreError::Unreachable(Box::new(error)))?;
        state.primary = Some(primary.clone());
        state.number += 1;
        Ok((primary, state.number))
    }

    /// Drops the connection of that number, unless there is another one by now.
    async fn drop_primary(&self, number: u64) {
        let mut state = self.shared.state.lock().await;
        if state.number == number {
            state.primary = None;
        }
    }
}

impl RunScript for Sentinels {
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let (mut primary, number) = self.primary().await?;
        let answer = match run.by_digest().query_async(&mut primary).await {
            Err(error) if is_unknown(&error) => run.by_source().query_async(&mut primary).await,
            answer => answer,
        };
        match answer.map_err(StoreError::from) {
            Err(error) if error.is_of_server() => {
                self.drop_primary(number).await;
                Err(error)
            }
            answer => answer,
        }
    }
}
