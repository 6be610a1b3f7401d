//! Changes of the whole limiter, for which the shards are emptied first, and its parts.

use crate::bucket::carry::Carry;
use crate::bucket::terms::Terms;
use crate::config::quota::Quota;
use crate::decision::snapshot::Snapshot;
use crate::time::clock::Clock;
use crate::time::units;

use super::Sharded;
use super::in_transit::InTransit;

impl<C: Clock> Sharded<C> {
    /// Enforces `quota` from now on; `carry` decides what becomes of the tokens, including those of
    /// the shards.
    ///
    /// Live, and never retroactive, as for a [`TokenBucket`](crate::TokenBucket::reconfigure).
    /// Leases keep their permits, and calls in progress the tokens that they are moving; the
    /// unspent part of a lease goes back as far as the new burst has capacity for it. During a
    /// change some tokens cannot be found, so a request may be refused that would otherwise be
    /// granted; and a call that refills from a full root at that moment cuts some of them off.
    ///
    /// Waits for other changes of this limiter in progress; no other operation waits for it. Does
    /// not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    /// use sluicegate::bucket::Carry;
    ///
    /// let limiter = Sharded::builder(quota!(1_000 / second)).shards(4).clock(ManualClock::new()).build()?;
    /// limiter.try_acquire(500)?;
    /// limiter.reconfigure(quota!(100 / second), Carry::Scale);
    /// assert_eq!(limiter.peek(0)?.remaining(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure(&self, quota: impl Into<Quota>, carry: Carry) {
        let terms = Terms::of_quota(quota.into());
        self.change(|tokens| self.root.reconfigure(&terms, carry, tokens));
        self.set_quota_hint();
    }

    /// Makes the limiter full again. The schedule of an interval refill is unchanged.
    ///
    /// Leases keep their permits, which are missing from the root until the leases end. Waits for
    /// other changes of this limiter in progress; no other operation waits for it. Does not
    /// allocate.
    pub fn reset(&self) {
        self.change(|_| self.root.reset());
    }

    /// Returns the permits that the limiter holds, to be restored elsewhere, in a
    /// [`TokenBucket`](crate::TokenBucket) too.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing, unless it heals the limiter
    /// (see [`Clock`]). Permits that leases hold are not included. Tokens that other calls are
    /// moving between shards may be counted twice, or not at all; the total never exceeds the
    /// burst.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.root.snapshot(self.shards.look().0)
    }

    /// Replaces the limiter's tokens by those of `snapshot`, plus what the present quota earns in
    /// the time `away`.
    ///
    /// The previous tokens are forgotten. If the time away is unknown, `Duration::ZERO` is the safe
    /// choice. Waits for other changes of this limiter in progress; no other operation waits for
    /// it.
    pub fn restore(&self, snapshot: &Snapshot, away: core::time::Duration) {
        self.change(|_| self.root.restore(snapshot, units::nanos(away)));
    }

    /// Returns the number of shards of threads, a power of two.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.count()
    }

    /// Returns whether callers spend from a shard of the CPU on which they run: with the feature `per-cpu`, where the system
    /// has what that takes, and unless the builder was given a number of [`shards`](super::ShardedBuilder::shards).
    #[must_use]
    pub fn is_per_cpu(&self) -> bool {
        self.shards.per_cpu().is_some()
    }

    /// Returns the size of the limiter in bytes, including its shards.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self) + self.shards.bytes()
    }

    /// Returns the quota in force. Reads the clock.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.root.terms().quota()
    }

    /// Returns how many times the limiter found its level impossibly far ahead of the clock and
    /// started again from full. See [`Clock`] for the conditions.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.root.healed()
    }

    /// Returns the clock that the limiter reads.
    #[must_use]
    pub fn clock(&self) -> &C {
        self.root.clock()
    }

    /// Empties the shards, calls `change` with the tokens that were in them, and releases their
    /// capacity.
    pub(super) fn change(&self, change: impl FnOnce(u64)) {
        let mut moving = InTransit::of(&self.shards, 0);
        moving.take_all();
        change(moving.tokens);
        // Anything that the root cuts off from now on was earned while this capacity was empty.
        self.root.release_unused(moving.room);
        (moving.room, moving.tokens) = (0, 0);
        self.shards.returned();
    }
}
