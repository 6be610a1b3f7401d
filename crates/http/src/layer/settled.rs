//! Limits whose requests are settled when their responses are known.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use http::request;
use http::response::Parts;
use sluicegate::{AsKey, Clock, Denied, Each, Grant, Keyed, KeyedLimiter, Observe, Settle};

use super::limit::Limit;
use super::request_key::RequestKey;
use crate::client_address::ClientKey;

/// A request that was charged, to be settled with what it has used.
///
/// Dropping it keeps it charged as it is.
#[must_use = "to drop a charge is to keep all of it"]
pub struct Charge {
    grant: Grant,
    settle: Box<dyn FnOnce(u64) + Send>,
}

impl Charge {
    /// Returns a charge that `settle` settles.
    pub fn new(grant: Grant, settle: impl FnOnce(u64) + Send + 'static) -> Charge {
        Charge { grant, settle: Box::new(settle) }
    }

    /// Returns the grant.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Settles it: what was not used is given back, and what was used beyond it is taken, as far as the
    /// limiter can.
    pub fn settle(self, used: u64) {
        (self.settle)(used);
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charge").field("grant", &self.grant).finish_non_exhaustive()
    }
}

/// Stores whose requests can be settled by key: an `Arc` of a [`Keyed`] of [`Each`] of `Arc`s of a limiter
/// with [`Settle`].
pub trait SettleByKey<Q: ?Sized>: KeyedLimiter<Q> {
    /// Takes all of `permits` for the key, or none, for a request that is settled later. May allocate.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn try_charge(&self, key: &Q, permits: u64) -> Result<Charge, Denied>;
}

impl<K, L, F, C, S, O, Q> SettleByKey<Q> for Arc<Keyed<K, Each<Arc<L>, F, C>, S, O>>
where
    K: Hash + Eq + Send + Sync + 'static,
    L: Settle + 'static,
    F: Fn(&K) -> Arc<L> + Send + Sync + 'static,
    C: Clock + Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
    O: Observe<Q> + Send + Sync + 'static,
    Q: AsKey<K> + ToOwned<Owned: Send + Sync> + Sync + ?Sized + 'static,
    Self: KeyedLimiter<Q>,
{
    fn try_charge(&self, key: &Q, permits: u64) -> Result<Charge, Denied> {
        let estimate = self.try_acquire_settleable_owned(key, permits)?;
        Ok(Charge::new(estimate.grant(), move |used| {
            // What it cannot take is lost.
            let _ = estimate.settle(used);
        }))
    }
}

/// The limiter that charges, and what a response says was used.
pub(super) struct Settled {
    pub(super) by: Charging,
    used: Used,
}

type Used = Box<dyn Fn(&Parts) -> Option<u64> + Send + Sync>;

pub(super) enum Charging {
    All(Box<dyn Fn(u64) -> Result<Charge, Denied> + Send + Sync>),
    Client(Box<dyn SettleByKey<ClientKey>>),
    Text(Box<dyn SettleByKey<str>>),
}

impl Settled {
    fn new(by: Charging, used: impl Fn(&Parts) -> Option<u64> + Send + Sync + 'static) -> Settled {
        Settled { by, used: Box::new(used) }
    }

    /// Settles a charge as the response says.
    pub(super) fn settle(&self, charge: Charge, response: &Parts) {
        if let Some(used) = (self.used)(response) {
            charge.settle(used);
        }
    }
}

/// Limits that are settled. The permits that a request takes at first, its [cost](Limit::cost), are an
/// estimate. When the service has responded, `used` tells from the status and the fields of the response
/// what it has used: `Some(0)` gives everything back, and `None` keeps the estimate. The estimate is also
/// kept if the service fails, or if the client goes away before it responds.
///
/// Other requests can take at once the permits that are given back. Use beyond the estimate is taken
/// as far as the limiter allows a debt. [`Settle`] says which limiters can do that. Fields tell what was
/// left before the settlement.
///
/// Allocates for each request.
impl Limit {
    /// Limits all requests together, and settles each.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::{SettleableBucket, quota};
    /// use sluicegate_http::layer::Limit;
    ///
    /// let tokens = Arc::new(SettleableBucket::new(quota!(100_000 / minute)));
    /// let limit = Limit::of_all_settled(tokens, |response| {
    ///     response.headers.get("x-tokens-used")?.to_str().ok()?.parse().ok()
    /// })
    /// .cost(|_| 2_000);
    /// ```
    #[must_use]
    pub fn of_all_settled<L: Settle + 'static>(
        limiter: Arc<L>,
        used: impl Fn(&Parts) -> Option<u64> + Send + Sync + 'static,
    ) -> Limit {
        let charged = Arc::clone(&limiter);
        let charge = move |permits| {
            let estimate = charged.try_acquire_settleable_owned(permits)?;
            Ok(Charge::new(estimate.grant(), move |used| {
                // What it cannot take is lost.
                let _ = estimate.settle(used);
            }))
        };
        Limit::of_all(limiter).settled(Settled::new(Charging::All(Box::new(charge)), used))
    }

    /// Limits each client by its address, and settles each request.
    ///
    /// # Examples
    ///
    /// Five failed log-ins an hour; those that succeed do not count.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::{Each, FixedWindow, Keyed, MonotonicClock, rate};
    /// use sluicegate_http::client_address::ClientKey;
    /// use sluicegate_http::layer::Limit;
    ///
    /// let window = |_: &ClientKey| {
    ///     Arc::new(FixedWindow::new(rate!(5 / hour)).expect("the limit is in range"))
    /// };
    /// let store = Keyed::<ClientKey, _>::with(Each::new(window));
    /// let limit = Limit::per_client_settled(Arc::new(store), |response| {
    ///     response.status.is_success().then_some(0)
    /// });
    /// ```
    #[must_use]
    pub fn per_client_settled(
        store: impl SettleByKey<ClientKey> + Clone + 'static,
        used: impl Fn(&Parts) -> Option<u64> + Send + Sync + 'static,
    ) -> Limit {
        let settled = Settled::new(Charging::Client(Box::new(store.clone())), used);
        Limit::per_client(store).settled(settled)
    }

    /// Limits each key that a function finds in a request, as [`per_key`](Limit::per_key) does, and settles
    /// each request.
    #[must_use]
    pub fn per_key_settled(
        store: impl SettleByKey<str> + Clone + 'static,
        key: impl for<'r> Fn(&'r request::Parts) -> RequestKey<'r> + Send + Sync + 'static,
        used: impl Fn(&Parts) -> Option<u64> + Send + Sync + 'static,
    ) -> Limit {
        let settled = Settled::new(Charging::Text(Box::new(store.clone())), used);
        Limit::per_key(store, key).settled(settled)
    }
}
