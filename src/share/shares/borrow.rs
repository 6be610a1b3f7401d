//! Permits that are lent: of the common bucket above what is kept, and below a tenant's ceiling.

use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::as_key::AsKey;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;

use super::Shares;
use super::group::Group;
use super::refusal::{both, sooner};

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Shares<K, C, S> {
    /// Borrows for a tenant that has no share.
    #[inline(never)]
    pub(super) fn borrow_without_share(&self, permits: u64) -> Result<Grant, Denied> {
        self.borrow::<true>(permits, self.common.clock().now_nanos())
    }

    /// Borrows for a tenant whose share was `denied`. Not inlined, so that a caller that does not use a grant of its share
    /// need not have it computed.
    #[inline(never)]
    pub(super) fn borrow_beyond_share<Q>(
        &self,
        group: &Group<K, C, S>,
        tenant: &Q,
        permits: u64,
        now_nanos: u64,
        denied: Denied,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        self.borrow_below_ceiling(group, tenant, permits, now_nanos)
            .map_err(|other| sooner(denied, other))
    }

    /// Borrows for a tenant of the group, if its ceiling allows it.
    fn borrow_below_ceiling<Q>(
        &self,
        group: &Group<K, C, S>,
        tenant: &Q,
        permits: u64,
        now_nanos: u64,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let Some(ceiling) = &group.ceiling else { return self.borrow::<true>(permits, now_nanos) };
        // First a look, so that those who are refused take nothing of their ceilings.
        let lent = self.borrow::<false>(permits, now_nanos);
        if lent.is_err() {
            return both(lent, Some(ceiling.look(tenant, permits)));
        }
        let has_place = || group.assured.contains(tenant);
        let limited = ceiling.take(tenant, permits, now_nanos, has_place);
        if limited.is_err() {
            return both(lent, Some(limited));
        }
        let lent = self.borrow::<true>(permits, now_nanos).inspect_err(|_| {
            ceiling.buckets.credit(tenant, permits);
        });
        both(lent, Some(limited))
    }

    /// Takes of the common bucket if `SPEND`, and leaves the permits that are kept for the shares. The answer tells of
    /// what is above these.
    pub(super) fn borrow<const SPEND: bool>(
        &self,
        permits: u64,
        now_nanos: u64,
    ) -> Result<Grant, Denied> {
        // ORDERING: Relaxed. Called after an Acquire load of the common bucket's word. If that is from a
        // change or later, this load sees what was kept from that change on, which was stored before the
        // change's CAS (Release). If it is from before, a CAS that comes after the change fails.
        // MODEL: `what_is_borrowed_beside_a_change_leaves_what_the_new_shares_need`.
        let kept = || self.kept.load(Relaxed);
        match self.common.leaving_by_reading::<SPEND>(permits, kept, now_nanos) {
            Ok(grant) => Ok(grant.above(kept())),
            Err(denied) => Err(denied.above(kept())),
        }
    }
}
