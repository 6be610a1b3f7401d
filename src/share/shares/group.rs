//! The tenants of a group: a bucket for the assured share of each, and one for its ceiling.

use core::hash::{BuildHasher, Hash};

use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::Keyed;
use crate::keyed::exact::as_key::AsKey;
use crate::keyed::exact::buckets::Buckets;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;

use super::super::tenant_share::{Share, indebted};

pub(crate) struct Group<K, C: Clock, S> {
    /// At most as many tenants as the group has places.
    pub(super) assured: Keyed<K, Buckets<C>, S>,
    pub(super) ceiling: Option<Ceiling<K, C, S>>,
}

/// The ceilings of the tenants of a group.
///
/// For more tenants than there are places, so that a place that is taken by another tenant does not forget the permits
/// of the first one; and for a bounded number, because a tenant without a place borrows under any name. If all of
/// them lack something, a tenant without a place borrows nothing more; one that has a place takes the memory of
/// the tenant that lacks least, in a part of the memory.
pub(crate) struct Ceiling<K, C: Clock, S> {
    pub(super) buckets: Keyed<K, Buckets<C>, S>,
    /// The permits that a tenant which borrows leaves: its assured burst.
    pub(super) kept: AtomicWord<u64>,
}

impl<K: Hash + Eq, C: Clock + Clone, S: BuildHasher + Clone> Group<K, C, S> {
    pub(super) fn new(share: Share, clock: &C, hasher: &S) -> Result<Group<K, C, S>, ConfigError> {
        let buckets = |quota: Quota| Buckets::with_clock(quota, clock.clone());
        let assured = Keyed::builder(buckets(share.assured()))
            .hasher(hasher.clone())
            .max_keys(share.tenants())
            .searching_all()
            .build()?;
        let ceiling = |quota| {
            let buckets = Keyed::builder(buckets(indebted(quota)))
                .hasher(hasher.clone())
                .max_keys(share.max_ceilings())
                .searching_all()
                .build()?;
            Ok(Ceiling { buckets, kept: AtomicWord::new(share.assured().burst()) })
        };
        Ok(Group { assured, ceiling: share.ceiling().map(ceiling).transpose()? })
    }
}

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Group<K, C, S> {
    pub(super) fn memory_bytes(&self) -> usize {
        let of_ceiling = self.ceiling.as_ref().map_or(0, |ceiling| ceiling.buckets.memory_bytes());
        self.assured.memory_bytes().saturating_add(of_ceiling)
    }

    pub(super) fn sweep(&self) -> usize {
        let of_ceiling = self.ceiling.as_ref().map_or(0, |ceiling| ceiling.buckets.sweep());
        self.assured.sweep().saturating_add(of_ceiling)
    }

    pub(super) fn healed(&self) -> u64 {
        let of_ceiling = self.ceiling.as_ref().map_or(0, |ceiling| ceiling.buckets.healed());
        self.assured.healed().saturating_add(of_ceiling)
    }
}

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Ceiling<K, C, S> {
    /// Takes `permits` of the ceiling of a tenant that has a place, whatever it holds.
    #[inline(always)]
    pub(super) fn take_in_any_case<Q>(&self, tenant: &Q, permits: u64, now_nanos: u64)
    where
        Q: AsKey<K> + ?Sized,
    {
        while !self.buckets.take_in_any_case(tenant, permits, now_nanos) {
            self.buckets.forget_soonest(tenant);
        }
    }

    /// Takes `permits` of the tenant's ceiling, and leaves its assured burst. If there is no memory for the ceiling, only
    /// a tenant for which `has_place` returns true gets any.
    pub(super) fn take<Q>(
        &self,
        tenant: &Q,
        permits: u64,
        now_nanos: u64,
        has_place: impl Fn() -> bool,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let kept = || self.kept();
        loop {
            match self.buckets.leaving_by_reading(tenant, permits, kept, now_nanos) {
                Err(Denied::Full { .. }) if has_place() => self.buckets.forget_soonest(tenant),
                Err(denied) => return Err(denied.above(kept())),
                Ok(grant) => return Ok(grant.above(kept())),
            }
        }
    }

    /// Returns the answer that the ceiling would give now.
    pub(super) fn look<Q>(&self, tenant: &Q, permits: u64) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let kept = self.kept();
        match self.buckets.peek_leaving(tenant, permits, kept) {
            Ok(grant) => Ok(grant.above(kept)),
            Err(denied) => Err(denied.above(kept)),
        }
    }

    fn kept(&self) -> u64 {
        // ORDERING: Relaxed. Loaded after the tenant's own bucket was asked, under the lock of its shard. A change
        // stores this before it has that lock to raise the assured burst.
        // MODEL: `what_is_borrowed_below_a_ceiling_beside_a_change_leaves_what_the_new_share_needs`.
        self.kept.load(Relaxed)
    }
}
