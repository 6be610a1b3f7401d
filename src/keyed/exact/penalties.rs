//! Penalties for each key: a word for each key that has offended.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use crate::config::penalty_rule::PenaltyRule;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::offence::Offence;
use crate::penalty::PenaltyCore;
use crate::penalty::record::Record;
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::Keyed;
use super::as_key::AsKey;
use super::per_key::{Answer, Engine, RenewedTerms};

/// A penalty for each key: 8 bytes for each that has offended, and nothing for the others.
///
/// In a [`Keyed`], it refuses the keys whose penalty runs, and grants all others everything: what
/// [`PenaltyBox`](crate::penalty::PenaltyBox) does for one caller. Only [`offend`](Keyed::offend) and
/// [`penalize_for`](Keyed::penalize_for) make a key known, so requests of callers that behave leave
/// nothing behind. A key is forgotten some time after its penalty has ended, its offences no longer
/// count, and the next penalty would be the first.
///
/// # Bounded memory
///
/// **A running penalty is never lost**, and no offence that counts: a key is evicted only if nothing
/// has to be remembered of it. A store that has as many keys as
/// [`max_keys`](crate::keyed::KeyedBuilder::max_keys) allows and cannot evict one takes no new one: `offend`
/// for it returns [`Denied::Full`], and the offence is not counted. So a caller with very many
/// addresses can keep the store from noting *new* offenders, but cannot free any. The address of an
/// offence counts for two periods, so choose `max_keys` for twice the addresses that may offend in a
/// period, besides those that are penalized; and count by prefix, such as a /64 of IPv6, where one caller
/// has many addresses.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Keyed, rate};
/// use sluicegate::keyed::Penalties;
/// use sluicegate::penalty::PenaltyRule;
///
/// let rule = PenaltyRule::new(rate!(5 / 10 minutes), Duration::from_secs(3_600))?;
/// let log_ins = Keyed::<String, _>::builder(Penalties::new(rule)).max_keys(100_000).build()?;
///
/// for _ in 0..5 {
///     assert!(log_ins.try_acquire("eve", 1).is_ok()); // and the password is wrong
///     log_ins.offend("eve", 1)?;
/// }
/// assert!(log_ins.try_acquire("eve", 1).is_err());
/// assert!(log_ins.try_acquire("ada", 1).is_ok());
/// assert_eq!(log_ins.len(), 1);
///
/// // An operator looks, and pardons.
/// let (key, left) = log_ins.penalized().next().expect("eve is penalized");
/// assert!(key == "eve" && left > Duration::from_secs(3_590));
/// assert!(log_ins.clear("eve"));
/// assert!(log_ins.try_acquire("eve", 1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// As for a [`PenaltyBox`](crate::penalty::PenaltyBox), for each key. Every call reads the clock itself.
/// [`WhenFull`](crate::keyed::WhenFull) has no effect: no request needs space for its key.
pub struct Penalties<C = DefaultClock> {
    core: PenaltyCore<C>,
}

impl Penalties {
    /// Creates penalties by `rule`, on a clock of their own.
    #[must_use]
    pub fn new(rule: PenaltyRule) -> Penalties {
        Penalties::with_clock(rule, DefaultClock::default())
    }
}

impl<C: Clock> Penalties<C> {
    /// Creates penalties by `rule`, on `clock`.
    #[must_use]
    pub fn with_clock(rule: PenaltyRule, clock: C) -> Penalties<C> {
        Penalties { core: PenaltyCore::new(rule, clock) }
    }

    /// Returns the rule in force. Waits for a change of it in progress.
    #[must_use]
    pub fn rule(&self) -> PenaltyRule {
        self.core.rule()
    }

    /// Replaces the rule for all keys, as [`PenaltyBox::reconfigure`](crate::penalty::PenaltyBox::reconfigure)
    /// does. A store's is behind [`Keyed::limiter`].
    pub fn reconfigure(&self, rule: PenaltyRule) {
        self.core.change_rule(rule);
    }

    /// Returns how often the clock was found to have been set back, once for each key that had to
    /// heal. [`Keyed::healed`] does not count that.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.core.healed()
    }
}

/// The state of a key.
#[derive(Debug)]
pub struct PenaltyState(AtomicWord<Record>);

impl<K, C: Clock> Engine<K> for Penalties<C> {
    type Clock = C;
    type Terms = ();
    type State = PenaltyState;

    fn clock(&self) -> &C {
        self.core.clock()
    }

    fn terms(&self) {}

    /// Returns 0: the clock is read after the word of the key.
    #[inline(always)]
    fn now_nanos(&self) -> u64 {
        0
    }

