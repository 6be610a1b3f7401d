//! Limiters on a server behind the layer for web servers: `Remote` of the crate `sluicegate-http`.

use std::borrow::Cow;
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

/// Returns the key for one that is too long: its SHA-1. Clients choose such keys, and as failures they would pass a
/// layer that lets requests pass while the server is away.
fn digest(key: &str) -> String {
    format!("#{}", sha1_smol::Sha1::from(key).digest())
}

/// Returns the name of a key on the server. One that looks like a digest has a digest of its own, or a client could choose
/// that of another's key.
fn named(key: &str) -> Cow<'_, str> {
    if key.starts_with('#') { Cow::Owned(digest(key)) } else { Cow::Borrowed(key) }
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
                let decision = match $Limiter::try_acquire(self, &named(key), permits).await {
                    Err(TryAcquireError::Key(_)) => {
                        $Limiter::try_acquire(self, &digest(key), permits).await
                    }
                    decision => decision,
                };
                answer(decision)
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

#[cfg(test)]
mod tests {
    use sluicegate::quota;

    use super::*;
    use crate::tests::server::Server;
    use crate::{Async, KeySpace, RedisLimit};

    /// A failure would let requests pass, if the layer does so while the server is away.
    #[tokio::test]
    async fn a_client_with_a_key_that_is_too_long_is_limited() {
        let server = Server::start();
        let limit = RedisLimit::token_bucket(quota!(2 / day)).unwrap();
        let limiter =
            RedisLimiter::new(limit, KeySpace::new("app").unwrap(), Async::new(server.client()));
        let ask = async |key: &str| RemoteLimiter::<str>::try_acquire(&limiter, key, 1).await;
        let [long, other] = ["k", "l"].map(|sign| sign.repeat(10_000));
        assert_eq!(ask(&long).await.unwrap().remaining(), 1);
        assert_eq!(ask(&long).await.unwrap().remaining(), 0);
        assert!(matches!(ask(&long).await, Err(RemoteError::Denied(_))));
        assert_eq!(ask(&other).await.unwrap().remaining(), 1);
        // Another client cannot name the digest, and so take that one's permits.
        assert_eq!(ask(&digest(&other)).await.unwrap().remaining(), 1);
    }
}
