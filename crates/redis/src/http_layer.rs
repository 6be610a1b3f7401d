//! Limiters on a server behind the layer for web servers: `Remote` of the crate `sluicegate-http`.

use std::net::IpAddr;

use sluicegate::Grant;
use sluicegate_http::client_address::ClientKey;
use sluicegate_http::layer::{All, RemoteError, RemoteLimiter};

use crate::{LeasedLimiter, RedisLimiter, RunScript, TryAcquireError};

/// The key of all requests together.
const GLOBAL: &str = "global";

/// Returns the key of a client: its address, or `unknown` for clients that are to share one.
fn client(key: ClientKey) -> String {
    let shown = |address: IpAddr| format!("ip:{address}");
    match key {
        ClientKey::Address(address) => shown(address),
        _ => "ip:unknown".to_owned(),
    }
}

fn answer(answer: Result<Grant, TryAcquireError>) -> Result<Grant, RemoteError<TryAcquireError>> {
    answer.map_err(|error| match error {
        TryAcquireError::Denied(denied) => RemoteError::Denied(denied),
        error => RemoteError::Failed(error),
    })
}

/// Implements the trait for a limiter, whose runner is `$bounds`, and each form of keys.
macro_rules! remote {
    ($Limiter:ident, $($bounds:tt)+) => {
        impl<R: $($bounds)+> RemoteLimiter<str> for $Limiter<R> {
            type Error = TryAcquireError;

            async fn try_acquire(
                &self,
                key: &str,
                permits: u64,
            ) -> Result<Grant, RemoteError<TryAcquireError>> {
                answer($Limiter::try_acquire(self, key, permits).await)
            }
        }

        impl<R: $($bounds)+> RemoteLimiter<ClientKey> for $Limiter<R> {
            type Error = TryAcquireError;

            async fn try_acquire(
                &self,
                key: &ClientKey,
                permits: u64,
            ) -> Result<Grant, RemoteError<TryAcquireError>> {
                answer($Limiter::try_acquire(self, &client(*key), permits).await)
            }
        }

        impl<R: $($bounds)+> RemoteLimiter<All> for $Limiter<R> {
            type Error = TryAcquireError;

            async fn try_acquire(
                &self,
                _: &All,
                permits: u64,
            ) -> Result<Grant, RemoteError<TryAcquireError>> {
                answer($Limiter::try_acquire(self, GLOBAL, permits).await)
            }
        }
    };
}

remote!(RedisLimiter, RunScript);
remote!(LeasedLimiter, RunScript + 'static);
