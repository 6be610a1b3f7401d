//! The playground of a server.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use sluicegate::{ConfigError, KeyTable, Quota, quota};
use sluicegate_http::client_address::ClientAddress;
use sluicegate_http::layer::{Limit, RateLimitLayer};

use crate::routes;
use crate::shared::Shared;
use crate::wire::Offer;
use crate::work_time::WorkTime;

/// Bounds of a [`Playground`].
#[derive(Clone, Debug)]
pub struct PlaygroundOptions {
    /// Most sessions at a time. A new one ends the one that has been without a page for longest; if all have
    /// one, it is refused with 503.
    pub sessions: usize,
    /// Requests of each client: more are refused with 429, by the layer of `sluicegate-http`.
    pub requests: Quota,
    /// Clients whose requests are counted. If there are more, the least busy may share.
    pub clients: usize,
    /// Time by the clock that the work for all sessions may take in each second. If they want more, their clocks go slower, and
    /// requests to send are refused with 503.
    pub work_time: Duration,
    /// The way in which the address of a client is found.
    pub addresses: ClientAddress,
}

impl Default for PlaygroundOptions {
    /// 256 sessions; 100 requests a second for each client, and 500 at once, for 10,000 clients, by the address
    /// of the connection; work for half of the time.
    fn default() -> PlaygroundOptions {
        PlaygroundOptions {
            sessions: 256,
            requests: quota!(100 / second, burst 500),
            clients: 10_000,
            work_time: Duration::from_millis(500),
            addresses: ClientAddress::of_peer(),
        }
    }
}

/// A page on which limiters can be tried, and the sessions of those who do. A clone is the same playground.
#[derive(Clone)]
pub struct Playground {
    shared: Arc<Shared>,
}

impl Playground {
    /// Returns a playground without sessions.
    ///
    /// # Errors
    ///
    /// Those of a [`KeyTable`], for a number of clients, or for requests, that it cannot have; and those of a
    /// [`Rate`](sluicegate::Rate), for a `work_time` of no time.
    pub fn new(options: PlaygroundOptions) -> Result<Playground, ConfigError> {
        Playground::with_offer(options, Offer::default)
    }

    /// Returns a playground whose page also offers the limiters of a policy. `offer` is called whenever a page asks for
    /// them; sessions get copies, on their own clock.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Playground::new).
    pub fn with_offer(
        options: PlaygroundOptions,
        offer: impl Fn() -> Offer + Send + Sync + 'static,
    ) -> Result<Playground, ConfigError> {
        let PlaygroundOptions { sessions, requests, clients, work_time, addresses } = options;
        let table = KeyTable::with_keys(requests, clients)?;
        let limit = Limit::per_client(table).addresses(addresses).policy(requests.into());
        let layer = RateLimitLayer::new(limit);
        let shared = Shared::new(sessions, WorkTime::new(work_time)?, layer, Box::new(offer));
        Ok(Playground { shared: Arc::new(shared) })
    }

    /// Returns the routes: the page at `/`, and what it asks for below `/playground/`.
    ///
    /// The server has to run on tokio, and to provide axum's `ConnectInfo`, which has the address of a client.
    /// A handler holds a lock of its session for the time of up to 1,000 events, some milliseconds at most.
    pub fn routes(&self) -> Router {
        routes::routes(Arc::clone(&self.shared))
    }

    /// Returns the number of sessions.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.sessions.len(Instant::now())
    }

    /// Ends all sessions and their event streams, for the end of a server: it would wait for them.
    pub fn close(&self) {
        self.shared.closed.send_replace(true);
        self.shared.sessions.clear();
    }
}

impl fmt::Debug for Playground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Playground").field("sessions", &self.sessions()).finish_non_exhaustive()
    }
}
