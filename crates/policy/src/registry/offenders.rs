//! The keys that have offended, beside the limiter in force.
//!
//! A request is looked up here before the limiter is asked: one of a key whose penalty runs takes nothing.
//! A limiter without keys has one offender, whose key is empty.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sluicegate::{AcquireError, Denied, Keyed, Offence, Penalties, PenaltyRule};

use super::clocks::SharedClock;
use crate::{Penalty, Unbuildable};

/// A store of offenders, whatever its clock is.
pub(super) trait OffenderStore: Send + Sync {
    /// Returns the time until the end of the key's penalty, if one runs.
    fn left(&self, key: &[u8]) -> Option<Duration>;

    fn offend(&self, key: &[u8], offences: u64) -> Result<Offence, Denied>;

    fn penalize_for(&self, key: &[u8], length: Duration) -> Result<Offence, Denied>;

    fn clear(&self, key: &[u8]) -> bool;

    /// Returns the keys whose penalty runs, each with the time until its end.
    fn penalized(&self) -> Vec<(Vec<u8>, Duration)>;

    fn change_rule(&self, rule: PenaltyRule);
}

impl<C: SharedClock> OffenderStore for Keyed<Vec<u8>, Penalties<C>> {
    fn left(&self, key: &[u8]) -> Option<Duration> {
        self.try_acquire(key, 1).err()?.retry_after()
    }

    fn offend(&self, key: &[u8], offences: u64) -> Result<Offence, Denied> {
        Keyed::offend(self, key, offences)
    }

    fn penalize_for(&self, key: &[u8], length: Duration) -> Result<Offence, Denied> {
        Keyed::penalize_for(self, key, length)
    }

    fn clear(&self, key: &[u8]) -> bool {
        let was_running = Keyed::clear(self, key);
        self.remove(key);
        was_running
    }

    fn penalized(&self) -> Vec<(Vec<u8>, Duration)> {
        Keyed::penalized(self).collect()
    }

    fn change_rule(&self, rule: PenaltyRule) {
        self.limiter().reconfigure(rule);
    }
}

/// The offenders of a limiter whose policy has a penalty. A clone is the same.
#[derive(Clone)]
pub(super) struct Offenders {
    store: Arc<dyn OffenderStore>,
    /// The offenders that have taken the place of these, if any have. A caller may still hold these when they
    /// are replaced: its offence is to be known to the new ones, so it reads this lock while it notes one.
    next: Arc<RwLock<Option<Offenders>>>,
    of_refusals: bool,
}

impl Offenders {
    /// Creates the store of a policy's penalty, without offenders; `None` if there is no penalty.
    pub(super) fn new<C: SharedClock>(
        penalty: Option<&Penalty>,
        clock: &C,
    ) -> Result<Option<Offenders>, Unbuildable> {
        let Some(penalty) = penalty else { return Ok(None) };
        let penalties = Penalties::with_clock(penalty.rule, clock.clone());
        let store = Keyed::<Vec<u8>, _>::builder(penalties).max_keys(penalty.max_keys).build()?;
        let of_refusals = penalty.of_refusals;
        Ok(Some(Offenders { store: Arc::new(store), next: Arc::default(), of_refusals }))
    }

    /// Returns the offenders by new terms: the same ones, unless the store has another size. Then it has no
    /// offenders until [`take_over`](Offenders::take_over).
    ///
    /// The rule of a store that stays is not changed by this.
    pub(super) fn by<C: SharedClock>(
        before: Option<&Offenders>,
        old: Option<&Penalty>,
        new: Option<&Penalty>,
        clock: &C,
    ) -> Result<Option<Offenders>, Unbuildable> {
        match (before, old, new) {
            (Some(before), Some(old), Some(new)) if old.max_keys == new.max_keys => {
                Ok(Some(Offenders { of_refusals: new.of_refusals, ..before.clone() }))
            }
            _ => Offenders::new(new, clock),
        }
    }

    /// Takes the place of those `before`: lets them pass on what is noted from now on, and takes over the keys whose
    /// penalty runs. Without effect if these are the same ones.
    pub(super) fn take_over(&self, before: &Offenders) {
        if Arc::ptr_eq(&self.next, &before.next) {
            return;
        }
        let mut next = before.next.write().unwrap_or_else(PoisonError::into_inner);
        for (key, left) in before.store.penalized() {
            // Those for which there is no space are free.
            _ = self.store.penalize_for(&key, left);
        }
        *next = Some(self.clone());
    }

    /// Calls `note` with the store that is in force, which is not replaced meanwhile.
    fn with_store<T>(&self, note: impl FnOnce(&dyn OffenderStore) -> T) -> T {
        let next = self.next.read().unwrap_or_else(PoisonError::into_inner);
        match &*next {
            Some(next) => next.with_store(note),
            None => note(&*self.store),
        }
    }

    pub(super) fn change_rule(&self, rule: PenaltyRule) {
        self.store.change_rule(rule);
    }

    /// Returns the time until the end of the key's penalty, if one runs.
    pub(super) fn left(&self, key: &[u8]) -> Option<Duration> {
        self.store.left(key)
    }

    /// Notes that the limiter has denied a request, if that is an offence. It is none if the limiter had no
    /// space for the key, which is not the caller's fault.
    pub(super) fn note(&self, key: &[u8], denied: &Denied) {
        if self.of_refusals && !matches!(denied, Denied::Full { .. }) {
            // Without space for the offender, nothing is noted.
            _ = self.offend(key, 1);
        }
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
        self.with_store(|store| store.clear(key))
    }

    pub(super) fn penalized(&self) -> Vec<(Vec<u8>, Duration)> {
        self.store.penalized()
    }
}

impl fmt::Debug for Offenders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offenders").field("of_refusals", &self.of_refusals).finish_non_exhaustive()
    }
}
