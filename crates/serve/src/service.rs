//! The state that all requests share, and who may change it.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight};
use sluicegate_http::client_address::{ClientAddress, Trust};
use sluicegate_policy::{Event, PolicyFile, ReloadError};
use subtle::ConstantTimeEq;
use thiserror::Error;

use crate::limiters::Limiters;
use crate::metrics::Metrics;

/// The state that all requests share. A clone is the same service.
#[derive(Clone, Debug)]
pub struct Service {
    shared: Arc<Shared>,
}

#[derive(Clone, Debug)]
struct Shared {
    limiters: Limiters,
    admin: Option<AdminToken>,
    policy_file: Option<PolicyFile>,
    clients: ClientAddress,
    max_checks: usize,
    /// The places of checks that wait.
    waiting: Arc<ConcurrencyLimit>,
    needs_servers: bool,
    unknown: Option<Arc<Unknown>>,
    metrics: Metrics,
}

/// The names of limiters that proxies have asked about and that are not there, and what is told of each.
struct Unknown {
    told: Mutex<HashSet<String>>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl Service {
    /// Most names of limiters that are not there of which the observer is told.
    const MAX_UNKNOWN: usize = 100;

    /// Most checks that wait in line at a time, unless another number is given.
    pub const MAX_WAITING: usize = 10_000;

    /// Returns a service of these limiters.
    ///
    /// Nobody may use the administrative verbs; a batch has at most 1,000 checks; at most 10,000 checks wait at a
    /// time; and the client of a request that a proxy asks for is the last address of `X-Forwarded-For`, which the
    /// proxy has added.
    #[must_use]
    pub fn new(limiters: Limiters) -> Service {
        let clients = Trust::hops(1).map(ClientAddress::x_forwarded_for).unwrap_or_default();
        let clients = whole_addresses(clients);
        let (admin, policy_file) = (None, None);
        let metrics = Metrics::new().limiters(limiters.registry());
        let shared = Shared {
            limiters,
            admin,
            policy_file,
            clients,
            max_checks: 1_000,
            waiting: Arc::new(ConcurrencyLimit::new(Service::MAX_WAITING as u64)),
            needs_servers: false,
            unknown: None,
            metrics,
        };
        Service { shared: Arc::new(shared) }
    }

    /// Lets requests with this token use the administrative verbs: `reset` and `reload`.
    #[must_use]
    pub fn admin(self, token: AdminToken) -> Service {
        self.change(|shared| shared.admin = Some(token))
    }

    /// Sets the file that `reload` reads.
    #[must_use]
    pub fn policy_file(self, file: impl Into<PolicyFile>) -> Service {
        self.change(|shared| shared.policy_file = Some(file.into()))
    }

    /// Sets how the address of a client is found if a proxy asks whether its request may pass. Its prefixes do not count:
    /// the `key` of a policy says which addresses are one client.
    #[must_use]
    pub fn clients(self, clients: ClientAddress) -> Service {
        self.change(|shared| shared.clients = whole_addresses(clients))
    }

    /// Sets the most checks of one batch. The default is 1,000; 0 counts as 1.
    #[must_use]
    pub fn max_checks(self, max_checks: usize) -> Service {
        self.change(|shared| shared.max_checks = max_checks.max(1))
    }

    /// Sets the most checks that wait in line at a time, for all limiters and keys together. One more with a `wait` is
    /// answered 503. The default is 10,000; with 0 nobody waits.
    #[must_use]
    pub fn max_waiting(self, max_waiting: usize) -> Service {
        let waiting = ConcurrencyLimit::new(max_waiting as u64);
        self.change(|shared| shared.waiting = Arc::new(waiting))
    }

    /// Lets `/readyz` answer 503 while a server of limiters that several machines share does not answer, so that requests go to
    /// other machines. By default it does not ask them.
    #[must_use]
    pub fn ready_needs_servers(self) -> Service {
        self.change(|shared| shared.needs_servers = true)
    }

    /// Calls `observer` with the name of a limiter that `/v1/auth` is asked about and that is not there, once for each of the
    /// first 100 names: for a log, since some proxies show the answer to nobody.
    #[must_use]
    pub fn on_unknown_limiter(self, observer: impl Fn(&str) + Send + Sync + 'static) -> Service {
        let unknown = Unknown { told: Mutex::default(), tell: Box::new(observer) };
        self.change(|shared| shared.unknown = Some(Arc::new(unknown)))
    }

    pub(crate) fn tell_unknown(&self, name: &str) {
        let Some(Unknown { told, tell }) = self.shared.unknown.as_deref() else { return };
        let is_new = {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            told.len() < Service::MAX_UNKNOWN && told.insert(name.to_owned())
        };
        if is_new {
            tell(name);
        }
    }

    /// Returns the limiters.
    #[must_use]
    pub fn limiters(&self) -> &Limiters {
        &self.shared.limiters
    }

    /// Returns the counts of the service, for [`Server::counted`](crate::Server::counted).
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    pub(crate) fn admin_token(&self) -> Option<&AdminToken> {
        self.shared.admin.as_ref()
    }

    /// Reads the policy file again, and returns the changes; or `None` if the limiters were not read from a file.
    /// If it has a mistake, everything stays as it was.
    ///
    /// Reads in a thread for work that blocks. Must be called within a runtime of tokio.
    ///
    /// # Errors
    ///
    /// [`ReloadError`], with all mistakes of the file.
    pub async fn reload(&self) -> Option<Result<Vec<Event>, Arc<ReloadError>>> {
        let file = self.shared.policy_file.clone()?;
        let registry = self.limiters().registry().clone();
        let reloaded = tokio::task::spawn_blocking(move || registry.reload_path(file)).await;
        // An observer has panicked, or the runtime is ending: the file is in force, or does not matter.
        Some(reloaded.unwrap_or_else(|_| Ok(Vec::new())))
    }

    pub(crate) fn client_address(&self) -> &ClientAddress {
        &self.shared.clients
    }

    pub(crate) fn needs_servers(&self) -> bool {
        self.shared.needs_servers
    }

    pub(crate) fn most_checks(&self) -> usize {
        self.shared.max_checks
    }

    /// Returns a place for a check that waits, unless all are taken. It is given back when it is dropped.
    pub(crate) fn place_to_wait(&self) -> Option<InFlight<'_>> {
        self.shared.waiting.try_acquire(1).ok()
    }

