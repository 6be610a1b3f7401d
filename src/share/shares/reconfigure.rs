//! Changes of all numbers while calls go on.
//!
//! A change goes in three steps, and `Q + R a >= sum of (V_j + P_j)` of the theorem holds throughout, for the
//! counts that are accrued under the terms of each instant (their slopes are the rates then in force):
//!
//! 1. Each tenant's own quota falls to the lower of the old and the new rate, and of the old and the new burst. The sum
//!    of the rates is then within both rates for all, and the sum of the bursts within both sums. `V_j` does not
//!    grow: the balance is kept or cut off.
//! 2. `F` becomes the new sum, and then the quota for all is changed, which moves the common bucket's word on even if
//!    it stays the same. So a CAS that comes before the change leaves the old or the new sum, each of which covers
//!    the bursts of this step; one that comes after it was decided by the new sum. If the quota for all falls, the
//!    new burst still covers the new sum.
//! 3. Each tenant's own quota becomes the new one. A larger burst does not add to the balance, which may only
//!    grow further, and nobody leaves less than the new sum any more.
//!
//! If the sum falls in step 2, permits may be assured that are not yet taken of the common bucket (`P_j`), of bursts
//! that are no longer kept. (B) and the debt grow by these, which were granted by the old numbers.
//!
//! Before its tenants' bursts are raised in step 3, a ceiling changes, with the burst that is kept below it. A tenant
//! that is to borrow has asked its own bucket first. If that was before it was raised, its reading is from before too,
//! and by that the old burst is enough to leave; otherwise it finds the new ceiling.
//!
//! Between its steps a change keeps the guarantees with the lower of the old and the new shares.

use alloc::boxed::Box;
use core::hash::{BuildHasher, Hash};

use crate::bucket::carry::Carry;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;

use super::super::tenant_share::{Share, check, indebted};
use super::{InForce, Shares};

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Shares<K, C, S> {
    /// Enforces `quota` for all and `shares` for the groups from now on.
    ///
    /// Live, and never retroactive: balances stay, up to the new bursts, and a tenant that is idle does not get
    /// a larger burst at once, but earns it. The guarantees hold throughout. While it goes on, a tenant has for a
    /// moment the lower of its old and its new share. A call that overlaps it is decided by the call's reading of the
    /// clock: if that is older than the burst takes to earn, a tenant may be refused that was within its share.
    /// Permits that are assured when it begins, to calls in progress, count beside the new bound.
    ///
    /// Waits for other changes in progress. Goes through the tenants of all groups twice, and through the ceilings once, as
    /// [`Keyed::reconfigure`](crate::Keyed::reconfigure) does: calls for tenants of a shard wait while it is changed. A call
    /// that borrows is decided again if the change comes in between.
    ///
    /// # Errors
    ///
    /// As for [`new`](Shares::new), and:
    ///
    /// * [`ConfigError::Quotas`] if there are not as many shares as groups.
    /// * [`ConfigError::Group`] if a group has another number of tenants than before, or gets or loses a
    ///   ceiling.
    ///
    /// Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::quota;
    /// use sluicegate::share::{Share, Shares};
    ///
    /// let share = Share::new(quota!(10 / second));
    /// let shares = Shares::<u64>::new(quota!(100 / second), [share])?;
    /// shares.reconfigure(quota!(50 / second), [Share::new(quota!(40 / second))])?;
    /// assert_eq!(shares.quota(), quota!(50 / second));
    ///
    /// let above = shares.reconfigure(quota!(30 / second), [Share::new(quota!(40 / second))]);
    /// let text = "assured rate is 40 per 1s for all tenants together: must be at most 30, the rate for all";
    /// assert_eq!(above.unwrap_err().to_string(), text);
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn reconfigure(
        &self,
        quota: impl Into<Quota>,
        shares: impl IntoIterator<Item = Share>,
    ) -> Result<(), ConfigError> {
        let (quota, shares): (Quota, Box<[Share]>) = (quota.into(), shares.into_iter().collect());
        let kept = check(quota, &shares)?;
        // Held throughout: changes wait for each other.
        let mut in_force = self.in_force.write();
        check_alike(&in_force.shares, &shares)?;
        let InForce { shares: old, .. } = &mut *in_force;
        let lower: Box<[Share]> =
            old.iter().zip(&shares).map(|(&old, new)| old.lowered_to(new.assured())).collect();
        for (group, lower) in self.groups.iter().zip(&lower) {
            group.assured.reconfigure(lower.assured(), Carry::Keep);
        }
        // From here on, if the user's clock panics, the next change begins with these.
        *old = lower;
        // ORDERING: Relaxed. The CAS of the change below is a Release, and publishes it.
        // MODEL: `what_is_borrowed_beside_a_change_leaves_what_the_new_shares_need`.
        self.kept.store(kept, Relaxed);
        self.common.reconfigure(&Terms::of_quota(indebted(quota)), Carry::Keep, 0);
        for (group, new) in self.groups.iter().zip(&shares) {
            if let (Some(ceiling), Some(quota)) = (&group.ceiling, new.ceiling()) {
                // ORDERING: Relaxed. The locks of the shards of `assured`, which are taken below to raise the
                // burst, publish it.
                // MODEL: `what_is_borrowed_below_a_ceiling_beside_a_change_leaves_what_the_new_share_needs`.
                ceiling.kept.store(new.assured().burst(), Relaxed);
                ceiling.buckets.reconfigure(indebted(quota), Carry::Keep);
            }
            group.assured.reconfigure(new.assured(), Carry::Keep);
        }
        *in_force = InForce { quota, shares };
        Ok(())
    }
}

/// Checks that `new` shares are for the same groups as the `old` ones.
fn check_alike(old: &[Share], new: &[Share]) -> Result<(), ConfigError> {
    if old.len() != new.len() {
        return Err(ConfigError::Quotas { quotas: new.len(), tiers: old.len() });
    }
    let are_alike = |(old, new): (&Share, &Share)| {
        old.tenants() == new.tenants() && old.ceiling().is_some() == new.ceiling().is_some()
    };
    match old.iter().zip(new).position(|pair| !are_alike(pair)) {
        Some(group) => Err(ConfigError::Group { group }),
        None => Ok(()),
    }
}
