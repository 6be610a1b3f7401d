//! The state that a layer for clients shares with its services.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::bounds::Bounds;
use super::retries::Retries;
use super::servers::{Server, Servers};

type Key<Q> = Arc<dyn Fn(&Q) -> String + Send + Sync>;

/// The state that all clones share.
pub(super) struct Shared<Q> {
    pub(super) servers: Arc<Servers>,
    pub(super) key: Key<Q>,
    pub(super) options: Options,
    pub(super) max_wait: Duration,
    pub(super) deadline: Option<Duration>,
    pub(super) retries: Option<Retries<Q>>,
}

/// The options that decide how servers are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) bounds: Bounds,
    pub(super) max_servers: usize,
}

impl Options {
    pub(super) fn servers(self) -> Arc<Servers> {
        Arc::new(Servers::new(self.bounds, self.max_servers))
    }
}

impl<Q> Shared<Q> {
    /// Returns the server of a request.
    pub(super) fn server(&self, request: &Q) -> Arc<Server> {
        self.servers.get((self.key)(request), || Some(self.retries.as_ref()?.new_budget()))
    }
}

impl<Q> Clone for Shared<Q> {
    fn clone(&self) -> Shared<Q> {
        Shared {
            servers: Arc::clone(&self.servers),
            key: Arc::clone(&self.key),
            retries: self.retries.clone(),
            ..*self
        }
    }
}

impl<Q> fmt::Debug for Shared<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("options", &self.options)
            .field("max_wait", &self.max_wait)
            .field("deadline", &self.deadline)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}
