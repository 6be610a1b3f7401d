//! The public operations.

#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::lease::Lease;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::limiter::leaving::{Leaving, counted_beside};
use crate::thread_index::thread_index;
use crate::time::clock::Clock;

use super::Sharded;
use super::handle::Shard;

impl<C: Clock> Sharded<C> {
    /// Takes all of `permits`, or none if too few are available.
    ///
    /// Lock-free; does not allocate. The exception is a thread's first call to any limiter with
    /// shards: it takes a process-wide lock to get the thread's number. If this thread's shard has
    /// the permits, reads no clock, and no line that other threads write; if not, reads the clock
    /// one to five times (more often if the limiter heals, see [`Clock`]). A request for 0 permits
    /// is always granted and changes nothing. A denial that names a wait is written to the shard's
    /// denial cache; a cached denial writes nothing.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if there are too few now. It carries the shortest wait that suffices (in
    ///   a cached denial, as of the time of caching if permits were granted since).
    /// * [`Denied::Leased`] if there are too few now, and leases and receipts hold the capacity for
    ///   some of them, so that waiting alone does not help.
    /// * [`Denied::TooLarge`] if there can never be that many: more than the burst.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    ///
    /// let limiter = Sharded::builder(quota!(2 / second)).shards(4).clock(ManualClock::new()).build()?;
    /// assert!(limiter.try_acquire(2).is_ok());
    /// let denied = limiter.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// limiter.clock().advance(Duration::from_millis(500));
    /// assert!(limiter.try_acquire(1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "check", alias = "allow")]
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.acquire_by(thread_index, permits)
    }

    /// Takes as many of `permits` as are available, at least one.
    ///
    /// Acts as [`try_acquire`](Sharded::try_acquire), repeated with fewer permits until it grants.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] if not even one permit is available; [`Denied::Leased`] if leases hold the
    /// capacity for all.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.acquire_up_to_at(thread_index(), permits)
    }

    /// Returns the answer that [`try_acquire`](Sharded::try_acquire) would give now, without taking
    /// anything.
    ///
    /// Checks the root and all shards, so `peek(0)` counts all permits except those that leases
    /// hold. Lock-free; does not allocate; reads the clock once or twice. Writes nothing, with two
    /// exceptions: a refusal releases the empty capacity that the request needs, as in
    /// [`try_acquire`](Sharded::try_acquire); and a clock that was set back heals the limiter (see
    /// [`Clock`]).
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Sharded::try_acquire).
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.look_for::<false>(permits, 0)
    }

    /// Takes all of `permits`, or none if fewer than `reserve` would remain.
    ///
    /// A request of less importance leaves so much for others: see [`Leaving`]. Exact: at the instant of the
    /// grant, at least the reserve remains in the root and in what this call is moving between shards, which
    /// nobody else can take. Permits in leases do not count.
    ///
    /// Such a request never spends from a shard by itself. It costs what it costs a
    /// [`TokenBucket`](crate::TokenBucket): a compare-and-swap on the line that all callers share. If the root has too
    /// few, it first takes the tokens of shards, which then spend from the root or from this caller's shard. So ask
    /// by [`try_acquire`](Sharded::try_acquire) for the class with the reserve 0. A denial looks at all shards,
    /// unless it is cached; it releases the empty capacity of shards, which interrupts
    /// [CPUs](Sharded#shards-of-cpus), only near the limit, or if permits and reserve together are nearly the whole
    /// burst.
    ///
    /// Lock-free; does not allocate; reads the clock one to five times. In all else the same as
    /// [`try_acquire`](Sharded::try_acquire).
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] with the shortest wait after which `permits` and `reserve` are there together.
    /// * [`Denied::Leased`] if leases and receipts hold the capacity for some of both.
    /// * [`Denied::TooLarge`] if both are more than the burst.
    ///
    /// The limit that the last two tell is without the reserve.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, Sharded, quota};
    ///
    /// let limiter = Sharded::builder(quota!(1_000 / second)).shards(4).clock(ManualClock::new()).build()?;
    /// limiter.try_acquire(1)?;
    /// // Batches leave a half to others.
    /// assert!(limiter.try_acquire_leaving(499, 500).is_ok());
    /// assert!(limiter.try_acquire_leaving(1, 500).is_err());
    /// assert!(limiter.try_acquire(500).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.acquire_leaving(thread_index, permits, reserve)
    }

    /// Returns the answer that [`try_acquire_leaving`](Sharded::try_acquire_leaving) would give now, without taking
    /// anything. In all else the same as [`peek`](Sharded::peek).
    ///
    /// # Errors
    ///
    /// As for [`try_acquire_leaving`](Sharded::try_acquire_leaving).
    pub fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let kept = counted_beside(permits, reserve);
        self.look_for::<true>(permits, kept).map_err(|denied| denied.leaving(reserve))
    }

    /// Adds `permits` to the balance, at most to full.
    ///
    /// Use it for permits that were not used after all, such as those of a request that failed, or
    /// for permits that a customer bought. In any span of time the limiter then admits at most the
    /// burst, and its earnings and credits in that span. The excess is dropped;
    /// [leases](Lease) and [receipts](Receipt) keep the capacity that they hold. (If other calls are
    /// moving tokens between shards at that moment, or the quota is being changed, permits for which
    /// only their capacity has space are lost too.) A grant that is credited must not be given back
    /// by its receipt. A credit of 0 permits does nothing.
    ///
    /// Exact: the fraction of a permit that has been earned stays, and so does the schedule of an
    /// interval refill. The permits go to the root, where all shards find them, and empty capacity
    /// of the shards goes back there first: so a credit writes lines that all callers share. Waits
    /// for other changes in progress (`reset`, `restore`, `reconfigure`, `credit`, healing); no call
    /// that takes permits waits for it. Does not allocate; reads the clock twice, and again after
    /// each race that it loses.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let limiter = Sharded::builder(quota!(1_000 / second)).shards(4).clock(ManualClock::new()).build()?;
    /// limiter.try_acquire(800)?;
    /// limiter.credit(300);
    /// assert_eq!(limiter.peek(0)?.remaining(), 500);
    /// limiter.credit(1_000_000);
    /// assert_eq!(limiter.peek(0)?.remaining(), 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "refund", alias = "put_back", alias = "add_tokens")]
    pub fn credit(&self, permits: u64) {
        if permits == 0 {
            return;
        }
        let (_, spare) = self.shards.look();
        if spare > 0 {
            self.close_all(0);
        }
        self.root.credit(permits);
        self.shards.returned();
    }

    /// Returns a handle that uses the shard at `index`, wrapped to the number of shards.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, Sharded, quota};
    ///
    /// let limiter = Sharded::builder(quota!(1_000 / second)).shards(4).clock(ManualClock::new()).build()?;
    /// let of_core_3 = limiter.shard(3);
    /// assert!(of_core_3.try_acquire(1).is_ok());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[must_use]
    pub fn shard(&self, index: usize) -> Shard<'_, C> {
        Shard { limiter: self, index }
    }
}

