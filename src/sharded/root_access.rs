//! Operations on the root used by `Sharded`: observe, reserve and release capacity, refill a shard.
//!
//! Nobody waits in line for a `Sharded`, so the gate of its root is always open, and levels are read
//! without a mask.

use crate::bucket::BucketCore;
use crate::bucket::charge::all_of;
use crate::bucket::spend::Spent;
use crate::bucket::terms::Terms;
use crate::contention::Pauses;
use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::sync::Ordering::Acquire;
use crate::time::clock::Clock;

use super::reserved::Reserved;

/// The word as it was found at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) now_nanos: u64,
    terms: Terms,
    balance: i64,
    /// Most quarter-units that the word could hold.
    capacity: u64,
}

impl Reading {
    /// Returns the whole permits in the word.
    pub(crate) fn permits(&self) -> u64 {
        self.terms.permits_in(self.balance)
    }

    /// Returns the largest request that may be granted.
    pub(crate) fn limit(&self) -> u64 {
        self.terms.capacity / self.terms.token
    }

    /// Returns the most permits that the word can hold with the capacity reserved at the reading.
    pub(crate) fn room(&self) -> u64 {
        self.capacity / self.terms.token
    }

    /// Forecasts the balance in the word.
    pub(crate) fn forecast(&self) -> Forecast {
        self.terms.forecast(self.balance, self.now_nanos)
    }

    /// Returns the denial of `permits`, given that `elsewhere` permits are outside the root, that
    /// all together are too few, and that leases hold the capacity for `leased` permits of the
    /// limit.
    pub(crate) fn denial(&self, permits: u64, elsewhere: u64, leased: u64) -> Denied {
        let limit = self.limit();
        if permits > limit {
            return Denied::TooLarge { limit, which: 0 };
        }
        let limit = limit.saturating_sub(leased);
        if permits > limit {
            return Denied::Leased { limit, which: 0 };
        }
        let forecast = self.forecast();
        let wanted = forecast.wanted_for(permits);
        let forecast = forecast.with_more(elsewhere as i64);
        Denied::Wait(Shortfall { wanted, forecast, which: 0 })
    }
}

