//! The public verbs.

use crate::config::quota::Quota;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::lease::Lease;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::thread_index::thread_index;
use crate::time::clock::Clock;

use super::Sharded;
use super::handle::Shard;

impl<C: Clock> Sharded<C> {
    /// Takes all of `permits`, or none if there are not enough.
    ///
    /// Lock-free; does not allocate, except that the first call of a thread to any limiter
    /// with shards takes a lock of the process, to get the thread a number. If this
    /// thread's shard has the permits it reads no clock, and no line that other threads
    /// write; if not, it reads the clock one to five times (oftener where the limiter heals,
    /// see [`Clock`]). Asking for 0 permits is always granted and changes nothing. A denial that
    /// names a wait writes what is to be remembered of it; one that is remembered writes
    /// nothing.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if there are too few now. It knows the least wait that suffices
    ///   (of one that is remembered: as it was then, if any were granted since).
    /// * [`Denied::Leased`] if there are too few now, and leases and receipts hold the room for
    ///   some of them, so that no time alone will do.
    /// * [`Denied::TooLarge`] if there can never be that many: more than the burst.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    ///
    /// let limiter = Sharded::with_shards(quota!(2 / second), 4, ManualClock::new())?;
    /// assert!(limiter.try_acquire(2).is_ok());
    /// let denied = limiter.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// limiter.clock().advance(Duration::from_millis(500));
    /// assert!(limiter.try_acquire(1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.acquire_at(thread_index(), permits)
    }

    /// Takes as many of `permits` as there are, at least one.
    ///
    /// As [`try_acquire`](Sharded::try_acquire), asked again with fewer until it grants.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] if there is not one permit; [`Denied::Leased`] if leases hold the room
    /// for all.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.acquire_up_to_at(thread_index(), permits)
    }

    /// The answer that [`try_acquire`](Sharded::try_acquire) would give now. Takes nothing.
    ///
    /// Looks at the root and at all shards, so `peek(0)` counts all the permits there
    /// are, but for those that leases hold. Lock-free; does not allocate; reads the clock
    /// once or twice. Writes nothing, but that a refusal closes the empty room that the
    /// request needs, as that of [`try_acquire`](Sharded::try_acquire) does; and that a clock
    /// which was set back heals the limiter (see [`Clock`]).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Sharded::try_acquire).
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        let (outside, _) = self.shards.look();
        let reading = self.root.look_at(self.clock().now_nanos());
        let forecast = reading.forecast().paid_off().with_more(outside as i64);
        if permits > forecast.remaining()
            && let Some(denied) = self.refusal(permits, reading)
        {
            return Err(denied);
        }
        let forecast = forecast.with_more(0_i64.saturating_sub_unsigned(permits));
        Ok(Grant { permits, forecast })
    }

    /// The limiter, by way of the shard at `index`, counted round.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, Sharded, quota};
    ///
    /// let limiter = Sharded::with_shards(quota!(1_000 / second), 4, ManualClock::new())?;
    /// let of_core_3 = limiter.shard(3);
    /// assert!(of_core_3.try_acquire(1).is_ok());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[must_use]
    pub fn shard(&self, index: usize) -> Shard<'_, C> {
        Shard { limiter: self, index }
    }

    /// The number of shards; 0 if they have not been needed yet.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.count()
    }

    /// The bytes that the limiter takes: its own, and those of its shards.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self) + self.shards.places().bytes()
    }

    /// The quota in force. Reads the clock.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.root.terms().quota()
    }

    /// Counts how often the limiter found its level impossibly far ahead of the clock, and
    /// started again from full. See [`Clock`] for when that is.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.root.healed()
    }

    /// The clock that the limiter reads.
    #[must_use]
    pub fn clock(&self) -> &C {
        self.root.clock()
    }
}

impl<C: Clock + Sync> Sharded<C> {
    /// Takes up to `permits`, at least one, for the caller to hold and spend without any
    /// atomic operation: see [`Lease`].
    ///
    /// What is left goes back when the lease is dropped, always. It takes what the shard
    /// of this thread has, then what the root has; from other shards only what makes
    /// the difference to none. At most [`Lease::MAX`]; 0 are always granted. Lock-free; does
    /// not allocate; reads the clock at most once for each of the places it looks at.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] if there is not one permit; [`Denied::Leased`] if leases hold the room
    /// for all.
    pub fn lease(&self, permits: u64) -> Result<Lease<'_>, Denied> {
        self.lease_at(thread_index(), permits)
    }

    /// As [`try_acquire`](Sharded::try_acquire), with a [`Receipt`] by which the permits
    /// can be given back. The room for them is kept as long as it lives.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Sharded::try_acquire).
    pub fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.acquire_revocable_at(thread_index(), permits)
    }
}

impl<C: Clock + Sync> Limiter for Sharded<C> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.acquire_at(thread_index(), permits)
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
}
