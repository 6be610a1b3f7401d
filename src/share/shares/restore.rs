//! The permits that are left for all, to be restored by other shares.
//!
//! **Theorem.** After [`restore`](Shares::restore) of a snapshot of `q` permits, by a reading at `s`, calls that begin later
//! are granted at most `q + R (t + a)` until `s + t`, with the numbers of the theorem of [`shares`](super).
//!
//! *Proof.* The steps keep `Q + R a >= sum of (V_j + P_j)`. First each tenant's own bucket is emptied: each `V_j` falls to 0.
//! Then the common bucket is set: the sum of the `V_j` is what they have earned since then, at most `R a`. Then, one group
//! after the other, each own bucket is set to `floor(b_j q / F)` where `q` is less than `F`, and to `b_j` otherwise; the
//! sum of these is at most `q`, and all that has been taken since of the common bucket was taken of a `V_j`, or left `F`. ∎
//!
//! Ceilings start from nothing. Assured permits are taken of them in any case, so no tenant is granted more by a ceiling than
//! one that is full.

use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use crate::bucket::carry::Carry;
use crate::decision::snapshot::Snapshot;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;
use crate::time::units;

use super::super::tenant_share::indebted;
use super::Shares;

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Shares<K, C, S> {
    /// Returns the permits that are left for all, to be restored by other shares or by a
    /// [`TokenBucket`](crate::TokenBucket). Says nothing of single tenants.
    ///
    /// Lock-free; does not allocate; reads the clock.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.common.snapshot(0)
    }

    /// Goes on with the permits of `snapshot` for all, plus what the quota earns in the time `away`, as if no
    /// tenant were known.
    ///
    /// If these are enough for all shares, each tenant has its whole share. If they are not, each has a part of its
    /// burst, as large as the part that is there of all of them, and earns the rest at its assured rate. So shares that
    /// take the place of others, with other groups or places, grant no more in any span of time than the more generous
    /// of them would have. Ceilings are earned from nothing.
    ///
    /// If the time away is unknown, `Duration::ZERO` is the safe choice. Waits for changes in progress; goes through the
    /// tenants as [`reconfigure`](Shares::reconfigure) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, quota};
    /// use sluicegate::share::{Share, Shares};
    ///
    /// let clock = ManualClock::new();
    /// let of = |tenants| {
    ///     let share = Share::new(quota!(10 / second, burst 20)).with_tenants(tenants);
    ///     Shares::<u64, _>::with_clock(quota!(100 / second), [share], &clock)
    /// };
    /// let before = of(3)?;
    /// assert!(before.try_acquire(0, &7, 40).is_ok() && before.try_acquire(0, &7, 20).is_ok());
    ///
    /// // With another place, 40 permits are left, and the shares of four tenants are 80.
    /// let now = of(4)?;
    /// now.restore(&before.snapshot(), Duration::ZERO);
    /// assert!((0..4).all(|tenant| now.try_acquire(0, &tenant, 10).is_ok()));
    /// assert!(now.try_acquire(0, &7, 1).is_err());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn restore(&self, snapshot: &Snapshot, away: Duration) {
        // Held throughout: changes wait for each other.
        let in_force = self.in_force.write();
        for (group, share) in self.groups.iter().zip(&in_force.shares) {
            group.assured.reconfigure(share.assured(), Carry::Empty);
            if let (Some(ceiling), Some(quota)) = (&group.ceiling, share.ceiling()) {
                ceiling.buckets.reconfigure(indebted(quota), Carry::Empty);
            }
        }
        self.common.restore(snapshot, units::nanos(away));
        let left = self.common.peek(0).map_or(0, |grant| grant.remaining());
        // ORDERING: Relaxed. A change stores it under the lock that is held.
        // MODEL: none; no other thread can race.
        let of_all = u128::from(self.kept.load(Relaxed));
        for (group, share) in self.groups.iter().zip(&in_force.shares) {
            let whole = share.assured();
            let part = u128::from(whole.burst()) * u128::from(left) / of_all.max(1);
            let part = u64::try_from(part).unwrap_or(u64::MAX).min(whole.burst());
            // Without any, it stays empty.
            if let Ok(quota) = whole.with_burst(part) {
                group.assured.reconfigure(quota, Carry::Reset);
                group.assured.reconfigure(whole, Carry::Keep);
            }
        }
    }
}
