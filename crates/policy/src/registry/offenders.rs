//! The keys that have offended, beside the limiter in force.
//!
//! A request is looked up here before the limiter is asked: one of a key whose penalty runs takes nothing.
//! A limiter without keys has one offender, whose key is empty.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sluicegate::keyed::Penalties;
use sluicegate::penalty::{Offence, PenaltyRule};
use sluicegate::wait::AcquireError;
use sluicegate::{Denied, Keyed};

use crate::SharedClock;
use crate::{Penalty, Unbuildable};

/// The penalties of keys.
type Store = Keyed<Vec<u8>, Penalties<SharedClock>>;

/// The offenders of a limiter whose policy has a penalty. A clone is the same.
#[derive(Clone)]
pub(super) struct Offenders {
    store: Arc<Store>,
    /// The store that is in force, of all that have taken each other's place. A caller may still hold one that was
    /// replaced: its offence is to be known to the one in force, so it reads this lock while it notes one.
    in_force: Arc<RwLock<Arc<Store>>>,
    of_refusals: bool,
}

impl Offenders {
    /// Creates the store of a policy's penalty, without offenders; `None` if there is no penalty.
    pub(super) fn new(
        penalty: Option<&Penalty>,
        clock: &SharedClock,
    ) -> Result<Option<Offenders>, Unbuildable> {
        let Some(penalty) = penalty else { return Ok(None) };
        let penalties = Penalties::with_clock(penalty.rule, Arc::clone(clock));
        let store = Store::builder(penalties).max_keys(penalty.max_keys).build()?;
        let store = Arc::new(store);
        let in_force = Arc::new(RwLock::new(Arc::clone(&store)));
        Ok(Some(Offenders { store, in_force, of_refusals: penalty.of_refusals }))
    }

    /// Returns the offenders by new terms: the same ones, unless the store has another size. Then it has no
    /// offenders until [`take_over`](Offenders::take_over).
    ///
    /// The rule of a store that stays is not changed by this.
    pub(super) fn by(
        before: Option<&Offenders>,
        old: Option<&Penalty>,
        new: Option<&Penalty>,
        clock: &SharedClock,
    ) -> Result<Option<Offenders>, Unbuildable> {
        let (Some(before), Some(old), Some(terms)) = (before, old, new) else {
            return Offenders::new(new, clock);
        };
        if old.max_keys == terms.max_keys {
            return Ok(Some(Offenders { of_refusals: terms.of_refusals, ..before.clone() }));
        }
        let offenders = Offenders::new(new, clock)?;
        let in_force = Arc::clone(&before.in_force);
        Ok(offenders.map(|offenders| Offenders { in_force, ..offenders }))
    }

    /// Puts the store in force for all that is noted from now on, and takes over the keys whose penalty runs.
    /// Without effect if it is in force already.
    pub(super) fn take_over(&self) {
        let mut in_force = self.in_force.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&*in_force, &self.store) {
            return;
        }
        for (key, left) in in_force.penalized() {
            // Those for which there is no space are free.
            _ = self.store.penalize_for(&key, left);
        }
        *in_force = Arc::clone(&self.store);
    }

    /// Calls `note` with the store that is in force, which is not replaced meanwhile.
    fn with_store<T>(&self, note: impl FnOnce(&Store) -> T) -> T {
        note(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn change_rule(&self, rule: PenaltyRule) {
        self.store.limiter().reconfigure(rule);
    }

    /// Returns the time until the end of the key's penalty, if one runs.
    pub(super) fn left(&self, key: &[u8]) -> Option<Duration> {
        self.store.try_acquire(key, 1).err()?.retry_after()
    }

    /// Notes that the limiter has denied a request, if that is an offence. It is none if the limiter had no
    /// space for the key, which is not the caller's fault. Returns true if a penalty runs now.
    pub(super) fn note(&self, key: &[u8], denied: &Denied) -> bool {
        self.of_refusals
            && !matches!(denied, Denied::Full { .. })
            // Without space for the offender, nothing is noted.
            && self.offend(key, 1).is_ok_and(|outcome| outcome.retry_after().is_some())
    }

    /// Notes that the line has refused a caller, if that is an offence.
    pub(super) fn note_line(&self, key: &[u8], error: &AcquireError) {
        let is_too_late = matches!(
            error,
            AcquireError::TimedOut { .. }
                | AcquireError::LineFull { .. }
                | AcquireError::TooLarge { .. }
        );
        if self.of_refusals && is_too_late {
            // The same.
            _ = self.offend(key, 1);
        }
    }

    pub(super) fn offend(&self, key: &[u8], offences: u64) -> Result<Offence, Denied> {
        self.with_store(|store| store.offend(key, offences))
    }

    pub(super) fn clear(&self, key: &[u8]) -> bool {
        self.with_store(|store| {
            let was_running = store.clear(key);
            store.remove(key);
            was_running
        })
    }

    pub(super) fn penalized(&self) -> Vec<(Vec<u8>, Duration)> {
        self.store.penalized().collect()
    }
}

impl fmt::Debug for Offenders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offenders").field("of_refusals", &self.of_refusals).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use sluicegate::{ManualClock, Rate};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn penalty(max_keys: usize) -> Penalty {
        let rule = PenaltyRule::new(Rate::new(3, HOUR).unwrap(), HOUR).unwrap();
        Penalty { rule, of_refusals: true, of_answers: Vec::new(), max_keys }
    }

    /// A handle holds the offenders that were in force when it was made for as long as it lives. The stores that
    /// came after them and were replaced as well are not to be kept for it.
    #[test]
    fn old_offenders_keep_no_store_but_their_own_and_the_one_in_force() {
        let clock: SharedClock = Arc::new(ManualClock::at(0));
        let first = Offenders::new(Some(&penalty(100)), &clock).unwrap().unwrap();
        first.offend(b"eve", 3).unwrap();
        let (mut last, mut replaced) = (first.clone(), Vec::new());
        for size in 101..104 {
            let (old, new) = (penalty(size - 1), penalty(size));
            let next = Offenders::by(Some(&last), Some(&old), Some(&new), &clock);
            let next = next.unwrap().unwrap();
            next.take_over();
            replaced.push(Arc::downgrade(&next.store));
            last = next;
        }
        let is_kept: Vec<_> = replaced.iter().map(|store| store.upgrade().is_some()).collect();
        assert_eq!(is_kept, [false, false, true]);
        first.offend(b"bob", 3).unwrap();
        assert!(last.left(b"eve").is_some() && last.left(b"bob").is_some());
        assert!(first.clear(b"eve") && last.left(b"eve").is_none());
    }
}
