//! Rate limits of sluicegate that several machines share, on a Redis or Valkey server.
//!
//! ```no_run
//! # #[cfg(feature = "async")]
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use sluicegate::quota;
//! use sluicegate_redis::{Async, KeySpace, RedisLimit, RedisLimiter};
//!
//! let client = redis::Client::open("redis://127.0.0.1/")?;
//! let limit = RedisLimit::token_bucket(quota!(100 / second, burst 20))?;
//! let limiter = RedisLimiter::new(limit, KeySpace::new("app:api")?, Async::new(client));
//!
//! match limiter.try_acquire("user:42", 1).await {
//!     Ok(grant) => println!("{} left", grant.remaining()),
//!     // Denied, or the server does not answer.
//!     Err(error) => println!("{error}; retry after {:?}", error.retry_after()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A decision is one script on the server, so it is atomic, and the server's clock is the only one.
//! [`RedisLimit`] has the limits, with their bounds; they answer as the engine does.
//!
//! | feature | |
//! |---|---|
//! | `async` (default) | `Async`: runs scripts on the connections of the crate `redis` for tokio |
//! | `pool` | `Pool`: runs scripts on a pool of connections, for callers on threads |
//! | `http` | the limiters behind the layer for web servers: for `Remote` of `sluicegate-http` |
//! | `policy` | `RedisConnector`: the limiters of policy files (`sluicegate-policy`) on the servers that they name |
//! | `cluster` | `Cluster`: runs scripts on a cluster, and follows keys that move |
//! | `sentinel` | `Sentinels`: runs scripts on the primary that sentinels name |
//! | `tls` | connections of the crate `redis` by TLS, to servers whose certificates the system trusts, or the file that `SSL_CERT_FILE` names |

mod all;
mod concurrency;
#[cfg(feature = "policy")]
mod connector;
mod decision;
mod error;
mod estimate;
mod fallback;
mod guarded;
#[cfg(feature = "http")]
mod http_layer;
mod key_space;
mod lease;
mod limit;
mod limiter;
mod priorities;
mod request;
mod reservation;
mod run_script;
mod script;
mod shares;
#[cfg(test)]
mod tests;

pub use crate::all::RedisAll;
pub use crate::concurrency::{Held, RedisConcurrency};
#[cfg(feature = "policy")]
pub use crate::connector::RedisConnector;
pub use crate::decision::{Decision, Verb};
pub use crate::error::{
    KeyError, LimitError, RenewError, StoreError, TryAcquireAllError, TryAcquireError,
};
pub use crate::estimate::{RedisEstimate, RedisSettled};
pub use crate::fallback::{Fallback, share_of};
pub use crate::guarded::{BreakerState, FAILURES, GuardCounts, Guarded, ServerChange};
#[cfg(feature = "http")]
pub use crate::http_layer::RedisByShare;
pub use crate::key_space::KeySpace;
pub use crate::lease::{
    LeaseCounts, LeaseError, LeaseOptions, LeaseOptionsBuilder, LeaseSplit, LeasedLimiter,
};
pub use crate::limit::RedisLimit;
pub use crate::limiter::RedisLimiter;
pub use crate::priorities::RedisPriorities;
pub use crate::reservation::RedisReservation;
#[cfg(feature = "async")]
pub use crate::run_script::Async;
#[cfg(feature = "cluster")]
pub use crate::run_script::Cluster;
#[cfg(feature = "sentinel")]
pub use crate::run_script::Sentinels;
#[cfg(feature = "pool")]
pub use crate::run_script::{Connections, Pool, PooledConnection};
pub use crate::run_script::{Run, RunScript, RunScriptBlocking};
pub use crate::script::Script;
pub use crate::shares::RedisShares;
