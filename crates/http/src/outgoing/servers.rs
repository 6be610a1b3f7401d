//! The servers that a client talks to, and what is known of each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::bounds::Bounds;
use super::retries::RetryBudget;
use super::server_limits::ServerLimits;

/// One server: its limits, and the retries of requests to it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) limits: ServerLimits,
    pub(super) budget: Option<RetryBudget>,
}

impl Server {
    /// Returns whether the budget has a retry left, and takes it.
    pub(super) fn may_retry(&self) -> bool {
        self.budget.as_ref().is_some_and(RetryBudget::take)
    }
}

/// All servers, at most so many besides those with requests on their way.
#[derive(Debug)]
pub(super) struct Servers {
    bounds: Bounds,
    most: usize,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    servers: HashMap<String, Entry>,
    /// The requests so far.
    requests: u64,
}

#[derive(Debug)]
struct Entry {
    server: Arc<Server>,
    last_request: u64,
}

impl Entry {
    /// Returns whether no request holds it.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.server) == 1
    }
}

impl Servers {
    pub(super) fn new(bounds: Bounds, most: usize) -> Servers {
        Servers { bounds, most, known: Mutex::default() }
    }

    /// Returns the server of a name. If it is new, and there are too many, forgets those of which nothing
    /// is known; if there are none, the one that was used longest ago.
    pub(super) fn get(
        &self,
        name: String,
        budget: impl Fn() -> Option<RetryBudget>,
    ) -> Arc<Server> {
        // Nothing panics while it is held.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.requests += 1;
        let last_request = known.requests;
        if let Some(entry) = known.servers.get_mut(&name) {
            entry.last_request = last_request;
            return Arc::clone(&entry.server);
        }
        if known.servers.len() >= self.most {
            known.make_room(self.most);
        }
        let limits = ServerLimits::new(self.bounds);
        let server = Arc::new(Server { limits, budget: budget() });
        known.servers.insert(name, Entry { server: Arc::clone(&server), last_request });
        server
    }

    /// Returns the number of servers that are known.
    pub(super) fn len(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).servers.len()
    }
}

impl Known {
    fn make_room(&mut self, most: usize) {
        self.servers.retain(|_, entry| !(entry.is_unused() && entry.server.limits.is_at_rest()));
        if self.servers.len() < most {
            return;
        }
        let unused = self.servers.iter().filter(|(_, entry)| entry.is_unused());
        let oldest = unused.min_by_key(|(_, entry)| entry.last_request);
        if let Some(name) = oldest.map(|(name, _)| name.clone()) {
            self.servers.remove(&name);
        }
    }
}
