//! Changes of the quota and of the levels of a shard's keys, made under its exclusive lock.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bucket::carry::{Carry, Holding};
use crate::bucket::level::Level;
use crate::bucket::terms::Terms;
use crate::decision::snapshot::Snapshot;
use crate::keyed::exact::per_key::RenewedTerms;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;

use super::{Common, State, full};

impl Common {
    /// Returns `new` terms as the successors of these, and carries the levels of `states`
    /// over, which are all of this tier.
    pub(in crate::keyed::exact) fn changed<'a, N: 'a>(
        &self,
        new: &Terms,
        carry: Carry,
        now_nanos: u64,
        states: impl Iterator<Item = &'a mut State<N>>,
    ) -> Common {
        let accrued = self.terms.accrued(now_nanos);
        let carried =
            |level: Level| self.holding(level, now_nanos).carried(&self.terms, new, carry);
        let holding = carried(self.unknown);
        let unknown = Level::leaving(holding.balance, accrued);
        let terms = new.succeeding(&self.terms, holding, unknown, now_nanos);
        for state in states {
            // ORDERING: Relaxed. The exclusive lock of the shard is held.
            // MODEL: none; no other thread can race.
            let level = carried(state.level.load(Relaxed));
            state.level = AtomicWord::new(Level::leaving(level.balance, accrued));
        }
        Common { terms, unknown }
    }

    /// Returns whether `now_nanos` is in the range of the terms, and some call can have left
    /// `level`.
    #[inline]
    pub(super) fn is_possible(&self, level: Level, now_nanos: u64) -> bool {
        let capacity = self.terms.capacity;
        // Only a debt can be too deep, and that is the cheaper test. The simple count is for a time in range.
        let accrued = self.terms.accrued_simply(now_nanos);
        accrued.is_some_and(|accrued| level.balance(accrued, capacity) >= 0)
            || !self
                .terms
                .is_impossible(level.balance(self.terms.accrued(now_nanos), capacity), now_nanos)
    }

    /// Returns these terms to go on with from `now_nanos` on, without the horizon: an unknown
    /// key has the level with which it would have been inserted then.
    ///
    /// Such a level may look like a debt now, as that of a key that had been kept would. If
    /// it is deeper than any call can have left it, the clock has gone back (or so far ahead
    /// that the word has wrapped): then all unknown keys start again from full.
    pub(super) fn renewed_terms(&self, horizon_nanos: u64, now_nanos: u64) -> RenewedTerms<Common> {
        if self.terms.is_out_of_range(now_nanos) {
            return RenewedTerms { terms: self.restarted(now_nanos), has_healed: true };
        }
        let unknown = self.fresh(horizon_nanos.max(now_nanos));
        let has_healed = !self.is_possible(unknown, now_nanos);
        let unknown = if has_healed { full(&self.terms, now_nanos) } else { unknown };
        RenewedTerms { terms: Common { terms: self.terms, unknown }, has_healed }
    }

    /// Returns the same terms from `now_nanos` on, if no key is known under them.
    fn restarted(&self, now_nanos: u64) -> Common {
        let holding = self.holding(self.unknown, now_nanos).filled(&self.terms);
        let unknown = Level::ZERO;
        let terms = self.terms.succeeding(&self.terms, holding, unknown, now_nanos);
        Common { unknown: full(&terms, now_nanos), terms }
    }

    pub(in crate::keyed::exact) fn terms(&self) -> &Terms {
        &self.terms
    }

    pub(in crate::keyed::exact) fn snapshot<N>(
        &self,
        state: &State<N>,
        now_nanos: u64,
    ) -> Snapshot {
        // ORDERING: Relaxed. The lock of the shard orders it; no decision depends on it.
        // MODEL: none.
        self.holding(state.level.load(Relaxed), now_nanos).snapshot(&self.terms)
    }

    pub(in crate::keyed::exact) fn restore<N>(
        &self,
        state: &mut State<N>,
        snapshot: &Snapshot,
        away_nanos: u64,
        now_nanos: u64,
    ) {
        let holding = Holding::restored(snapshot, away_nanos, &self.terms);
        let accrued = self.terms.accrued(now_nanos);
        state.level = AtomicWord::new(Level::leaving(holding.balance, accrued));
    }

    /// Adds `permits` to the balance of `state`, up to full.
    ///
    /// Lowers the level by no more than their cost: so a key's calls cost at most what they would
    /// have cost without, and the cost of all that was credited. No caller is left with the
    /// earlier level, because it is loaded and spent from under the shared lock.
    pub(in crate::keyed::exact) fn credit<N>(
        &self,
        state: &mut State<N>,
        permits: u64,
        now_nanos: u64,
    ) {
        // ORDERING: Relaxed. The exclusive lock of the shard is held.
        // MODEL: none; no other thread can race.
        let holding = self.holding(state.level.load(Relaxed), now_nanos);
        let holding = holding.plus(permits, &self.terms);
        let accrued = self.terms.accrued(now_nanos);
        state.level = AtomicWord::new(Level::leaving(holding.balance, accrued));
    }
}

impl<N: Copy> State<N> {
    pub(in crate::keyed::exact) fn tier(&self) -> N {
        self.tier
    }
}

/// Returns `commons` with that of `tier` replaced.
pub(in crate::keyed::exact) fn replaced(
    commons: &[Common],
    tier: usize,
    common: &Common,
) -> Arc<[Common]> {
    let mut commons: Vec<Common> = commons.to_vec();
    if let Some(place) = commons.get_mut(tier) {
        place.clone_from(common);
    }
    commons.into()
}

impl<C: crate::time::clock::Clock, T> super::Buckets<C, T> {
    /// Determines the tier of the key again, and carries its tokens over to it.
    pub(in crate::keyed::exact) fn move_to_tier<K>(
        &self,
        commons: &[Common],
        key: &K,
        state: &mut State<T::Number>,
        carry: Carry,
        now_nanos: u64,
    ) where
        T: super::tiers::Tier<K>,
    {
        let old = Self::common(commons, state.tier);
        let tier = self.tier.of(key, commons.len());
        let new = Self::common(commons, tier);
        // ORDERING: Relaxed. The exclusive lock of the shard is held.
        // MODEL: none; no other thread can race.
        let holding = old.holding(state.level.load(Relaxed), now_nanos);
        let holding = holding.carried(&old.terms, &new.terms, carry);
        let level = Level::leaving(holding.balance, new.terms.accrued(now_nanos));
        *state = State { level: AtomicWord::new(level), tier };
    }
}
