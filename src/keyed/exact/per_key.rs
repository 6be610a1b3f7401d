//! The interface between a [`Keyed`](super::Keyed) store and the limiter of its keys.

use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

/// A limiter of keys: [`Buckets`](crate::keyed::Buckets) or [`Each`](crate::keyed::Each). It cannot be
/// implemented elsewhere.
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
/// use sluicegate::keyed::PerKey;
///
/// /// Users with limits of any kind.
/// struct Service<L: PerKey<String>> {
///     users: Keyed<String, L>,
/// }
///
/// let service = Service { users: Keyed::new(quota!(10 / second)) };
/// assert!(service.users.try_acquire("ada", 1).is_ok());
/// ```
pub trait PerKey<K>: Engine<K> {}

impl<K, L: Engine<K>> PerKey<K> for L {}

/// A limiter of keys that can leave a reserve to each: [`Buckets`](crate::keyed::Buckets), or
/// [`Each`](crate::keyed::Each) of a [`Leaving`](crate::share::Leaving). It cannot be implemented elsewhere.
///
/// # Examples
///
/// ```
/// use sluicegate::keyed::{Each, LeavingPerKey};
/// use sluicegate::{FixedWindow, Keyed, rate};
///
/// /// Returns whether a request of less importance leaves half of ten to others of its tenant.
/// fn admits<L: LeavingPerKey<String>>(tenants: &Keyed<String, L>, tenant: &str) -> bool {
///     tenants.try_acquire_leaving(tenant, 1, 5).is_ok()
/// }
///
/// let window = |_: &String| FixedWindow::new(rate!(10 / day)).expect("a small limit");
/// let tenants = Keyed::<String, _>::with(Each::new(window));
/// assert_eq!((0..10).filter(|_| admits(&tenants, "acme")).count(), 5);
/// assert!(tenants.try_acquire("acme", 5).is_ok());
/// ```
pub trait LeavingPerKey<K>: PerKey<K> {
    /// Takes the first number of permits, or none unless the second one remains; unless `SPEND`, only returns the answer.
    #[doc(hidden)]
    fn acquire_leaving<const SPEND: bool>(
        &self,
        terms: &Self::Terms,
        state: &Self::State,
        permits_and_reserve: (u64, u64),
        now_nanos: u64,
    ) -> Answer;
}

/// The answer of a limiter for a key.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Said(Result<Grant, Denied>),
    /// An answer from a state that no call can have left.
    Impossible(Result<Grant, Denied>),
}

/// Terms to go on with.
#[derive(Clone, Debug)]
pub struct RenewedTerms<T> {
    pub terms: T,
    /// True if some keys start again from full.
    pub has_healed: bool,
}

/// The limiter of each key: what the keys of a shard have in common, and the state of one.
///
/// The bound of a key holds if an idle state answers like one that is `fresh` at that time or
/// later.
pub trait Engine<K> {
    type Clock: Clock;
    type Terms: Clone + Send + Sync;
    type State: Send + Sync;

    fn clock(&self) -> &Self::Clock;

    /// Returns the terms to begin with.
    fn terms(&self) -> Self::Terms;

    /// Returns the time, if the engine reads the clock and not the limiter of the key.
    fn now_nanos(&self) -> u64;

    /// Returns the state of a key that is not known.
    fn fresh(&self, terms: &Self::Terms, key: &K, now_nanos: u64) -> Self::State;

    /// Returns the grant of `permits` to any key that is not known, if it takes nothing: then the key
    /// does not have to be inserted.
    #[inline(always)]
    fn unknown(&self, _permits: u64) -> Option<Grant> {
        None
    }

    /// Takes all of `permits` or none; unless `SPEND`, takes nothing and only returns the
    /// answer.
    fn acquire<const SPEND: bool>(
        &self,
        terms: &Self::Terms,
        state: &Self::State,
        permits: u64,
        now_nanos: u64,
    ) -> Answer;

    /// Takes all of `permits` or none, from a state that no other thread has access to: the
    /// shard's lock is held exclusively.
    fn acquire_alone(
        &self,
        terms: &Self::Terms,
        state: &Self::State,
        permits: u64,
        now_nanos: u64,
    ) -> Answer {
        self.acquire::<true>(terms, state, permits, now_nanos)
    }

    /// Takes as many of `permits` as are available.
    fn acquire_up_to(
        &self,
        terms: &Self::Terms,
        state: &Self::State,
        permits: u64,
        now_nanos: u64,
    ) -> Answer;

    /// Returns whether less than a permit was taken from a state that was fresh. (Not called
    /// for a state that granted permits.)
    fn is_begun(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// Returns whether the state is what a fresh one would be.
    fn is_idle(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// Does the same for many states at one time; what they have in common is computed once.
    fn idle_at<'a>(
        &'a self,
        terms: &'a Self::Terms,
        now_nanos: u64,
    ) -> impl Fn(&Self::State) -> bool + 'a {
        move |state| self.is_idle(terms, state, now_nanos)
    }

    /// Returns the time until the state is idle, if no call uses the key.
    fn idle_after(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> Duration;

    /// Makes the state full.
    fn fill(&self, terms: &Self::Terms, state: &mut Self::State, now_nanos: u64);

    /// Returns whether no call can have left the state.
    fn is_impossible(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// Returns whether `now_nanos` is out of the range of the terms of the state.
    fn is_out_of_range(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// Returns the terms to go on with from `now_nanos` on, without the horizon (the time by
    /// which evicted keys were full), or `None` if they are these. They are others if the
    /// horizon is further ahead than clocks differ, if the time is out of the range of the
    /// terms, or if no call can have left the level of an unknown key.
    fn renewed_terms(
        &self,
        terms: &Self::Terms,
        horizon_nanos: u64,
        now_nanos: u64,
    ) -> Option<RenewedTerms<Self::Terms>>;
}
