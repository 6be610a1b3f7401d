//! The server of limiters that several machines share: `--redis`, and the stores of a policy.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sluicegate_policy::{Lease, OnFailure, PasswordFrom, Policies, RedisStore, Registry};
use tokio::runtime::Handle;

use crate::cli::Failure;
#[cfg(feature = "redis")]
use crate::console::tell;

/// The variable of the environment with the password of the server.
const PASSWORD: &str = "SLUICEGATE_REDIS_PASSWORD";

#[derive(Debug, Args)]
pub(crate) struct RedisArgs {
    /// URL of a Redis or Valkey server that keeps the limiters, for all machines that ask it
    ///
    /// For each limiter that names no store of its own: no `store`, and no `max_keys`. Such as
    /// `redis://127.0.0.1:6379/`; of a cluster `redis+cluster://NODE,NODE`, and of a primary that sentinels name
    /// `redis+sentinel://SENTINEL,SENTINEL/NAME`
    #[arg(long = "redis", value_name = "URL", requires = "policy")]
    url: Option<String>,
    /// File with the password of that server, which is read again for each connection
    ///
    /// Without it, the password is that of the variable `SLUICEGATE_REDIS_PASSWORD` if that is set, or of the URL.
    #[arg(long = "redis-password-file", value_name = "FILE", requires = "url")]
    password_file: Option<PathBuf>,
    /// Leases of keys that are asked for often, of at most so many processes that hold some at a time
    ///
    /// All leases of a key are at most 25 % of its limit. Windows and logs, and limits too small for so many processes, have none.
    /// Other numbers are those of `store.lease` in a policy.
    #[arg(long = "redis-lease", value_name = "PROCESSES", requires = "url",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    lease: Option<u32>,
    /// Failures in a row after which that server is left alone
    #[arg(long = "redis-failures", value_name = "N", default_value_t = 1, requires = "url",
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    failures: u32,
    /// Time for which that server is left alone after failures, from 1ms to 1h
    #[arg(long = "redis-pause", value_name = "TIME", default_value = "1s", value_parser = pause, requires = "url")]
    pause: Duration,
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

fn pause(text: &str) -> Result<Duration, String> {
    let within = Duration::from_millis(1)..=RedisStore::MAX_PAUSE;
    let pause = humantime::parse_duration(text).ok().filter(|pause| within.contains(pause));
    pause.ok_or_else(|| "must be a time from 1ms to 1h, such as 500ms".to_owned())
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
        let of_environment =
            || std::env::var_os(PASSWORD).map(|_| PasswordFrom::Env(PASSWORD.to_owned()));
        let of_file = self.password_file.clone().map(PasswordFrom::File);
        Ok(Some(RedisStore {
            prefix: self.prefix.clone(),
            on_failure: self.on_failure,
            password: of_file.or_else(of_environment),
            lease: self.lease.map(Lease::of_processes),
            failures: self.failures,
            pause: self.pause,
            ..RedisStore::new(url)
        }))
    }

    /// Returns true if a server is named.
    pub(super) fn is_given(&self) -> bool {
        self.url.is_some()
    }

    /// Creates the limiters of a policy: those on servers by a client that `runtime` drives.
    pub(crate) fn registry(
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
pub(crate) struct Servers(sluicegate_redis::RedisConnector);

#[cfg(feature = "redis")]
impl Servers {
    #[expect(clippy::unnecessary_wraps, reason = "the other one fails for lack of a client")]
    fn new(store: Option<RedisStore>, _: &Policies, runtime: &Handle) -> Result<Servers, Failure> {
        let connector = sluicegate_redis::RedisConnector::new(runtime.clone())
            .on_change(|server, change| tell(&format_args!("{server} {change}")));
        Ok(Servers(match store {
            Some(store) => connector.by_default(store),
            None => connector,
        }))
    }

    fn registry(&self, policies: Policies) -> Result<Registry, sluicegate_policy::ReloadError> {
        Registry::connected(policies, std::sync::Arc::new(self.0.clone()))
    }

    /// Checks that the servers are those for their limiters. Must be called outside of the runtime.
    pub(super) fn check(&self, runtime: &Handle) -> Result<(), Failure> {
        runtime.block_on(self.0.check()).map_err(|error| Failure::Use(error.to_string()))
    }

    /// Gives leases back.
    pub(super) async fn shutdown(&self) {
        self.0.shutdown().await;
    }
}

/// No client: this command was built without one.
#[derive(Clone)]
#[cfg(not(feature = "redis"))]
pub(crate) struct Servers;

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

    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the other one may fail")]
    pub(super) fn check(&self, _: &Handle) -> Result<(), Failure> {
        Ok(())
    }

    /// Does nothing.
    #[expect(clippy::unused_async, reason = "that of the other one waits")]
    pub(super) async fn shutdown(&self) {}
}
