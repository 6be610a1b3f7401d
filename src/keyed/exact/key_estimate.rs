//! Estimates of a key's limiter: taken by key, and settled by key.
//!
//! An estimate outlives the lock of its key's shard, so the key may be removed before it is
//! settled. (It is not evicted: a limiter whose `Arc` is held is not idle.) It keeps the limiter that was charged, by an `Arc` of its own. So that limiter's address is
//! nobody else's, and comparing it with that of the key's present limiter tells whether they are one.
//!
//! * They are one: the estimate is settled as it would be without keys. Permits are given back after
//!   the lock is released, because callers in line may be woken: user code. If the key is removed
//!   in between, they are given back to a limiter that no call finds any more.
//! * The key is forgotten, or has another limiter: nothing is given back. What was used beyond the
//!   estimate is taken from the present limiter, under the lock, so that the key is not evicted in
//!   between and no use is lost. (If that heals a limiter whose clock was set back, it wakes its line
//!   under the lock: such a waker must not call the store.)

mod owned;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};

use crate::decision::all_or_none::Revocable;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::settled::{Settled, Unpaid};
use crate::keyed::observe::Observe;
use crate::limiter::Limiter;
use crate::settle::Settle;
use crate::settle::estimate::detached::Detached;
use crate::settle::estimates::{Settling, settling};
use crate::time::clock::Clock;

use super::Keyed;
use super::as_key::AsKey;
use super::each::Each;

/// An [`Estimate`](crate::settle::Estimate) of the limiter of one key, to be settled when it is known what
/// was used.
///
/// [`Keyed::try_acquire_settleable`] returns it, and
/// [`try_acquire_settleable_owned`](Keyed::try_acquire_settleable_owned) one that borrows nothing. It
/// holds no lock, and keeps the key from being evicted. **Dropping it keeps it charged as it is.**
///
/// While the key's limiter is the one that was charged, it is settled as that limiter's
/// [`Estimate`](crate::settle::Estimate) would be. If the key was removed since, whether or not it has come back:
///
/// * what was not used is **lost**, and the key's new limiter gains nothing by it;
/// * what was used beyond the estimate is taken from the key's present limiter, which is
///   made if there is none. So no use is lost.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use sluicegate::*;
/// use sluicegate::keyed::Each;
/// use sluicegate::bucket::SettleableBucket;
/// use sluicegate::settle::Settle;
///
/// let clock = ManualClock::new();
/// let each = Each::with_clock(
///     |_: &String| Arc::new(SettleableBucket::with_clock(quota!(10_000 / minute), &clock)),
///     &clock,
/// );
/// let tenants = Keyed::<String, _>::with(each);
///
/// let first = tenants.try_acquire_settleable("ada", 6_000)?;
/// let second = tenants.try_acquire_settleable("ada", 4_000)?;
/// assert!(tenants.try_acquire("ada", 1).is_err());
/// assert_eq!(first.settle(1_000)?.given_back(), 5_000);
/// assert!(tenants.try_acquire("ada", 4_000).is_ok());
///
/// // Forgotten meanwhile: nothing comes back.
/// tenants.remove("ada");
/// tenants.try_acquire("ada", 9_000)?;
/// assert_eq!(second.settle(500)?.lost(), 3_500);
/// assert_eq!(tenants.peek("ada", 0)?.remaining(), 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "to drop an estimate is to keep all of it charged"]
pub struct KeyEstimate<'a, Q: ?Sized, L> {
    home: Home<'a, Q, L>,
    limiter: Arc<L>,
    grant: Grant,
    permits: u64,
    /// `None` if a call of the limiter panicked: then nothing is given back any more.
    detached: Option<Detached>,
}

/// The store that an estimate was taken from, and its key there.
enum Home<'a, Q: ?Sized, L> {
    Borrowed {
        store: &'a dyn HasTenants<Q, L>,
        key: &'a Q,
    },
    /// The store is kept alive, and the key is as a map would own it.
    Owned {
        store: Arc<dyn HasTenants<Q, L> + Send>,
        key: Box<dyn Borrow<Q> + Send + Sync>,
    },
}

impl<Q: ?Sized, L> Home<'_, Q, L> {
    fn parts(&self) -> (&dyn HasTenants<Q, L>, &Q) {
        match self {
            Home::Borrowed { store, key } => (*store, key),
            Home::Owned { store, key } => (&**store, (**key).borrow()),
        }
    }
}

/// A store of limiters that are shared with estimates. It is a trait, since an estimate names neither the type of the
/// store's keys nor those of its makers, clocks and observers.
pub(super) trait HasTenants<Q: ?Sized, L>: Sync {
    /// Returns whether `limiter` is that of the key.
    fn is_tenant(&self, key: &Q, limiter: &Arc<L>) -> bool;

    /// Calls `call` with the limiter of the key, which is made if there is none, under the lock.
    ///
    /// # Errors
    ///
    /// [`Denied::Full`].
    fn with_tenant(&self, key: &Q, call: &mut dyn FnMut(&Arc<L>)) -> Result<(), Denied>;
}

impl<K, L, F, C, S, O, Q> HasTenants<Q, L> for Keyed<K, Each<Arc<L>, F, C>, S, O>
where
    K: Hash + Eq + Send + Sync,
    L: Limiter,
    F: Fn(&K) -> Arc<L> + Sync,
    C: Clock + Sync,
    S: BuildHasher + Sync,
    O: Sync,
    Q: AsKey<K> + ?Sized,
{
    fn is_tenant(&self, key: &Q, limiter: &Arc<L>) -> bool {
        let is_same = self.store.known(self.place(key), key, |tenant| Arc::ptr_eq(tenant, limiter));
        is_same.unwrap_or(false)
    }

    fn with_tenant(&self, key: &Q, call: &mut dyn FnMut(&Arc<L>)) -> Result<(), Denied> {
        self.with_limiter(key, call)
    }
}

