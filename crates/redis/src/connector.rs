//! Limiters of policies, on the servers that the policies name.

mod classes;
mod fit;
mod kinds;
mod names;
mod needs;
mod on_server;
mod servers;
mod tenants;
mod unanswered;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use sluicegate::Quota;
use sluicegate_policy::{
    ClassPolicy, ConnectError, Connector, Kind, LimiterPolicy, OnFailure, RedisStore,
    RemoteFailure, RemoteFuture, RemoteLimits, Room, ServerStatistics, ShareGroup,
};
use tokio::runtime::Handle;

use self::classes::Classes;
pub(crate) use self::kinds::{limit_of, shares_of};
use self::kinds::{share, share_of_classes, share_of_tenants};
use self::names::{KeyNames, key_space};
use self::on_server::{Limits, OnServer};
use self::servers::{Connected, Known, Server, Servers};
use self::tenants::Tenants;
use self::unanswered::Unanswered;
use crate::guarded::Causes;
use crate::lease::LeaseTotals;
use crate::script::{SHARES, Script};
use crate::{
    FAILURES, Fallback, KeySpace, LeaseError, LeaseOptions, LeasedLimiter, RedisLimiter,
    ServerChange,
};

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
/// the server by long keys. A tenant of shares has `app:tenants:sh:{app:tenants}:assured:named:user:ada`, since all of them are on
/// one node; `others` instead of `named` is for tenants that no group of the policy names. All classes of `priorities` have one key,
/// `app:calls:tb:{all}`.
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
    observer: Option<Observer>,
    shared: Arc<Shared>,
}

/// The time between two checks of a server that gives no answer.
const CHECK_AGAIN: Duration = Duration::from_secs(2);

