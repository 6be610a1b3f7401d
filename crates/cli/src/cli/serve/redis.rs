//! The server of limiters that several machines share: `--redis`, and the stores of a policy.

use clap::Args;
use sluicegate_policy::{OnFailure, Policies, RedisStore, Registry};
use tokio::runtime::Handle;

use crate::cli::Failure;

#[derive(Debug, Args)]
pub(super) struct RedisArgs {
    /// URL of a Redis or Valkey server that keeps the limiters, for all machines that ask it
    ///
    /// For each limiter that names no store of its own: no `store`, and no `max_keys`. Such as
    /// `redis://127.0.0.1:6379/`
    #[arg(long = "redis", value_name = "URL", requires = "policy")]
    url: Option<String>,
    /// Beginning of all names on that server
    #[arg(long = "redis-prefix", value_name = "TEXT", default_value = RedisStore::PREFIX, requires = "url")]
    prefix: String,
    /// Answer while that server gives none: `closed` refuses, `open` grants, and a number is that of machines of
    /// which each grants its share of the limit
    #[arg(
        long = "redis-on-failure",
        value_name = "ANSWER",
        default_value = "closed",
        value_parser = on_failure,
        requires = "url"
    )]
    on_failure: OnFailure,
}

fn on_failure(text: &str) -> Result<OnFailure, String> {
    match text {
        "closed" => Ok(OnFailure::Closed),
        "open" => Ok(OnFailure::Open),
        number => {
            match number.parse() {
                Ok(machines @ 1..) => Ok(OnFailure::Share { machines }),
                _ => Err("must be `closed`, `open`, or a number of machines from 1 to 4294967295"
                    .to_owned()),
            }
        }
    }
}

impl RedisArgs {
    fn store(&self) -> Result<Option<RedisStore>, Failure> {
        let Some(url) = &self.url else { return Ok(None) };
        if !RedisStore::SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
            // Not as it is given: it may have a password.
            let schemes = RedisStore::SCHEMES.join(", ");
            return Err(Failure::Use(format!(
                "--redis: the URL begins with none of {schemes}; give, for example, redis://127.0.0.1:6379/"
            )));
        }
        let (prefix, on_failure) = (self.prefix.clone(), self.on_failure);
        Ok(Some(RedisStore { prefix, on_failure, ..RedisStore::new(url) }))
    }

    /// Creates the limiters of a policy: those on servers by a client that `runtime` drives.
    pub(super) fn registry(
        &self,
        policies: Policies,
        runtime: &Handle,
    ) -> Result<(Registry, Servers), Failure> {
        let servers = Servers::new(self.store()?, &policies, runtime)?;
        let registry = servers.registry(policies);
        Ok((registry.map_err(|error| Failure::Use(error.to_string()))?, servers))
    }
}

/// The client of servers, which gives leases back in the end.
#[derive(Clone)]
#[cfg(feature = "redis")]
pub(super) struct Servers(sluicegate_redis::RedisConnector);

#[cfg(feature = "redis")]
impl Servers {
    #[expect(clippy::unnecessary_wraps, reason = "the other one fails for lack of a client")]
    fn new(store: Option<RedisStore>, _: &Policies, runtime: &Handle) -> Result<Servers, Failure> {
        let connector = sluicegate_redis::RedisConnector::new(runtime.clone());
        Ok(Servers(match store {
            Some(store) => connector.by_default(store),
            None => connector,
        }))
    }

    fn registry(&self, policies: Policies) -> Result<Registry, sluicegate_policy::ReloadError> {
        Registry::connected(policies, std::sync::Arc::new(self.0.clone()))
    }

    /// Gives leases back.
    pub(super) async fn shutdown(&self) {
        self.0.shutdown().await;
    }
}

/// No client: this command was built without one.
#[derive(Clone)]
#[cfg(not(feature = "redis"))]
pub(super) struct Servers;

#[cfg(not(feature = "redis"))]
impl Servers {
    fn new(store: Option<RedisStore>, policies: &Policies, _: &Handle) -> Result<Servers, Failure> {
        let on_server = policies.limiters().iter().find(|limiter| limiter.redis.is_some());
        let what = match (store, on_server) {
            (Some(_), _) => "--redis".to_owned(),
            (None, Some(limiter)) => {
                format!(
                    "limiter \"{}\" with `store = {{ redis = .. }}`",
                    sluicegate_policy::escaped(&limiter.name)
                )
            }
            (None, None) => return Ok(Servers),
        };
        Err(Failure::Use(format!(
            "{what} needs the feature `redis`, without which this command was built: \
             cargo install --path crates/cli --features redis"
        )))
    }

    #[expect(clippy::unused_self, reason = "the other one has a client")]
    fn registry(&self, policies: Policies) -> Result<Registry, sluicegate_policy::ReloadError> {
        Registry::new(policies)
    }

    /// Does nothing.
    #[expect(clippy::unused_async, reason = "that of the other one waits")]
    pub(super) async fn shutdown(&self) {}
}
