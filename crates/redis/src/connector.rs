//! Limiters of policies, on the servers that the policies name.

mod kinds;
mod names;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use redis::AsyncConnectionConfig;
use sluicegate_policy::{
    ConnectError, Connector, Kind, LimiterPolicy, OnFailure, RedisStore, RemoteAnswer,
    RemoteFailure, RemoteFuture, RemoteLimits, RemoteVerb, Room,
};
use tokio::runtime::Handle;

pub(crate) use self::kinds::limit_of;
use self::kinds::share;
use self::names::{KeyNames, key_space};
use crate::{
    Async, Decision, Fallback, Guarded, LeaseOptions, LeasedLimiter, RedisLimiter, TryAcquireError,
    Verb,
};

/// The least time that a connection has to be made, which no decision waits for longer than for an answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

type Server = Guarded<Async>;

/// A client of the servers that the policies of a registry name: see
/// [`Registry::connected`](sluicegate_policy::Registry::connected).
///
/// Limiters on the same server share a connection, and a circuit breaker. It connects at the first decision, and again
/// when the connection breaks.
///
/// # Names on the server
///
/// A limiter `log-ins` with the prefix `app` keeps the key `192.0.2.7` as `app:log-ins:tb:{ip:192.0.2.7}`. The word before
/// the key is what the policy's `key` is: `ip`, `user`, `path`, the name of a header, several with `+` between them,
/// such as `path+user`; and the whole is `global` for `key = "all"`. Characters that could leave the braces are
/// escaped: see [`KeySpace`](crate::KeySpace). Of a key that is longer than 150 bytes its SHA-1 is kept, after `#`, so that no client can fill
/// the server by long keys.
///
/// # Examples
///
/// ```no_run
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use sluicegate_policy::{Policies, Registry};
/// use sluicegate_redis::RedisConnector;
///
/// let policies = Policies::from_toml("limits.toml", r#"
/// [limiters.log-ins]
/// policy = "token_bucket"
/// limit = 10
/// rate = { amount = 1, interval = "1 minute" }
/// store = { redis = "redis://127.0.0.1/", on_failure = { share = 4 } }
/// "#)?;
/// let connector = RedisConnector::new(tokio::runtime::Handle::current());
/// let registry = Registry::connected(policies, Arc::new(connector))?;
/// let log_ins = registry.remote("log-ins")?;
/// log_ins.try_pass("192.0.2.7").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisConnector {
    runtime: Handle,
    /// The server of policies that name no store of their own.
    default: Option<RedisStore>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    servers: Mutex<HashMap<(String, Duration), Server>>,
    /// Those with leases, which have something to give back in the end.
    leased: Mutex<Vec<Weak<LeasedLimiter<Server>>>>,
}

impl RedisConnector {
    /// Creates a client whose connections are driven by `runtime`.
    #[must_use]
    pub fn new(runtime: Handle) -> RedisConnector {
        RedisConnector { runtime, default: None, shared: Arc::default() }
    }

    /// Puts each limiter on the server of `store` that names no store of its own: neither a server, nor a
    /// table, nor `max_keys`. A limiter that no server can keep is an error then.
    #[must_use]
    pub fn by_default(self, store: RedisStore) -> RedisConnector {
        RedisConnector { default: Some(store), ..self }
    }

    /// Gives all leases back, and waits until the servers have them. Afterwards each decision asks its server.
    pub async fn shutdown(&self) {
        let leased = std::mem::take(&mut *lock(&self.shared.leased));
        for limiter in leased.iter().filter_map(Weak::upgrade) {
            limiter.shutdown().await;
        }
    }