/// Stores whose limiters are shared, by an [`Arc`], with the estimates that were taken from them.
impl<K, L, F, C, S, O> Keyed<K, Each<Arc<L>, F, C>, S, O>
where
    K: Hash + Eq + Send + Sync,
    L: Settle,
    F: Fn(&K) -> Arc<L> + Sync,
    C: Clock + Sync,
    S: BuildHasher + Sync,
    O: Sync,
{
    /// Takes all of `permits` for the key, or none, for a caller that knows afterwards how much it has
    /// used: see [`KeyEstimate`].
    ///
    /// For an [`Each`] of `Arc`s of a limiter that implements [`Settle`]. The observer is told as by
    /// [`try_acquire`](Keyed::try_acquire). Does not allocate if the key is known; locks the key's shard
    /// as [`with_limiter`](Keyed::with_limiter) does, for the time of one call of the limiter.
    ///
    /// # Errors
    ///
    /// The limiter's error; and [`Denied::Full`] if the key is not known and there is no space for it,
    /// whatever [`WhenFull`](crate::keyed::WhenFull) says: there is no limiter that could be settled.
    #[doc(alias = "reserve", alias = "precharge")]
    pub fn try_acquire_settleable<'a, Q>(
        &'a self,
        key: &'a Q,
        permits: u64,
    ) -> Result<KeyEstimate<'a, Q, L>, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        let taken = self.with_limiter(key, |limiter| {
            let estimate = limiter.try_acquire_settleable(permits)?;
            Ok((Arc::clone(limiter), estimate.detach()))
        });
        let estimate = taken.and_then(|taken| taken).map(|(limiter, detached)| KeyEstimate {
            home: Home::Borrowed { store: self, key },
            limiter,
            grant: detached.grant(),
            permits: detached.permits(),
            detached: Some(detached),
        });
        let answer = estimate.as_ref().map(|estimate| &estimate.grant);
        self.observer.decided(key, permits, answer);
        estimate
    }
}

impl<Q: ?Sized, L: Settle> KeyEstimate<'_, Q, L> {
    /// Returns the grant.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the permits that are charged: those of the grant, less those given back.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Settles with what was used in fact, as [`Estimate::settle`](crate::settle::Estimate::settle) does, if
    /// the key still has the limiter that was charged; see [`KeyEstimate`] for what is done otherwise.
    ///
    /// Locks the key's shard for a moment, as [`with_limiter`](Keyed::with_limiter) does. Does not allocate,
    /// unless more was used and the key is not known.
    ///
    /// # Errors
    ///
    /// [`Unpaid`] if more was used than the key's limiter can be charged with, or if the key is not
    /// known and there is no space for it.
    pub fn settle(mut self, actual: u64) -> Result<Settled, Unpaid> {
        let Some(more @ 1..) = actual.checked_sub(self.permits) else {
            let rest = self.permits - actual;
            let given_back = self.give_back(rest);
            return Ok(Settled { given_back, lost: rest - given_back, taken_beyond: 0 });
        };
        let mut outcome = Err(Unpaid { permits: more, settled: Settled::default() });
        let charged = &self.limiter;
        let mut detached = self.detached.take();
        let (store, key) = self.home.parts();
        // An error leaves the outcome as it is.
        _ = store.with_tenant(key, &mut |tenant: &Arc<L>| {
            let is_ours = Arc::ptr_eq(tenant, charged);
            if let Some(estimate) = is_ours.then(|| tenant.take_up(&mut detached)).flatten() {
                outcome = estimate.settle(actual);
            } else if let Ok(nothing) = tenant.try_acquire_settleable(0) {
                outcome = nothing.settle(more);
            }
        });
        outcome
    }

    /// Gives back `permits` of those that are charged, or all if there are fewer; the estimate keeps
    /// the others. Returns how many were taken off what the key's limiter has charged, as
    /// [`Estimate::give_back`](crate::settle::Estimate::give_back) does: none if it is no longer the one that was
    /// charged.
    ///
    /// Locks the key's shard shared for a moment. Does not allocate.
    #[doc(alias = "refund")]
    pub fn give_back(&mut self, permits: u64) -> u64 {
        let permits = permits.min(self.permits);
        self.permits -= permits;
        let (store, key) = self.home.parts();
        if store.is_tenant(key, &self.limiter)
            && let Some(mut estimate) = self.limiter.take_up(&mut self.detached)
        {
            let given_back = estimate.give_back(permits);
            self.detached = Some(estimate.detach());
            return given_back;
        }
        self.detached = self.detached.take().map(|detached| detached.less(permits));
        0
    }
}

impl<Q: ?Sized, L: Settle> Revocable for KeyEstimate<'_, Q, L> {
    fn revoke(mut self) -> bool {
        let charged = self.permits;
        self.give_back(charged) == charged
    }
}

impl<Q: ?Sized + fmt::Debug, L: Settle> Settling for KeyEstimate<'_, Q, L> {
    settling!();
}

impl<Q: ?Sized + fmt::Debug, L> fmt::Debug for KeyEstimate<'_, Q, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyEstimate")
            .field("key", &self.home.parts().1)
            .field("permits", &self.permits)
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}
