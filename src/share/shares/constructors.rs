//! Shares that are checked, and their buckets.

use alloc::boxed::Box;
use core::hash::{BuildHasher, Hash};

use crossbeam_utils::CachePadded;

use crate::bucket::BucketCore;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::keyed::exact::Hasher;
use crate::sync::{AtomicWord, SharedLock};
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::super::tenant_share::{Share, check, indebted};
use super::group::Group;
use super::{InForce, Shares};

impl<K: Hash + Eq> Shares<K> {
    /// Creates a limit of `quota` for all, with a group of tenants for each of `shares`.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::AssuredRate`] or [`ConfigError::AssuredBurst`] with the sum, if the shares are more than the
    ///   quota.
    /// * [`ConfigError::CeilingRate`] or [`ConfigError::CeilingBurst`] if a ceiling is below its share.
    /// * [`ConfigError::ShareRefill`] if a quota has an interval refill.
    /// * [`ConfigError::Count`] unless there are 1 to 64 shares; [`ConfigError::Tenants`] if a group has no
    ///   tenants, or more than 2^32.
    pub fn new(
        quota: impl Into<Quota>,
        shares: impl IntoIterator<Item = Share>,
    ) -> Result<Shares<K>, ConfigError> {
        Shares::with_clock(quota, shares, DefaultClock::default())
    }
}

impl<K: Hash + Eq, C: Clock + Clone> Shares<K, C> {
    /// Creates the shares on `clock`, of which all clones have to tell one time.
    ///
    /// # Errors
    ///
    /// As for [`new`](Shares::new).
    pub fn with_clock(
        quota: impl Into<Quota>,
        shares: impl IntoIterator<Item = Share>,
        clock: C,
    ) -> Result<Shares<K, C>, ConfigError> {
        Shares::with_hasher(quota, shares, clock, Hasher::default())
    }
}

impl<K: Hash + Eq, C: Clock + Clone, S: BuildHasher + Clone> Shares<K, C, S> {
    /// Creates the shares on `clock`, with `hasher` for tenants: a faster one, if nobody chooses their names to do harm.
    ///
    /// # Errors
    ///
    /// As for [`new`](Shares::new).
    pub fn with_hasher(
        quota: impl Into<Quota>,
        shares: impl IntoIterator<Item = Share>,
        clock: C,
        hasher: S,
    ) -> Result<Shares<K, C, S>, ConfigError> {
        let (quota, shares): (Quota, Box<[Share]>) = (quota.into(), shares.into_iter().collect());
        let kept = check(quota, &shares)?;
        let common = BucketCore::new(Terms::of_quota(indebted(quota)), clock.clone());
        let group = move |&share: &Share| Group::new(share, &clock, &hasher);
        Ok(Shares {
            common,
            kept: CachePadded::new(AtomicWord::new(kept)),
            groups: shares.iter().map(group).collect::<Result<_, _>>()?,
            answers: None,
            in_force: SharedLock::new(InForce { quota, shares }),
        })
    }
}