    /// Returns the client of a server, which is the same for all its limiters.
    fn server(&self, store: &RedisStore) -> Result<Server, ConnectError> {
        let mut servers = lock(&self.shared.servers);
        let key = (store.url.clone(), store.time_limit);
        if let Some(server) = servers.get(&key) {
            return Ok(server.clone());
        }
        if store.url.starts_with("rediss://") {
            prepare_tls()?;
        }
        // The client's own error may show the URL, with its password.
        let client = redis::Client::open(store.url.as_str()).map_err(|_| {
            ConnectError(format!(
                "`store.redis` is not the URL of a server that this client can connect to: {}",
                store.shown_url()
            ))
        })?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(store.time_limit.max(CONNECT_LIMIT)))
            .set_response_timeout(Some(store.time_limit));
        let runner = Async::with_config(client, config);
        let server = Guarded::new(runner).with_time_limit(store.time_limit);
        servers.insert(key, server.clone());
        Ok(server)
    }

    /// Returns the limiter of a kind, for the keys of a policy.
    fn limits(
        &self,
        policy: &LimiterPolicy,
        store: &RedisStore,
        kind: &Kind,
    ) -> Result<Limits, ConnectError> {
        let limit = limit_of(kind)?;
        let fallback = match store.on_failure {
            OnFailure::Closed => Fallback::Closed,
            OnFailure::Open => Fallback::Open,
            OnFailure::Share { machines } => Fallback::Local(Arc::new(share(kind, machines)?)),
        };
        let limiter = RedisLimiter::new(limit, key_space(store, policy)?, self.server(store)?)
            .with_fallback(fallback);
        let Some(lease) = store.lease else { return Ok(Limits::Plain(limiter)) };
        let options = LeaseOptions::builder(lease.nodes)
            .share_percent(lease.share_percent)
            .size(lease.size.unwrap_or(u64::MAX))
            .expiry(lease.expiry)
            .max_keys(lease.max_keys);
        let leased = options.build().and_then(|options| LeasedLimiter::new(limiter, options));
        let leased = Arc::new(leased.map_err(|error| ConnectError(error.to_string()))?);
        let mut all = lock(&self.shared.leased);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&leased));
        Ok(Limits::Leased(leased, self.runtime.clone()))
    }
}

/// Chooses the cryptography of connections by TLS, if the program has chosen none: the client panics without any.
#[cfg(feature = "tls")]
#[expect(clippy::unnecessary_wraps, reason = "the other one fails")]
fn prepare_tls() -> Result<(), ConnectError> {
    // It fails if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(())
}

#[cfg(not(feature = "tls"))]
fn prepare_tls() -> Result<(), ConnectError> {
    Err(ConnectError(
        "`store.redis` begins with rediss://, but this program was built without TLS: it needs the feature `tls` of \
         sluicegate-redis, and the command its feature `redis-tls` (cargo install --path crates/cli --features \
         redis-tls)"
            .to_owned(),
    ))
}

impl Connector for RedisConnector {
    fn connect(
        &self,
        policy: &LimiterPolicy,
    ) -> Result<Option<Arc<dyn RemoteLimits>>, ConnectError> {
        let names_a_store = policy.store.room != Room::default();
        let store = match (&policy.redis, &self.default) {
            (Some(store), _) => store,
            (None, Some(store)) if !names_a_store => store,
            _ => return Ok(None),
        };
        if policy.redis.is_none() {
            check(policy)?;
        }
        let own = |own: &sluicegate_policy::Override| {
            Ok((own.key.clone(), self.limits(policy, store, &own.kind)?))
        };
        let on_server = OnServer {
            place: format!("{} {}", store.shown_url(), store.prefix),
            names: KeyNames::new(&policy.key),
            limits: self.limits(policy, store, &policy.kind)?,
            overrides: policy.overrides.iter().map(own).collect::<Result<_, ConnectError>>()?,
        };
        Ok(Some(Arc::new(on_server)))
    }
}