impl<C: Clock> BucketCore<C, Reserved> {
    /// Returns the state of the word at `now_nanos`. Writes nothing, except for a level that is
    /// impossible: that is healed, and the word is loaded again, with a new reading of the clock.
    pub(crate) fn look_at(&self, mut now_nanos: u64) -> Reading {
        let mut may_heal = true;
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_denial_of_a_shard_is_never_from_mixed_terms`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let simply = terms.accrued_simply(now_nanos);
            let capacity = self.capacity(&terms);
            let accrued = simply.unwrap_or_else(|| terms.accrued(now_nanos));
            let balance = seen.balance(accrued, capacity);
            let is_odd = simply.is_none() || balance < 0;
            match self.still(seen) {
                Ok(()) if is_odd && may_heal && terms.is_impossible(balance, now_nanos) => {
                    may_heal = false;
                    self.heal();
                    now_nanos = self.clock.now_nanos();
                    // ORDERING: Acquire, as in `spend`.
                    // MODEL: `a_change_right_after_a_healing_of_the_root_is_seen_whole`.
                    seen = self.line.word.load(Acquire);
                }
                Ok(()) => return Reading { now_nanos, terms, balance, capacity },
                Err(found) => seen = found,
            }
        }
    }

    /// Takes all of `permits` or none, by a clock that was read at `now_nanos`. The caller's `own`
    /// permits of the reserved capacity have only just been reserved.
    pub(crate) fn refill(&self, now_nanos: u64, own: u64, permits: u64) -> Result<Grant, Denied> {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        let seen = self.line.word.load(Acquire);
        let drawn = self.spend_from::<true>(
            (seen, Pauses::new()),
            now_nanos,
            own,
            |terms: &Terms, balance| all_of(permits, terms, balance),
        );
        drawn.map(Spent::grant).map_err(Denied::from)
    }

    /// Takes all of `permits`, or none if fewer than `reserve` would remain in the word, by a clock that was read at
    /// `now_nanos`. With 0 permits, only looks whether the reserve is there. A refusal is that of both together.
    #[inline]
    pub(crate) fn draw_leaving(
        &self,
        now_nanos: u64,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied> {
        let charge = move |terms: &Terms, balance| {
            let together = all_of(permits.saturating_add(reserve), terms, balance);
            together.and_then(|_| all_of(permits, terms, balance))
        };
        self.spend_by::<true>(now_nanos, charge).map(Spent::grant)
    }

    /// Reserves capacity for `permits`: it is no longer the word's.
    pub(crate) fn reserve(&self, permits: u64) {
        self.line.reserved.reserve(permits);
    }

    /// Counts capacity for `permits`, which is reserved, as held by a lease.
    pub(crate) fn begin_lease(&self, permits: u64) {
        self.line.reserved.lease(permits);
    }

    /// Ends that count; the capacity is about to be put back.
    pub(crate) fn end_lease(&self, permits: u64) {
        self.line.reserved.end_lease(permits);
    }

    /// Returns the capacity that leases hold.
    pub(crate) fn leased(&self) -> u64 {
        self.line.reserved.leased()
    }

    /// Releases capacity for `permits`, where nothing can have been cut off because of it: it was
    /// only just reserved and never used, or the word's contents have been replaced since.
    pub(crate) fn release_unused(&self, permits: u64) {
        self.line.reserved.release(permits);
    }

    /// Returns the largest request that may be granted.
    pub(crate) fn limit(&self) -> u64 {
        self.now_in_force(|terms| terms.capacity / terms.token)
    }

    /// Returns by how many permits the reserved capacity exceeds the limit, if that was lowered
    /// from `limit`. (If it was not, any excess has only just been reserved.)
    pub(crate) fn overreserved_since(&self, limit: u64) -> u64 {
        self.now_in_force(|terms| {
            let is_lower = terms.capacity / terms.token < limit;
            if is_lower { self.line.reserved.beyond(terms) } else { 0 }
        })
    }

    /// Returns the result of `of` for the terms in force, which stay in force meanwhile.
    fn now_in_force<T>(&self, of: impl Fn(&Terms) -> T) -> T {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_lease_of_a_shard_beside_a_change_gives_back_all_of_it`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let made = of(&self.slots.named_by(seen));
            match self.still(seen) {
                Ok(()) => return made,
                Err(found) => seen = found,
            }
        }
    }

    /// Calls `publish` with the terms in force, while no call can replace them.
    pub(crate) fn publish(&self, publish: impl FnOnce(&Terms)) {
        let _changing = self.wait_for_turn();
        publish(&self.terms());
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::bucket::carry::Carry;
    use crate::quota;
    use crate::sync::Ordering::Relaxed;
    use crate::time::clock::manual::ManualClock;

    #[test]
    fn nobody_changes_the_terms_while_they_are_published() {
        let terms = Terms::of_quota(quota!(7 / second));
        let root = BucketCore::<_, Reserved>::new(terms, ManualClock::new());
        // ORDERING: Relaxed. One thread reads its own lock.
        // MODEL: none; there is no other thread.
        let is_changing = || root.changing.load(Relaxed) != 0;
        let mut published = 0;
        root.publish(|terms| {
            assert!(is_changing());
            published = terms.quota().burst();
        });
        assert_eq!(published, 7);
        assert!(!is_changing());
    }

    #[test]
    fn what_is_made_of_terms_that_have_changed_since_is_made_anew() {
        let terms = |quota| Terms::of_quota(quota);
        let root = BucketCore::<_, Reserved>::new(terms(quota!(7 / second)), ManualClock::new());
        let looks = Cell::new(0);
        let burst = root.now_in_force(|found| {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                root.reconfigure(&terms(quota!(3 / minute)), Carry::Keep, 0);
            }
            found.quota().burst()
        });
        assert_eq!((burst, looks.get()), (3, 2));
    }
}