    #[inline]
    fn fresh(&self, (): &(), _: &K, _: u64) -> PenaltyState {
        PenaltyState(AtomicWord::new(Record::CLEAN))
    }

    #[inline]
    fn unknown(&self, permits: u64) -> Option<Grant> {
        Some(Grant::unused(permits, u64::MAX))
    }

    #[inline]
    fn acquire<const SPEND: bool>(
        &self,
        (): &(),
        state: &PenaltyState,
        permits: u64,
        _: u64,
    ) -> Answer {
        Answer::Said(self.core.check(&state.0, permits))
    }

    fn acquire_up_to(&self, (): &(), state: &PenaltyState, permits: u64, _: u64) -> Answer {
        Answer::Said(self.core.check(&state.0, permits))
    }

    fn is_begun(&self, (): &(), _: &PenaltyState, _: u64) -> bool {
        false
    }

    fn is_idle(&self, (): &(), state: &PenaltyState, _: u64) -> bool {
        self.core.idle_after(&state.0).is_zero()
    }

    fn idle_after(&self, (): &(), state: &PenaltyState, _: u64) -> Duration {
        self.core.idle_after(&state.0)
    }

    fn fill(&self, (): &(), state: &mut PenaltyState, _: u64) {
        self.core.clear(&state.0);
    }

    fn is_impossible(&self, (): &(), _: &PenaltyState, _: u64) -> bool {
        false
    }

    fn is_out_of_range(&self, (): &(), _: &PenaltyState, _: u64) -> bool {
        false
    }

    fn renewed_terms(&self, (): &(), _: u64, _: u64) -> Option<RenewedTerms<()>> {
        None
    }
}

impl<K, C, S, O> Keyed<K, Penalties<C>, S, O>
where
    K: Hash + Eq,
    C: Clock,
    S: BuildHasher,
{
    /// Counts a number of `offences` of the key, and begins a penalty if they are enough, as
    /// [`PenaltyBox::offend`](crate::penalty::PenaltyBox::offend) does.
    ///
    /// Holds the lock of the key's shard shared if the key is known, and otherwise exclusively, to
    /// insert it. Does not allocate if the key is known. The observer is not told.
    ///
    /// # Errors
    ///
    /// [`Denied::Full`] if the key is not known and there is no space for it: the offence is not
    /// counted. Its `retry_after` is an estimate.
    pub fn offend<Q>(&self, key: &Q, offences: u64) -> Result<Offence, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        self.change_record(key, |core, word| core.offend(word, offences))
    }

    /// Begins a penalty of `length` for the key, unless one runs that ends later, as
    /// [`PenaltyBox::penalize_for`](crate::penalty::PenaltyBox::penalize_for) does. Costs as much as
    /// [`offend`](Keyed::offend).
    ///
    /// # Errors
    ///
    /// [`Denied::Full`] if the key is not known and there is no space for it.
    pub fn penalize_for<Q>(&self, key: &Q, length: Duration) -> Result<Offence, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        self.change_record(key, |core, word| core.penalize_for(word, length))
    }

    fn change_record<Q>(
        &self,
        key: &Q,
        change: impl FnOnce(&PenaltyCore<C>, &AtomicWord<Record>) -> Offence,
    ) -> Result<Offence, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let core = &self.store.limiter.core;
        let outcome = self.store.with_state(self.place(key), key, |state| change(core, &state.0));
        outcome.map_err(|retry_after| Denied::Full { retry_after })
    }

    /// Forgets the offences and the penalty of the key, and those that would make the next one longer.
    /// Returns whether a penalty was running. `remove` does the same, and gives the key's space back
    /// at once.
    ///
    /// Holds the lock of the key's shard shared; does not allocate.
    pub fn clear<Q>(&self, key: &Q) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        let core = &self.store.limiter.core;
        let cleared = self.store.known(self.place(key), key, |state| core.clear(&state.0));
        cleared.unwrap_or(false)
    }
}

impl<K, C, S, O> Keyed<K, Penalties<C>, S, O>
where
    K: Hash + Eq + Clone,
    C: Clock,
{
    /// Returns the keys whose penalty runs, each with the time until its end.
    ///
    /// Visits one shard after the other: each key is as it was at some time between the call and the
    /// end of the iteration, but a key that is inserted meanwhile may be missed. Clones the keys of one
    /// shard at a time; no lock is held while they are handed out.
    pub fn penalized(&self) -> impl Iterator<Item = (K, Duration)> {
        let core = &self.store.limiter.core;
        self.collected(move |(), state, _| core.shown(&state.0).1)
            .filter(|(_, left)| !left.is_zero())
    }
}

/// Shows the rule.
impl<C: Clock> fmt::Debug for Penalties<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Penalties").field("rule", &self.rule()).finish_non_exhaustive()
    }
}
