//! Changes of all that there is: the shards are emptied first.

use crate::bucket::carry::Carry;
use crate::bucket::terms::Terms;
use crate::config::quota::Quota;
use crate::decision::snapshot::Snapshot;
use crate::time::clock::Clock;
use crate::time::units;

use super::Sharded;
use super::in_transit::InTransit;

impl<C: Clock> Sharded<C> {
    /// Enforces `quota` from now on; `carry` says what becomes of the tokens, those of
    /// the shards too.
    ///
    /// Live, and never retroactive, as that of a
    /// [`TokenBucket`](crate::TokenBucket::reconfigure). Permits that leases hold stay
    /// theirs, and what calls under way have in hand; what is left of a lease goes back as
    /// far as the new burst has room for it. While a change lasts, some tokens are in
    /// no place where they can be found, so a request may be refused that would else be
    /// granted; and who draws from a root that is full just then, cuts some of them off.
    ///
    /// Waits for other changes of this limiter that are under way; no other verb waits
    /// for it. Does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let limiter = Sharded::with_shards(quota!(1_000 / second), 4, ManualClock::new())?;
    /// limiter.try_acquire(500)?;
    /// limiter.reconfigure(quota!(100 / second), Carry::Scale);
    /// assert_eq!(limiter.peek(0)?.remaining(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure(&self, quota: Quota, carry: Carry) {
        let terms = Terms::of_quota(quota);
        self.change(|tokens| self.root.reconfigure(&terms, carry, tokens));
        self.tell();
    }

    /// Makes the limiter full again. The times of an interval refill stay as they are.
    ///
    /// What leases hold stays theirs, and is missing from the root until they end. Waits
    /// for other changes of this limiter that are under way; no other verb waits for it.
    /// Does not allocate.
    pub fn reset(&self) {
        self.change(|_| self.root.reset());
    }

    /// The permits that the limiter holds, to be restored elsewhere: in a
    /// [`TokenBucket`](crate::TokenBucket) too.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing, unless it heals the
    /// limiter (see [`Clock`]). What leases hold is not in it. If other calls carry tokens from
    /// one shard to another, these may be counted twice, or not; never more than the burst in
    /// all.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.root.snapshot(self.shards.look().0)
    }

    /// Holds what `snapshot` held, and what was earned at the present quota in the time
    /// it was `away`.
    ///
    /// What the limiter held before is forgotten. Where the time away is not known,
    /// `Duration::ZERO` is the safe answer. Waits for other changes of this limiter that
    /// are under way; no other verb waits for it.
    pub fn restore(&self, snapshot: &Snapshot, away: core::time::Duration) {
        self.change(|_| self.root.restore(snapshot, units::nanos(away)));
    }

    /// Empties the shards, has the root changed with the tokens that were in them, and
    /// gives it their room.
    fn change(&self, change: impl FnOnce(u64)) {
        let mut hand = InTransit::of(&self.shards, 0);
        for index in 0..self.shards.count() {
            hand.take(index);
        }
        change(hand.tokens);
        // What the root cuts off from now on was earned while this room was empty.
        self.root.take_back_simply(hand.room);
        (hand.room, hand.tokens) = (0, 0);
        self.shards.changed();
    }
}