/// Checks that a server can keep a limiter whose policy names none.
fn check(policy: &LimiterPolicy) -> Result<(), ConnectError> {
    let help =
        "a limiter with `max_keys` or `store = \"table\"` stays in the memory of this process";
    let own = policy.overrides.iter().map(|own| &own.kind);
    if let Some(expected) = std::iter::once(&policy.kind).chain(own).find_map(Kind::not_on_redis) {
        return Err(ConnectError(format!("no server can keep it: {expected}; {help}")));
    }
    for (field, is_given) in
        [("wait", policy.wait.is_some()), ("penalty", policy.penalty.is_some())]
    {
        if is_given {
            return Err(ConnectError(format!(
                "no server can keep its `{field}`: remove it; or keep the limiter here, since {help}"
            )));
        }
    }
    Ok(())
}

/// The limiters of all keys of a policy.
struct OnServer {
    /// The server, and the beginning of the names there.
    place: String,
    names: KeyNames,
    limits: Limits,
    overrides: HashMap<String, Limits>,
}

/// The limiters of keys with the same numbers.
enum Limits {
    Plain(RedisLimiter<Server>),
    Leased(Arc<LeasedLimiter<Server>>, Handle),
}

impl Drop for Limits {
    fn drop(&mut self) {
        // Other terms have taken the place: what is leased goes back, for the others.
        if let Limits::Leased(limiter, runtime) = self {
            let limiter = Arc::clone(limiter);
            runtime.spawn(async move { limiter.shutdown().await });
        }
    }
}

impl Limits {
    /// Returns the word for the kind in names, with what the meaning of a state depends on.
    fn kind(&self) -> &str {
        match self {
            Limits::Plain(limiter) => limiter.limit().kind(),
            Limits::Leased(limiter, _) => limiter.limit().kind(),
        }
    }
}

impl OnServer {
    fn of(&self, key: &str) -> &Limits {
        self.overrides.get(key).unwrap_or(&self.limits)
    }
}

impl RemoteLimits for OnServer {
    fn decide<'a>(
        &'a self,
        verb: RemoteVerb,
        key: &'a str,
        permits: u64,
    ) -> RemoteFuture<'a, RemoteAnswer> {
        let verb = match verb {
            RemoteVerb::Take => Verb::Take,
            RemoteVerb::Peek => Verb::Peek,
        };
        Box::pin(async move {
            let name = self.names.name(key);
            let decision = match self.of(key) {
                Limits::Plain(limiter) => limiter.decide(verb, &name, permits).await,
                Limits::Leased(limiter, _) => limiter.decide(verb, &name, permits).await,
            };
            answer(decision)
        })
    }

    fn reset<'a>(&'a self, key: &'a str) -> RemoteFuture<'a, ()> {
        Box::pin(async move {
            let name = self.names.name(key);
            let reset = match self.of(key) {
                Limits::Plain(limiter) => limiter.reset(&name).await,
                Limits::Leased(limiter, _) => limiter.reset(&name).await,
            };
            reset.map_err(|error| failure(&error))
        })
    }

    fn places(&self) -> Vec<String> {
        let kind = self.limits.kind();
        let others = self.overrides.iter().filter(|(_, own)| own.kind() != kind);
        let mut places: Vec<_> =
            others.map(|(key, own)| format!("{}: {key}", own.kind())).collect();
        places.sort_unstable();
        places.insert(0, format!("{} {kind}", self.place));
        places
    }
}

fn answer(decision: Result<Decision, TryAcquireError>) -> Result<RemoteAnswer, RemoteFailure> {
    match decision {
        Ok(decision) => {
            let is_fallback = decision.failure().is_some();
            Ok(RemoteAnswer { answer: decision.answer(), is_fallback })
        }
        Err(TryAcquireError::Denied(denied)) => {
            Ok(RemoteAnswer { answer: Err(denied), is_fallback: false })
        }
        Err(error) => Err(failure(&error)),
    }
}

fn failure(error: &TryAcquireError) -> RemoteFailure {
    match error {
        TryAcquireError::Key(error) => RemoteFailure::Key(error.to_string()),
        error => RemoteFailure::Unavailable(error.to_string()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the server of policies that name none.
impl fmt::Debug for RedisConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConnector").field("default", &self.default).finish_non_exhaustive()
    }
}
