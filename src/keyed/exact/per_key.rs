//! What a [`Keyed`](super::Keyed) limiter has to know of the limiter of a key.

use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

/// What limits a key: [`Buckets`](crate::Buckets) or [`Each`](crate::Each). It cannot be
/// implemented elsewhere.
pub trait PerKey<K>: Engine<K> {}

impl<K, L: Engine<K>> PerKey<K> for L {}

/// What a limiter said of a key.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Said(Result<Grant, Denied>),
    /// This, in a state that no call can have left.
    Impossible(Result<Grant, Denied>),
}

/// Terms to go on with.
#[derive(Clone, Debug)]
pub struct Settled<T> {
    pub terms: T,
    /// Whether some keys start again from full.
    pub has_healed: bool,
}

/// The limiter of each key: what is common to the keys of a shard, and the state of one.
///
/// The bound of a key holds if a state that `is_idle` answers as one that is `fresh` at
/// that time or later.
pub trait Engine<K> {
    type Clock: Clock;
    type Terms: Clone + Send + Sync;
    type State: Send + Sync;

    fn clock(&self) -> &Self::Clock;

    /// The terms to begin with.
    fn terms(&self) -> Self::Terms;

    /// The time, if it is this that reads the clock, and not the limiter of the key.
    fn now_nanos(&self) -> u64;

    /// The state of a key that is not known.
    fn fresh(&self, terms: &Self::Terms, key: &K, now_nanos: u64) -> Self::State;

    /// All of `permits` or none, and if not `SPEND` only the answer.
    fn ask<const SPEND: bool>(
        &self,
        terms: &Self::Terms,
        state: &Self::State,
        permits: u64,
        now_nanos: u64,
    ) -> Answer;

    /// All of `permits` or none, of a state that nobody else has now: the shard's lock is held
    /// alone.
    fn ask_alone(
        &self,
        terms: &Self::Terms,
        state: &Self::State,
        permits: u64,
        now_nanos: u64,
    ) -> Answer {
        self.ask::<true>(terms, state, permits, now_nanos)
    }

    /// As many of `permits` as there are.
    fn ask_up_to(
        &self,
        terms: &Self::Terms,
        state: &Self::State,
        permits: u64,
        now_nanos: u64,
    ) -> Answer;

    /// Whether less than a permit was taken from a state that was fresh. (Of one that granted
    /// permits nobody asks.)
    fn is_begun(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// Whether the state is what a fresh one would be.
    fn is_idle(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// The same of many states at one time: what they have in common is found once.
    fn idle_at<'a>(
        &'a self,
        terms: &'a Self::Terms,
        now_nanos: u64,
    ) -> impl Fn(&Self::State) -> bool + 'a {
        move |state| self.is_idle(terms, state, now_nanos)
    }

    /// How long until it is, if nobody asks for the key.
    fn idle_after(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> Duration;

    /// Makes the state full.
    fn fill(&self, terms: &Self::Terms, state: &mut Self::State, now_nanos: u64);

    /// Whether the state is one that no call can have left.
    fn is_impossible(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// Whether the terms of the state cannot tell the time.
    fn is_out_of_range(&self, terms: &Self::Terms, state: &Self::State, now_nanos: u64) -> bool;

    /// The terms to go on with from `now_nanos` on, without regard to the horizon, the time
    /// by which forgotten keys were full; `None` if they are these. They are others if the
    /// horizon is further ahead than clocks are apart, or if the terms cannot tell the time,
    /// or not what a key has that is not known.
    fn settled(
        &self,
        terms: &Self::Terms,
        horizon_nanos: u64,
        now_nanos: u64,
    ) -> Option<Settled<Self::Terms>>;
}
