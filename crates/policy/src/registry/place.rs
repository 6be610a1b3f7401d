//! The limiter in force under a name, and its terms beside the limiter's own numbers.
//!
//! A change that the limiter can make in one step is its own affair: no decision is void. Any other
//! change goes through [`Place::change`], and `generation.rs` says why it is exact.
//!
//! The limiter in force is in an `ArcSwap`, so that one that was replaced is freed when the last handle
//! and the last call are done with it, and no call waits for that.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use sluicegate::compose::AnswerCounters;
use sluicegate::{Denied, Grant};

use super::generation::Generation;
use super::offenders::Offenders;
use super::shadow::Shadow;
use super::terms::Terms;
use super::unasked::Unasked;
use crate::LimiterPolicy;
use crate::past::{Past, PastOfKeys};

/// A limiter, and all that its policy says of how it is asked.
#[derive(Clone, Debug)]
pub(super) struct InForce<L> {
    pub(super) limiter: L,
    pub(super) terms: Terms,
    /// The keys that have offended, if the policy has a penalty.
    pub(super) offenders: Option<Offenders>,
    pub(super) generation: u64,
}

impl<L> InForce<L> {
    /// Returns the time until the end of a penalty that refuses a request for `permits`, if one runs.
    pub(super) fn penalty_left(&self, key: &[u8], permits: u64) -> Option<Duration> {
        self.offenders.as_ref()?.left(key).filter(|_| permits > 0)
    }

    /// Notes a denial by the limiter, if that is an offence. Returns true if a penalty runs now.
    pub(super) fn note(&self, key: &[u8], denied: Option<&Denied>) -> bool {
        match (&self.offenders, denied) {
            (Some(offenders), Some(denied)) => offenders.note(key, denied),
            _ => false,
        }
    }
}

/// The place of a name's limiter.
#[derive(Debug)]
pub(super) struct Place<L> {
    pub(super) generation: Generation,
    in_force: ArcSwap<InForce<L>>,
    policy: ArcSwap<LimiterPolicy>,
    /// Held while terms change: the grants that the limiter in force does not know of.
    changing: Mutex<Option<Past>>,
    /// The same for each key of a limiter with keys.
    pub(super) past_of_keys: Mutex<PastOfKeys<Vec<u8>>>,
    /// True if the file no longer has the name.
    is_removed: AtomicBool,
    pub(super) shadow: Shadow,
    /// Set if the answers are counted.
    pub(super) answers: OnceLock<AnswerCounters>,
    pub(super) unasked: Unasked,
}

impl<L: Clone> Place<L> {
    pub(super) fn new(
        limiter: L,
        offenders: Option<Offenders>,
        policy: Arc<LimiterPolicy>,
    ) -> Place<L> {
        let in_force = InForce { limiter, terms: Terms::of(&policy), offenders, generation: 0 };
        Place {
            generation: Generation::default(),
            in_force: ArcSwap::from_pointee(in_force),
            policy: ArcSwap::new(policy),
            changing: Mutex::default(),
            past_of_keys: Mutex::default(),
            is_removed: AtomicBool::new(false),
            shadow: Shadow::default(),
            answers: OnceLock::new(),
            unasked: Unasked::default(),
        }
    }

    /// Counts an answer, if answers are counted, but for a denial that only `shadow` counts.
    pub(super) fn count(&self, terms: Terms, permits: u64, answer: Result<&Grant, &Denied>) {
        if let Some(answers) = self.answers.get()
            && (answer.is_ok() || !terms.is_shadow)
        {
            answers.count(permits, answer);
        }
    }

    /// Counts a denial by a penalty, likewise.
    pub(super) fn count_penalized(&self, terms: Terms, permits: u64) {
        if self.answers.get().is_some() && !terms.is_shadow {
            self.unasked.count_penalized(permits);
        }
    }

    /// Counts a denial for lack of a key, if answers are counted.
    pub(super) fn count_missing_key(&self, permits: u64) {
        if self.answers.get().is_some() {
            self.unasked.count_missing_key(permits);
        }
    }

    pub(super) fn policy(&self) -> Arc<LimiterPolicy> {
        self.policy.load_full()
    }

    /// Notes the policy whose terms are in force.
    pub(super) fn set_policy(&self, policy: Arc<LimiterPolicy>) {
        self.policy.store(policy);
    }

    pub(super) fn is_removed(&self) -> bool {
        // ORDERING: Relaxed. It chooses the text of a refusal.
        // MODEL: none; no decision depends on it.
        self.is_removed.load(Relaxed)
    }

    pub(super) fn set_removed(&self, is_removed: bool) {
        // ORDERING: Relaxed, as in `is_removed`.
        // MODEL: none, as there.
        self.is_removed.store(is_removed, Relaxed);
    }

    /// Returns the limiter in force.
    pub(super) fn in_force(&self) -> Arc<InForce<L>> {
        self.in_force.load_full()
    }

    /// Decides by the terms in force: calls `call` until no change came in between.
    ///
    /// Waits while the terms change, and for nothing else.
    #[cold]
    #[inline(never)]
    pub(super) fn decide<T>(&self, mut call: impl FnMut(&InForce<L>) -> T) -> T {
        loop {
            let in_force = self.in_force.load();
            if self.generation.get() == in_force.generation {
                let answer = call(&in_force);
                if self.generation.is_still(in_force.generation) {
                    return answer;
                }
            }
            drop(in_force);
            drop(self.changing.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Lets `change` change the limiter in force by any number of steps, or return another in its place,
    /// and puts `terms` and `offenders` in force with it: in one step, as all decisions see it. `change` is
    /// to carry the past over too.
    pub(super) fn change<E>(
        &self,
        (terms, offenders): (Terms, Option<Offenders>),
        change: impl FnOnce(&L, &mut Option<Past>) -> Result<Option<L>, E>,
    ) -> Result<(), E> {
        let mut past = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.in_force();
        let generation = old.generation.wrapping_add(2);
        let next = InForce { generation, ..InForce::clone(&old) };
        self.generation.begin(old.generation);
        // From here on it is published, also if `change` panics: a clock is a user's.
        let mut publish = Publish { place: self, next: Some(next) };
        let other = change(&old.limiter, &mut past)?;
        if let Some(next) = &mut publish.next {
            (next.terms, next.offenders) = (terms, offenders);
            next.limiter = other.unwrap_or_else(|| old.limiter.clone());
        }
        Ok(())
    }
}

/// Puts a limiter in force when it is dropped.
struct Publish<'a, L: Clone> {
    place: &'a Place<L>,
    next: Option<InForce<L>>,
}

impl<L: Clone> Drop for Publish<'_, L> {
    fn drop(&mut self) {
        let Some(next) = self.next.take() else { return };
        let generation = next.generation;
        self.place.in_force.store(Arc::new(next));
        self.place.generation.publish(generation);
    }
}
