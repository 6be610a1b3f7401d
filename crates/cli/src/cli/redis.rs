//! `sluicegate redis`: the state of a key on a server, and its reset.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use sluicegate_policy::{
    RegistryError, RemoteHandle, RemotePass, RemoteRefusal, escaped, time_in_words,
};
use sluicegate_serve::decision::kept_key;
use tokio::runtime;

use super::serve::RedisArgs;
use super::{Failure, print};
use crate::policy::input::PolicyArgs;

pub(super) const AFTER_HELP: &str = "\
The key is the same as for POST /v1/check: an address, a user, or the JSON array of a key of several parts; nothing for a \
limiter of all callers. A limiter that keeps its keys in the memory of a service is shown by that service: POST /v1/peek.";

#[derive(Debug, Args)]
pub(super) struct RedisCommandArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the name of a key on the server, and what is left of its limit; takes nothing
    Show(KeyArgs),
    /// Make the limiter of a key full again
    ///
    /// Services with leases may spend those that they hold, and deny from memory for a second.
    Reset(KeyArgs),
}

#[derive(Debug, Args)]
struct KeyArgs {
    /// The policy of the limiter: TOML, YAML or JSON; `-` is standard input
    #[arg(long, short, value_name = "FILE")]
    policy: PathBuf,
    #[command(flatten)]
    read: PolicyArgs,
    #[command(flatten)]
    redis: RedisArgs,
    /// Name of the limiter
    limiter: String,
    /// The key
    #[arg(default_value = "", hide_default_value = true)]
    key: String,
}

impl RedisCommandArgs {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let (args, is_reset) = match self.verb {
            Verb::Show(args) => (args, false),
            Verb::Reset(args) => (args, true),
        };
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::io("a thread"))?;
        let policies = args.read.read(&args.policy)?;
        let (registry, _servers) = args.redis.registry(policies, runtime.handle())?;
        let limiter = registry.remote(&args.limiter);
        let limiter = limiter.map_err(|error| Failure::Use(not_on_server(&error)))?;
        let key = kept_key(&limiter.policy(), &args.key);
        let key = key.map_err(|error| Failure::Use(error.to_string()))?;
        let text = runtime.block_on(async {
            if is_reset {
                limiter.reset(&key).await.map_err(|error| unreachable(&error))?;
            }
            let mut text = show(&limiter, &key).await?;
            if is_reset && limiter.leases().is_some() {
                text.push_str("services    learn of the reset within a second: they have leases\n");
            }
            Ok::<_, Failure>(text)
        })?;
        print(text.as_bytes())
    }
}

/// Returns lines on the state of a key.
async fn show(limiter: &RemoteHandle, key: &str) -> Result<String, Failure> {
    let policy = limiter.policy();
    let grant = match limiter.peek(key, 0).await {
        Ok(RemotePass { pass, is_fallback: false }) => pass.grant(),
        Err(RemoteRefusal::Failed(error)) => return Err(unreachable(&error)),
        // Nothing is asked for, so nothing is denied.
        Ok(_) | Err(_) => return Err(unreachable(&"the server gives no answer")),
    };
    let (left, limit) = (grant.remaining(), grant.limit());
    let mut text = String::new();
    // A text can be written to.
    let _ = writeln!(text, "limiter     {}: {}", escaped(&policy.name), policy.kind);
    let _ = writeln!(text, "key         {}", escaped(&limiter.name_of(key)));
    let _ = writeln!(text, "left        {left} of {limit}");
    if left < limit {
        let millis = grant.reset_after().as_nanos().div_ceil(1_000_000);
        let millis = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        let _ = writeln!(text, "full again  after {}", time_in_words(millis));
    }
    if limiter.leases().is_some() {
        let _ = writeln!(
            text,
            "leases      permits that processes hold count as used here; POST /v1/peek to each tells how many it holds"
        );
    }
    Ok(text)
}

/// Returns why there is no such limiter on a server.
fn not_on_server(error: &RegistryError) -> String {
    match error {
        RegistryError::IsNotRemote { name } => format!(
            "limiter \"{}\" is kept in the memory of each service, because it has `max_keys` or `store = \"table\"`, or because \
             neither its `store` nor --redis names a server: ask a service by POST /v1/peek and /v1/reset",
            escaped(name)
        ),
        error => error.to_string(),
    }
}

fn unreachable(error: &dyn std::fmt::Display) -> Failure {
    let mut text = error.to_string();
    if text.contains("NOAUTH") || text.contains("WRONGPASS") {
        text += "; give the password by --redis-password-file, or `password_file` of the store";
    }
    Failure::Io { what: "redis".to_owned(), error: std::io::Error::other(text) }
}