    fn change(mut self, change: impl FnOnce(&mut Shared)) -> Service {
        change(Arc::make_mut(&mut self.shared));
        self
    }
}

/// The secret that administrative requests carry, as `Authorization: Bearer ...`.
#[derive(Clone)]
pub struct AdminToken(Arc<str>);

impl AdminToken {
    /// Shortest token, in bytes.
    pub const MIN_BYTES: usize = 16;

    /// Returns a token. White space around it is not a part of it, so that it can be read from a file.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if it is shorter than [`MIN_BYTES`](AdminToken::MIN_BYTES), or if it has characters
    /// that a request's field cannot carry.
    pub fn new(text: &str) -> Result<AdminToken, TokenError> {
        let text = text.trim();
        if text.len() < AdminToken::MIN_BYTES {
            return Err(TokenError::Short { bytes: text.len() });
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Characters);
        }
        Ok(AdminToken(text.into()))
    }

    /// Returns true if `given` is the token. Takes as long whichever of its bytes differs first.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

/// Does not show the token.
impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken")
    }
}

/// An administrative token that is none.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It is too short.
    #[error(
        "the administrative token has {bytes} bytes: must be at least {}",
        AdminToken::MIN_BYTES
    )]
    Short {
        /// Its length.
        bytes: usize,
    },
    /// It has other characters than visible ones of ASCII.
    #[error(
        "the administrative token has a space or a character outside of ASCII: use letters, digits and signs"
    )]
    Characters,
}

/// Does not show the function.
impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unknown").field("told", &self.told).finish_non_exhaustive()
    }
}

fn whole_addresses(clients: ClientAddress) -> ClientAddress {
    clients.ipv4_prefix(32).ipv6_prefix(128)
}