type Observer = Arc<dyn Fn(&str, &ServerChange<'_>) + Send + Sync>;

#[derive(Default)]
struct Shared {
    servers: Mutex<Servers>,
    /// Those with leases, which have something to give back in the end.
    leased: Mutex<Vec<Weak<LeasedLimiter<Server>>>>,
    /// Counts of the limiters with leases of each policy, by its name: those of other terms go on.
    totals: Mutex<HashMap<String, Arc<LeaseTotals>>>,
}

impl RedisConnector {
    /// Creates a client whose connections are driven by `runtime`.
    #[must_use]
    pub fn new(runtime: Handle) -> RedisConnector {
        RedisConnector { runtime, default: None, observer: None, shared: Arc::default() }
    }

    /// Puts each limiter on the server of `store` that names no store of its own: neither a server, nor a
    /// table, nor `max_keys`. A limiter that no server can keep is an error then.
    #[must_use]
    pub fn by_default(self, store: RedisStore) -> RedisConnector {
        RedisConnector { default: Some(store), ..self }
    }

    /// Calls `observer` for each change of a server, with its URL without a user and a password: for logs. In the task of
    /// a decision, so it should not take long.
    #[must_use]
    pub fn on_change(
        self,
        observer: impl Fn(&str, &ServerChange<'_>) + Send + Sync + 'static,
    ) -> RedisConnector {
        RedisConnector { observer: Some(Arc::new(observer)), ..self }
    }

    /// Gives all leases back, and waits until the servers have them. Afterwards each decision asks its server.
    pub async fn shutdown(&self) {
        let leased = std::mem::take(&mut *lock(&self.shared.leased));
        for limiter in leased.iter().filter_map(Weak::upgrade) {
            limiter.shutdown().await;
        }
    }

    /// Checks that each server is one for its limiters: that it is of the kind that its URL says, takes the password, and lets
    /// its user run the commands of the limiters. Changes nothing there. A server that gives no answer is told to the
    /// observer, and checked again until it does; then the observer is told if it is
    /// [none](ServerChange::Unfit).
    ///
    /// # Errors
    ///
    /// [`ConnectError`] for the first server that has answered and is none.
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken.
    pub async fn check(&self) -> Result<(), ConnectError> {
        for known in self.known() {
            match known.check().await {
                Ok(Ok(())) => {}
                Ok(Err(ConnectError(why))) => {
                    return Err(ConnectError(format!("{} {why}", known.name)));
                }
                Err(error) => {
                    self.tell(&known.name, &ServerChange::Silent(&error));
                    self.runtime.spawn(self.clone().check_later(known.name));
                }
            }
        }
        Ok(())
    }

    /// Checks a server until it answers, or no limiter is on it any more.
    pub(crate) async fn check_later(self, name: String) {
        loop {
            tokio::time::sleep(CHECK_AGAIN).await;
            let Some(known) = self.known().into_iter().find(|known| known.name == name) else {
                return;
            };
            match known.check().await {
                Ok(Ok(())) => {
                    // Once it was left alone, the first decision that it answers is told.
                    if known.server.counts().opened == 0 {
                        self.tell(&name, &ServerChange::Answers);
                    }
                    return;
                }
                Ok(Err(ConnectError(why))) => return self.tell(&name, &ServerChange::Unfit(&why)),
                Err(_) => {}
            }
        }
    }

    fn tell(&self, name: &str, change: &ServerChange<'_>) {
        if let Some(observer) = &self.observer {
            observer(name, change);
        }
    }

    /// Returns the servers that have limiters. Forgets the others.
    fn known(&self) -> Vec<Known> {
        let mut servers = lock(&self.shared.servers);
        servers.retain(|_, known| known.server.is_shared());
        servers.values().cloned().collect()
    }

    /// Returns the client of a server, which is the same for all its limiters, for those with `script` in `keys`.
    fn server(
        &self,
        store: &RedisStore,
        script: &'static Script,
        keys: &KeySpace,
    ) -> Result<Server, ConnectError> {
        let mut servers = lock(&self.shared.servers);
        let known = match servers.entry(Connected::of(store)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let mut known = servers::open(store)?;
                if let Some(observer) = self.observer.clone() {
                    let name = known.name.clone();
                    known.server = known.server.on_change(move |change| observer(&name, change));
                }
                place.insert(known)
            }
        };
        known.needs.add(keys, script);
        Ok(known.server.clone())
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
        let keys = key_space(store, policy)?;
        let server = self.server(store, limit.script(), &keys)?;
        let limiter = RedisLimiter::new(limit, keys, server).with_fallback(fallback);
        let Some(lease) = store.lease else { return Ok(Limits::Plain(limiter)) };
        let options = LeaseOptions::builder(lease.nodes)
            .share_percent(lease.share_percent)
            .size(lease.size.unwrap_or(u64::MAX))
            .expiry(lease.expiry)
            .max_keys(lease.max_keys);
        let options = options.build().map_err(|error| ConnectError(error.to_string()))?;
        let totals = {
            let mut all = lock(&self.shared.totals);
            all.retain(|_, totals| Arc::strong_count(totals) > 1);
            Arc::clone(all.entry(policy.name.clone()).or_default())
        };
        let leased = match LeasedLimiter::counting_in(limiter.clone(), options, totals) {
            Ok(leased) => Arc::new(leased),
            // The leases are for all limiters of a policy, of which this one can have none.
            Err(LeaseError::Cut { .. } | LeaseError::TooSmall { .. }) if policy.redis.is_none() => {
                return Ok(Limits::Plain(limiter));
            }
            Err(error) => return Err(ConnectError(error.to_string())),
        };
        let mut all = lock(&self.shared.leased);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&leased));
        Ok(Limits::Leased(leased, self.runtime.clone()))
    }

    /// Returns the shares of a policy.
    fn tenants(
        &self,
        policy: &LimiterPolicy,
        store: &RedisStore,
        (quota, groups): (Quota, &[ShareGroup]),
    ) -> Result<Tenants, ConnectError> {
        let keys = key_space(store, policy)?;
        let server = self.server(store, &SHARES, &keys)?;
        let share = |machines| share_of_tenants(quota, groups, machines);
        let fallback = Unanswered::new(store.on_failure, policy.kind.most_at_once(), share)?;
        Ok(Tenants {
            server: store.shown_url(),
            prefix: store.prefix.clone(),
            names: KeyNames::new(&policy.key),
            shares: shares_of(quota, groups, keys, server)?,
            groups: tenants::numbered(groups),
            fallback,
        })
    }

    /// Returns the classes of a policy.
    fn classes(
        &self,
        policy: &LimiterPolicy,
        store: &RedisStore,
        (quota, classes): (Quota, &[ClassPolicy]),
    ) -> Result<Classes, ConnectError> {
        let limit = limit_of(&policy.kind)?;
        let keys = key_space(store, policy)?;
        let server = self.server(store, limit.script(), &keys)?;
        let share = |machines| share_of_classes(quota, classes, machines);
        let fallback = Unanswered::new(store.on_failure, quota.burst(), share)?;
        Ok(Classes {
            server: store.shown_url(),
            prefix: store.prefix.clone(),
            limiter: RedisLimiter::new(limit, keys, server),
            kind: policy.kind.clone(),
            fallback,
        })
    }
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
        if let Kind::Shares { quota, groups } = &policy.kind {
            return Ok(Some(Arc::new(self.tenants(policy, store, (*quota, groups.as_slice()))?)));
        }
        if let Kind::Priorities { quota, classes } = &policy.kind {
            return Ok(Some(Arc::new(self.classes(
                policy,
                store,
                (*quota, classes.as_slice()),
            )?)));
        }
        let on_server = OnServer {
            server: store.shown_url(),
            prefix: store.prefix.clone(),
            names: KeyNames::new(&policy.key),
            limits: self.limits(policy, store, &policy.kind)?,
            overrides: policy.overrides.try_map(|kind| self.limits(policy, store, kind))?,
        };
        Ok(Some(Arc::new(on_server)))
    }

    fn servers(&self) -> Vec<ServerStatistics> {
        let statistics = |Known { name, server, .. }: Known| {
            let counts = server.counts();
            ServerStatistics {
                name,
                is_answering: server.is_answering(),
                answered: counts.answered,
                failures: FAILURES.into_iter().zip(counts.failures).collect(),
                skipped: counts.skipped,
                opened: counts.opened,
            }
        };
        self.known().into_iter().map(statistics).collect()
    }

    fn probe(&self) -> RemoteFuture<'_, ()> {
        Box::pin(async {
            for Known { name, server, .. } in self.known() {
                let answer = server.probe().await;
                answer.map_err(|error| {
                    RemoteFailure::Unavailable(format!("{name}: {}", Causes(&error)))
                })?;
            }
            Ok(())
        })
    }
}

/// Checks that a server can keep a limiter whose policy names none.
fn check(policy: &LimiterPolicy) -> Result<(), ConnectError> {
    let help =
        "a limiter with `max_keys` or `store = \"table\"` stays in the memory of this process";
    let own = policy.overrides.values();
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the server of policies that name none.
impl fmt::Debug for RedisConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConnector").field("default", &self.default).finish_non_exhaustive()
    }
}
