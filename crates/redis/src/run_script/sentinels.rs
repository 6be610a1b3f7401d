//! Scripts run on the primary that sentinels name.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use redis::sentinel::SentinelClient;
use tokio::sync::Mutex;

use super::{Run, RunScript, is_unknown};
use crate::error::StoreError;

/// Requests in a row that were given up before there was an answer, after which the sentinels are asked again.
const MAX_GIVEN_UP: u32 = 3;

/// Runs scripts on the primary that sentinels name, and asks them again when it fails or is one no more.
///
/// A connection of the crate `redis` stays with the server that was the primary when it was made. This one is
/// dropped after a failure, or when three requests in a row were given up, as a [`Guarded`](crate::Guarded) does at its time
/// limit; and the next request asks the sentinels. Requests that come while it does wait for it.
#[derive(Clone)]
pub struct Sentinels {
    shared: Arc<Shared>,
}

struct Shared {
    config: AsyncConnectionConfig,
    state: Mutex<State>,
    /// Requests in a row that were given up.
    given_up: AtomicU32,
}

/// A request without an answer, which was given up if it is dropped.
struct Unanswered<'a>(&'a Shared);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.given_up.fetch_add(1, Relaxed);
    }
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
        let given_up = AtomicU32::new(0);
        Sentinels { shared: Arc::new(Shared { config, state, given_up }) }
    }

    /// Returns the connection to the primary, and its number.
    async fn primary(&self) -> Result<(MultiplexedConnection, u64), StoreError> {
        let mut state = self.shared.state.lock().await;
        if let Some(primary) = &state.primary
            && self.shared.given_up.load(Relaxed) < MAX_GIVEN_UP
        {
            return Ok((primary.clone(), state.number));
        }
        state.primary = None;
        let connected = state.client.get_async_connection_with_config(&self.shared.config).await;
        // Nothing was sent to it yet.
        let primary = connected.map_err(|error| StoreError::Unreachable(Box::new(error)))?;
        self.shared.given_up.store(0, Relaxed);
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
        let unanswered = Unanswered(&self.shared);
        let answer = match run.by_digest().query_async(&mut primary).await {
            Err(error) if is_unknown(&error) => run.by_source().query_async(&mut primary).await,
            answer => answer,
        };
        std::mem::forget(unanswered);
        self.shared.given_up.store(0, Relaxed);
        match answer.map_err(StoreError::from) {
            Err(error) if error.is_of_server() => {
                self.drop_primary(number).await;
                Err(error)
            }
            answer => answer,
        }
    }
}