impl<C: Clock + Sync> Sharded<C> {
    /// Takes up to `permits`, at least one, for the caller to hold and spend without any atomic
    /// operation: see [`Lease`].
    ///
    /// Dropping the lease always returns the unspent permits. A lease takes permits from this
    /// thread's shard, then from the root; it takes from other shards only if there would be none
    /// otherwise. It holds at most [`Lease::MAX`]; a lease of 0 permits is always granted.
    /// Lock-free; does not allocate; reads the clock at most once for each place that it checks.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] if not even one permit is available; [`Denied::Leased`] if leases hold the
    /// capacity for all.
    pub fn lease(&self, permits: u64) -> Result<Lease<'_>, Denied> {
        self.lease_at(thread_index(), permits)
    }

    /// Takes all of `permits` or none, for the caller to hold and spend: see [`Lease`].
    ///
    /// If this thread's shard and the root have too few, but all shards together have enough, the
    /// permits are taken as [`try_acquire`](Sharded::try_acquire) takes them, and those that are
    /// not spent are lost. In all else the same as [`lease`](Sharded::lease).
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Sharded::try_acquire); [`Denied::TooLarge`] also for more
    /// than [`Lease::MAX`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, Sharded, quota};
    ///
    /// let limiter = Sharded::builder(quota!(10 / second)).shards(2).clock(ManualClock::new()).build()?;
    /// let lease = limiter.lease_exact(8)?;
    /// assert_eq!(lease.left(), 8);
    /// assert!(limiter.lease_exact(8).is_err());
    /// drop(lease);
    /// assert!(limiter.lease_exact(8).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lease_exact(&self, permits: u64) -> Result<Lease<'_>, Denied> {
        self.lease_exact_at(thread_index(), permits)
    }

    /// Takes a lease as [`lease`](Sharded::lease) does. The lease keeps the limiter alive, so it can be
    /// moved to another thread or kept in a struct.
    ///
    /// # Errors
    ///
    /// As for [`lease`](Sharded::lease).
    #[cfg(target_has_atomic = "ptr")]
    pub fn lease_owned(self: &Arc<Self>, permits: u64) -> Result<Lease<'static>, Denied>
    where
        C: Send + 'static,
    {
        Ok(self.lease(permits)?.owned(Arc::clone(self) as _))
    }

    /// Takes a lease as [`lease_exact`](Sharded::lease_exact) does. The lease keeps the limiter alive,
    /// as with [`lease_owned`](Sharded::lease_owned).
    ///
    /// # Errors
    ///
    /// As for [`lease_exact`](Sharded::lease_exact).
    #[cfg(target_has_atomic = "ptr")]
    pub fn lease_exact_owned(self: &Arc<Self>, permits: u64) -> Result<Lease<'static>, Denied>
    where
        C: Send + 'static,
    {
        Ok(self.lease_exact(permits)?.owned(Arc::clone(self) as _))
    }

    /// Takes permits as [`try_acquire`](Sharded::try_acquire) does, and returns a [`Receipt`] that can
    /// give the permits back. Their capacity stays reserved while the receipt lives.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Sharded::try_acquire).
    pub fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.acquire_revocable_at(thread_index(), permits)
    }
}

impl<C: Clock + Send + Sync> Limiter for Sharded<C> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.acquire_by(thread_index, permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.acquire_up_to_at(thread_index(), permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.peek(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.acquire_revocable_at(thread_index(), permits)
    }

    fn reset(&self) {
        self.reset();
    }

    fn healed(&self) -> u64 {
        self.healed()
    }
}

impl<C: Clock + Send + Sync> Leaving for Sharded<C> {
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.try_acquire_leaving(permits, reserve)
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.peek_leaving(permits, reserve)
    }
}
