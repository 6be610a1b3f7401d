//! New terms of one name: in place if they can be, and by another limiter if not.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sluicegate::Limiter;

use super::Registry;
use super::build::Before;
use super::change::Steps;
use super::keys::Keys;
use super::limiter_of_kind::LimiterOfKind;
use super::offenders::Offenders;
use super::slot::Slot;
use super::terms::Terms;
use crate::past::Past;
use crate::{Kind, LimiterPolicy, Unbuildable};

impl Registry {
    /// Puts `new` in force in the place of `old`. Returns true if the limiter is still the same one.
    pub(super) fn enforce_one(
        &self,
        slot: &Slot<LimiterOfKind>,
        old: &LimiterPolicy,
        new: &Arc<LimiterPolicy>,
    ) -> Result<bool, Unbuildable> {
        let (terms, in_force) = (Terms::of(new), slot.place.in_force());
        let mut is_in_place = true;
        // Decisions go on, if it is one step that forgets nothing.
        let is_simple = in_force.terms == terms
            && old.penalty == new.penalty
            && !changes_a_burst(&old.kind, &new.kind);
        if !is_simple || !in_force.limiter.change(&old.kind, &new.kind, Steps::One) {
            let offenders = self.offenders(in_force.offenders.as_ref(), old, new)?;
            slot.place.change::<Unbuildable>((terms, offenders.clone()), |limiter, past| {
                let now_nanos = self.shared.clocks.elapsed.now_nanos();
                let all = Past::added(past.as_ref(), &limiter.counted(), now_nanos);
                let reset_after =
                    limiter.peek(0).map_or(Duration::ZERO, |grant| grant.reset_after());
                let next = if limiter.change(&old.kind, &new.kind, Steps::Several) {
                    None
                } else {
                    is_in_place = false;
                    let before = Before::new(&old.kind, limiter).with(all.clone());
                    Some(self.shared.clocks.limiter(&new.kind, false, Some(&before))?)
                };
                let counted = next.as_ref().unwrap_or(limiter).counted().permits();
                *past = Past::beyond(past.as_ref(), &all, counted, now_nanos, reset_after);
                take_over(offenders.as_ref());
                Ok(next)
            })?;
        }
        slot.place.set_policy(Arc::clone(new));
        slot.keep_line();
        Ok(is_in_place)
    }

    /// Puts `new` in force in the place of `old`. Returns true if the store is still the same one.
    pub(super) fn enforce_keys(
        &self,
        slot: &Slot<Keys>,
        old: &LimiterPolicy,
        new: &Arc<LimiterPolicy>,
    ) -> Result<bool, Unbuildable> {
        let (terms, in_force) = (Terms::of(new), slot.place.in_force());
        let mut is_in_place = true;
        let is_simple = in_force.terms == terms && old.penalty == new.penalty && old.key == new.key;
        if !is_simple || !in_force.limiter.change(old, new, Steps::One) {
            let offenders = self.offenders(in_force.offenders.as_ref(), old, new)?;
            slot.place.change::<Unbuildable>((terms, offenders.clone()), |keys, _| {
                let next = if keys.change(old, new, Steps::Several) {
                    None
                } else {
                    is_in_place = false;
                    let next = Keys::new(new, &self.shared.clocks)?;
                    let past = slot.place.past_of_keys.lock();
                    let mut past = past.unwrap_or_else(PoisonError::into_inner);
                    if old.key == new.key {
                        let now_nanos = self.shared.clocks.elapsed.now_nanos();
                        next.take_over(keys, old, &mut past, now_nanos);
                    } else {
                        past.clear();
                    }
                    Some(next)
                };
                take_over(offenders.as_ref());
                Ok(next)
            })?;
        }
        slot.place.set_policy(Arc::clone(new));
        slot.keep_line();
        Ok(is_in_place)
    }

    /// Returns the offenders of `new`, which are to [`take_over`] those before. The rule of those that
    /// stay changes at once: an offence that is noted meanwhile is judged by one rule or the other.
    fn offenders(
        &self,
        before: Option<&Offenders>,
        old: &LimiterPolicy,
        new: &LimiterPolicy,
    ) -> Result<Option<Offenders>, Unbuildable> {
        // Those of other keys are not those of the new ones.
        let before = before.filter(|_| old.key == new.key);
        let (old, new) = (old.penalty.as_ref(), new.penalty.as_ref());
        let offenders = Offenders::by(before, old, new, &self.shared.clocks.elapsed)?;
        if let (Some(offenders), Some(new)) = (&offenders, new) {
            offenders.change_rule(new.rule);
        }
        Ok(offenders)
    }
}

/// Lets offenders take over those before. To be called while decisions wait: a caller that is told of a penalty finds it in
/// force.
fn take_over(offenders: Option<&Offenders>) {
    if let Some(offenders) = offenders {
        offenders.take_over();
    }
}

/// Returns true if a bucket gets another burst: a smaller one has no place for all that was used.
fn changes_a_burst(old: &Kind, new: &Kind) -> bool {
    match (old, new) {
        (Kind::All(old), Kind::All(new)) => {
            old.iter().zip(new).any(|(old, new)| changes_a_burst(old, new))
        }
        (
            Kind::TokenBucket { .. } | Kind::Gcra { .. } | Kind::LeakyMeter(_),
            Kind::TokenBucket { .. } | Kind::Gcra { .. } | Kind::LeakyMeter(_),
        ) => old.most_at_once() != new.most_at_once(),
        _ => false,
    }
}
