//! The calls of a keyed store, as buckets answer them: under the lock of the key's shard.

use alloc::sync::Arc;
use core::time::Duration;

use crate::bucket::charge::{all_of, leaving, up_to};
use crate::bucket::terms::Terms;
use crate::keyed::exact::per_key::{Answer, Engine, LeavingPerKey, RenewedTerms};
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;
use crate::time::units::SKEW_NANOS;

use super::spend::{spend, spend_alone};
use super::tiers::{Number, Tier};
use super::{Buckets, Common, State, full};

impl<K, C: Clock, T: Tier<K>> Engine<K> for Buckets<C, T> {
    type Clock = C;
    type Terms = Arc<[Common]>;
    type State = State<T::Number>;

    fn clock(&self) -> &C {
        &self.clock
    }

    fn terms(&self) -> Arc<[Common]> {
        Arc::clone(&self.terms)
    }

    #[inline]
    fn now_nanos(&self) -> u64 {
        self.clock.now_nanos()
    }

    #[inline]
    fn fresh(&self, terms: &Arc<[Common]>, key: &K, now_nanos: u64) -> State<T::Number> {
        let tier = self.tier.of(key, terms.len());
        let common = Self::common(terms, tier);
        State { level: AtomicWord::new(common.fresh(now_nanos)), tier }
    }

    #[inline(always)]
    fn acquire<const SPEND: bool>(
        &self,
        terms: &Arc<[Common]>,
        state: &State<T::Number>,
        permits: u64,
        now_nanos: u64,
    ) -> Answer {
        let common = Self::common(terms, state.tier);
        let charge = move |terms: &Terms, balance| all_of(permits, terms, balance);
        spend::<SPEND>(&common.terms, &state.level, now_nanos, charge)
    }

    #[inline(always)]
    fn acquire_alone(
        &self,
        terms: &Arc<[Common]>,
        state: &State<T::Number>,
        permits: u64,
        now_nanos: u64,
    ) -> Answer {
        let common = Self::common(terms, state.tier);
        let charge = move |terms: &Terms, balance| all_of(permits, terms, balance);
        spend_alone(&common.terms, &state.level, now_nanos, charge)
    }

    fn acquire_up_to(
        &self,
        terms: &Arc<[Common]>,
        state: &State<T::Number>,
        permits: u64,
        now_nanos: u64,
    ) -> Answer {
        let common = Self::common(terms, state.tier);
        let charge = move |terms: &Terms, balance| up_to(permits, terms, balance);
        spend::<true>(&common.terms, &state.level, now_nanos, charge)
    }

    fn is_begun(&self, terms: &Arc<[Common]>, state: &State<T::Number>, now_nanos: u64) -> bool {
        !self.is_idle(terms, state, now_nanos)
    }

    fn is_idle(&self, terms: &Arc<[Common]>, state: &State<T::Number>, now_nanos: u64) -> bool {
        // ORDERING: Relaxed. The lock of the shard orders it.
        // MODEL: `a_removed_key_has_no_second_burst`.
        Self::common(terms, state.tier).idleness(now_nanos).is_of(state.level.load(Relaxed))
    }

    #[inline]
    fn idle_at<'a>(
        &'a self,
        terms: &'a Arc<[Common]>,
        now_nanos: u64,
    ) -> impl Fn(&State<T::Number>) -> bool + 'a {
        let first = terms[0].idleness(now_nanos);
        move |state| {
            // ORDERING: Relaxed, as in `is_idle`.
            // MODEL: `a_removed_key_has_no_second_burst`.
            let level = state.level.load(Relaxed);
            match state.tier.place() {
                0 => first.is_of(level),
                _ => Self::common(terms, state.tier).idleness(now_nanos).is_of(level),
            }
        }
    }

    fn idle_after(
        &self,
        terms: &Arc<[Common]>,
        state: &State<T::Number>,
        now_nanos: u64,
    ) -> Duration {
        let common = Self::common(terms, state.tier);
        // ORDERING: Relaxed, as in `is_idle`.
        // MODEL: none; the result is an estimate.
        common.forecast(state.level.load(Relaxed), now_nanos).reset_after()
    }

    fn fill(&self, terms: &Arc<[Common]>, state: &mut State<T::Number>, now_nanos: u64) {
        let common = Self::common(terms, state.tier);
        state.level = AtomicWord::new(full(&common.terms, now_nanos));
    }

    fn is_impossible(
        &self,
        terms: &Arc<[Common]>,
        state: &State<T::Number>,
        now_nanos: u64,
    ) -> bool {
        let common = Self::common(terms, state.tier);
        // ORDERING: Relaxed, as in `is_idle`.
        // MODEL: none; the fault that it detects involves no race.
        !common.is_possible(state.level.load(Relaxed), now_nanos)
    }

    fn is_out_of_range(
        &self,
        terms: &Arc<[Common]>,
        state: &State<T::Number>,
        now_nanos: u64,
    ) -> bool {
        Self::common(terms, state.tier).terms.is_out_of_range(now_nanos)
    }

    #[inline]
    fn renewed_terms(
        &self,
        terms: &Arc<[Common]>,
        horizon_nanos: u64,
        now_nanos: u64,
    ) -> Option<RenewedTerms<Arc<[Common]>>> {
        let is_behind = horizon_nanos.saturating_sub(now_nanos) > SKEW_NANOS;
        if !is_behind && terms.iter().all(|common| common.is_possible(common.unknown, now_nanos)) {
            return None;
        }
        Some(renewed_terms(terms, horizon_nanos, now_nanos))
    }
}

impl<K, C: Clock, T: Tier<K>> LeavingPerKey<K> for Buckets<C, T> {
    fn acquire_leaving<const SPEND: bool>(
        &self,
        terms: &Arc<[Common]>,
        state: &State<T::Number>,
        (permits, reserve): (u64, u64),
        now_nanos: u64,
    ) -> Answer {
        let charge = move |terms: &Terms, balance| leaving(permits, reserve, terms, balance);
        Self::take::<SPEND, _>(terms, state, now_nanos, charge)
    }
}

/// Returns the terms to go on with from `now_nanos` on, without the horizon.
#[cold]
#[inline(never)]
fn renewed_terms(
    terms: &[Common],
    horizon_nanos: u64,
    now_nanos: u64,
) -> RenewedTerms<Arc<[Common]>> {
    let mut has_healed = false;
    let renewed = terms.iter().map(|common| {
        let renewed = common.renewed_terms(horizon_nanos, now_nanos);
        has_healed |= renewed.has_healed;
        renewed.terms
    });
    RenewedTerms { terms: renewed.collect(), has_healed }
}
