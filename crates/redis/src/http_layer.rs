//! Limiters on a server behind the layer for web servers: `Remote` of the crate `sluicegate-http`.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use sluicegate::Grant;
use sluicegate::share::ShareGrant;
use sluicegate_http::client_address::ClientKey;
use sluicegate_http::layer::{All, RemoteError, RemoteLimiter};

use crate::{
    LeasedLimiter, RedisLimiter, RedisPriorities, RedisShares, RunScript, TryAcquireError,
};

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

/// Asks for a key by its name, and if that is too long by its digest.
macro_rules! ask {
    ($key:expr, $name:ident => $ask:expr) => {{
        let $name = &named($key);
        match $ask.await {
            Err(TryAcquireError::Key(_)) => {
                let $name = &digest($key);
                $ask.await
            }
            decision => decision,
        }
    }};
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
                answer(ask!(key, name => $Limiter::try_acquire(self, name, permits)))
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

/// Keys are names of classes. A name that no class has is that of the last one, so a layer has to find it in something that a
/// client cannot write, as for `ByPriority` of `sluicegate-http`.
impl<R: RunScript> RemoteLimiter<str> for RedisPriorities<R> {
    type Error = TryAcquireError;

    async fn try_acquire(
        &self,
        class: &str,
        permits: u64,
    ) -> Result<Grant, RemoteError<TryAcquireError>> {
        answer(RedisPriorities::try_acquire(self, self.index(class), permits).await)
    }

    fn class(&self, class: &str) -> Option<&str> {
        self.classes().get(self.index(class)).map(|class| &*class.name)
    }
}

/// [`RedisShares`] behind a layer for web servers: a `Remote` limiter whose keys are tenants.
///
/// The layer has to find the tenant in something that a client cannot write, as for `ByShare` of `sluicegate-http`, to which a
/// `Remote` may fall back. The service is told by a `ByShare` whether permits are the tenant's own, and not by this.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use sluicegate::quota;
/// use sluicegate::share::Share;
/// use sluicegate_http::layer::{Limit, Remote};
/// use sluicegate_redis::{Async, KeySpace, RedisByShare, RedisShares};
///
/// const PAID: usize = 0;
/// const FREE: usize = 1;
///
/// /// The tenant that a layer around this one has found.
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let groups = [
///     Share::new(quota!(150 / second, burst 30)).with_tenants(4),
///     Share::new(quota!(10 / second, burst 2)).with_tenants(40),
/// ];
/// let quota = quota!(1_000 / second, burst 400);
/// let shares = RedisShares::new(quota, groups, KeySpace::new("app:api")?, Async::new(client))?;
/// let tenants = RedisByShare::new(shares, |tenant| if tenant == "acme" { PAID } else { FREE });
/// let tenants = Remote::new(tenants, Duration::from_millis(50)).fail_open();
/// let limit = Limit::per_key(tenants, |request| {
///     request.extensions.get().map(|Tenant(tenant)| tenant.as_str()).into()
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RedisByShare<R> {
    shares: RedisShares<R>,
    group: Box<dyn Fn(&str) -> usize + Send + Sync>,
}

impl<R> RedisByShare<R> {
    /// Limits tenants by their shares. `group` returns the number of the group that a tenant is in; tenants of a group that
    /// there is not can only borrow.
    #[must_use]
    pub fn new(
        shares: RedisShares<R>,
        group: impl Fn(&str) -> usize + Send + Sync + 'static,
    ) -> RedisByShare<R> {
        RedisByShare { shares, group: Box::new(group) }
    }
}

impl<R: RunScript> RemoteLimiter<str> for RedisByShare<R> {
    type Error = TryAcquireError;

    async fn try_acquire(
        &self,
        tenant: &str,
        permits: u64,
    ) -> Result<Grant, RemoteError<TryAcquireError>> {
        let group = (self.group)(tenant);
        let granted = ask!(tenant, name => self.shares.try_acquire(group, name, permits));
        answer(granted.map(ShareGrant::grant))
    }
}

/// Shows the shares.
impl<R: fmt::Debug> fmt::Debug for RedisByShare<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisByShare").field(&self.shares).finish()
    }
}

#[cfg(test)]
mod tests {
    use sluicegate::quota;
    use sluicegate::share::Share;

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

    #[tokio::test]
    async fn classes_behind_a_layer_leave_their_reserves_and_are_named() {
        let server = Server::start();
        let limit = RedisLimit::token_bucket(quota!(4 / day)).unwrap();
        let keys = KeySpace::new("app").unwrap();
        let limiter = RedisLimiter::new(limit, keys, Async::new(server.client()));
        let classes =
            RedisPriorities::by_percent(limiter, [("pages", 0), ("exports", 50)]).unwrap();
        let ask = async |class: &str| RemoteLimiter::<str>::try_acquire(&classes, class, 1).await;
        assert_eq!(RemoteLimiter::<str>::class(&classes, "pages"), Some("pages"));
        for class in ["exports", "anything"] {
            assert_eq!(RemoteLimiter::<str>::class(&classes, class), Some("exports"));
            ask(class).await.unwrap();
        }
        assert!(matches!(ask("exports").await, Err(RemoteError::Denied(_))));
        assert_eq!(ask("pages").await.unwrap().remaining(), 1);
    }

    #[tokio::test]
    async fn tenants_behind_a_layer_have_the_shares_of_their_groups() {
        let server = Server::start();
        let groups = [Share::new(quota!(4 / day)), Share::new(quota!(1 / day)).with_tenants(2)];
        let (keys, runner) = (KeySpace::new("app").unwrap(), Async::new(server.client()));
        let shares = RedisShares::new(quota!(6 / day), groups, keys, runner).unwrap();
        let tenants = RedisByShare::new(shares, |tenant| usize::from(tenant != "paid"));
        let ask = async |tenant: &str, permits| tenants.try_acquire(tenant, permits).await;
        let long = "k".repeat(10_000);
        assert_eq!(ask("paid", 3).await.unwrap().remaining(), 1);
        assert_eq!(ask("free", 1).await.unwrap().remaining(), 0);
        assert!(matches!(ask("free", 1).await, Err(RemoteError::Denied(_))));
        assert_eq!(ask(&long, 1).await.unwrap().remaining(), 0);
        assert!(matches!(ask(&long, 1).await, Err(RemoteError::Denied(_))));
        assert_eq!(ask("paid", 1).await.unwrap().remaining(), 0);
    }
}
