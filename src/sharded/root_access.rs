//! What those do who spend elsewhere: look, lend room, draw tokens into it.

use core::cell::Cell;

use crate::bucket::BucketCore;
use crate::bucket::spend::{Spent, all_of};
use crate::bucket::terms::Terms;
use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::sync::Ordering::{AcqRel, Acquire};
use crate::time::clock::Clock;

use super::reserved::Reserved;

/// The word as it was found at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) now_nanos: u64,
    terms: Terms,
    balance: i64,
    /// What the word had room for.
    capacity: u64,
}

impl Reading {
    /// The whole permits in the word.
    pub(crate) fn permits(&self) -> u64 {
        self.terms.permits_in(self.balance)
    }

    /// The most that a request may ask for.
    pub(crate) fn limit(&self) -> u64 {
        self.terms.capacity / self.terms.token
    }

    /// The most permits that the word can hold, as long as as much is lent as was then.
    pub(crate) fn room(&self) -> u64 {
        self.capacity / self.terms.token
    }

    /// What time will do to what is in the word.
    pub(crate) fn forecast(&self) -> Forecast {
        self.terms.forecast(self.balance, self.now_nanos)
    }

    /// The denial of `permits`, if so many more are elsewhere, and all of them too few; of
    /// the limit, leases hold the room for so many as are `leased`.
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
    /// What there is at `now_nanos`. Writes nothing, but for a level that is impossible:
    /// that is healed, and looked at again, by the clock as it is then.
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

    /// Takes all of `permits` or none, by a clock that was read at `now_nanos`. `own`
    /// permits of the room that is lent are the caller's, and it borrowed them just now.
    pub(crate) fn draw(&self, now_nanos: u64, own: u64, permits: u64) -> Result<Grant, Denied> {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        let seen = self.line.word.load(Acquire);
        let drawn =
            self.spend_from::<true>((seen, false), now_nanos, own, |terms: &Terms, balance| {
                all_of(permits, terms, balance)
            });
        drawn.map(Spent::grant).map_err(Denied::from)
    }

    /// Takes all of `permits` or none; counts its `tries`. Of one that is granted, all but
    /// the last lost a race for the word, or were put off for a caller that had lost some.
    #[inline(always)]
    pub(crate) fn try_acquire_counting(
        &self,
        permits: u64,
        tries: &Cell<u32>,
    ) -> Result<Grant, Denied> {
        let granted = self.spend::<true>(move |terms: &Terms, balance| {
            tries.set(tries.get().saturating_add(1));
            all_of(permits, terms, balance)
        });
        granted.map(Spent::grant)
    }

    /// Lends room for `permits`: it is no longer the word's.
    pub(crate) fn lend(&self, permits: u64) {
        self.line.lent.lend(permits);
    }

    /// Room for `permits`, which is lent, is now a lease's.
    pub(crate) fn begin_lease(&self, permits: u64) {
        self.line.lent.lease(permits);
    }

    /// It is a lease's no more, and about to be put back.
    pub(crate) fn end_lease(&self, permits: u64) {
        self.line.lent.end_lease(permits);
    }

    /// The room that leases hold.
    pub(crate) fn leased(&self) -> u64 {
        self.line.lent.leased()
    }

    /// Takes back room for `permits` of which nothing can have been cut off: it was lent
    /// just now and never used, or what the word holds has been put in place of what it
    /// held.
    pub(crate) fn take_back_simply(&self, permits: u64) {
        self.line.lent.take_back(permits);
    }

    /// Takes back room for `permits` that was lent, if at `now_nanos` it was empty, and the
    /// caller's alone. Whether it did: a clock that is behind cannot tell, nor can anybody
    /// while the terms are being changed.
    ///
    /// The word counts what it earns only when it is looked at, and cuts off what it has
    /// no room for. With more room it would find some of that again, earned when there
    /// were still tokens in this room; they would be spent twice. So what it
    /// has cut off until `now_nanos` is first cut off for good.
    ///
    /// If that is nothing, nothing is written, and so no change of terms that is under way has
    /// to read the clock again. Its terms earn from the earlier reading on, and by them
    /// something may have been cut off. So while there is one, the room stays lent.
    pub(crate) fn take_back(&self, now_nanos: u64, permits: u64) -> bool {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `room_given_back_was_empty`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let (accrued, capacity) = (terms.accrued(now_nanos), self.capacity(&terms));
            let balance = seen.balance(accrued, capacity);
            let next = seen.spend(0, accrued, capacity);
            let settled = if balance < 0 || next == seen {
                // In this order: a change that has ended shows in the word. The model of both is
                // `room_given_back_beside_a_change_brings_nothing_back_that_the_new_terms_cut_off`.
                let is_settled = balance >= 0 && self.is_unchanging();
                self.still(seen).map(|()| is_settled)
            } else {
                // ORDERING: AcqRel and Acquire, as the CAS of `attempt`: it is a spending
                // of what the word has no room for.
                // MODEL: `room_given_back_was_empty`.
                self.line.word.compare_exchange_weak(seen, next, AcqRel, Acquire).map(|_| true)
            };
            match settled {
                Ok(false) => return false,
                Ok(true) => {
                    self.line.lent.take_back(permits);
                    return true;
                }
                Err(found) => seen = found,
            }
        }
    }

    /// The most that a request may ask for.
    pub(crate) fn limit(&self) -> u64 {
        self.now_in_force(|terms| terms.capacity / terms.token)
    }

    /// By how many permits more is lent than a request may ask for, if that was lowered
    /// from `limit`. (If it was not, what is lent beyond is only just borrowed.)
    pub(crate) fn overlent_since(&self, limit: u64) -> u64 {
        self.now_in_force(|terms| {
            let is_lower = terms.capacity / terms.token < limit;
            if is_lower { self.line.lent.beyond(terms) } else { 0 }
        })
    }

    /// What `of` makes of the terms in force, which stay in force meanwhile.
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

    /// Calls `publish` with the terms in force, while none can be put in their place.
    pub(crate) fn publish(&self, publish: impl FnOnce(&Terms)) {
        let _changing = self.wait_for_turn();
        publish(&self.terms());
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use super::*;
    use crate::bucket::carry::Carry;
    use crate::quota;
    use crate::sync::Ordering::Relaxed;
    use crate::time::clock::manual::ManualClock;

    #[test]
    fn nobody_changes_the_terms_while_they_are_published() {
        let terms = Terms::of_quota(quota!(7 / second));
        let root = BucketCore::<_, Reserved>::new(terms, 7, ManualClock::new());
        // ORDERING: Relaxed. One thread looks at its own lock.
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
        let root = BucketCore::<_, Reserved>::new(terms(quota!(7 / second)), 7, ManualClock::new());
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
