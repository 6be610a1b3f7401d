//! Keys that are asked for by all threads at once, and yet by none beside another.
//!
//! Around a store of keys: each thread has *seats*, on cache lines of its own, for the keys that
//! it asks for most. What a call takes for such a key it takes from the key's seat, and the seat
//! *draws* some permits at a time from the store, as from any key. The store does not know
//! about it.
//!
//! | file | |
//! |---|---|
//! | `stock` | the word of a seat |
//! | `seat` | a key, and what was drawn for it |
//! | `place` | the seats of a thread |
//! | `source` | the stores, how much is drawn and for how long it is good |
//! | `ask` | the call that its seat has too little for |
//! | `verbs` | what can be asked |
//!
//! Progress: lock-free, if the store is. Memory: 2 KiB for each place (256 bytes for each
//! seat). Cost: an admission to a key that has a seat 6 loads and 1 CAS of its own line, and the
//! clock; a call for another key 4 loads and 1 store more than without seats.
//!
//! # Why the bound holds
//!
//! A bucket's level is a count that only rises, of what was spent or went by; what is granted
//! raises it by its cost. So each permit that the store grants has ticks of its own: those that
//! the level was raised by. Granted at a reading `t` of the clock, they lie between `A(t) -
//! capacity` and `A(t)`: whatever the order of the grants, those of a span (s, t] have ticks of
//! their own between `A(s) - capacity` and `A(t)`, and so there are not more of them than
//! `capacity + A(t) - A(s)` pays for. That is all that the bound of a bucket rests on, and it does
//! not ask *when* the ticks were taken.
//!
//! **Theorem.** The permits of a key that are granted by the store and from seats in any span
//! (s, t] of the clock cost at most `capacity + A(t) - A(s)`, unless the key is removed, made
//! full or given other terms, or starts again because the clock went back too far. (A key is what
//! has a 64-bit hash of its own: see [`HotKeys`].)
//!
//! *Proof.* A draw takes ticks from `first` to `last` as any grant does; nobody else has them. A
//! permit from a seat counts as granted at the reading `u` by which it was taken from there. It
//! is taken only if the draw's reading is not after `u`, so `last <= A(u)`, and if `A(u) -
//! capacity <= first`, which is what [`Drawn::lasts_nanos`](prepay::Drawn::lasts_nanos) makes
//! sure of. So its ticks lie where those of any grant at `u` do. Each permit of a draw is taken
//! once: by a CAS of the seat's word, which names the turn, and so the draw and the key. (All
//! permits of a request count as granted at one reading: what was left in the seat goes with
//! what is drawn only if it was good by then.) ∎
//!
//! No room has to be lent, and none comes back: a permit that is not used in time is lost, as one
//! that a full bucket would have earned, and so is what is in a seat that another key gets. If
//! the bucket is full when something is drawn, it would be good for no time at all; so the draw
//! passes an eighth of the burst over, and is good for as long as it takes to earn that.
//!
//! What makes a key full again takes ticks that were taken before once more. So it has to be
//! followed by taking back what was drawn: [`HotKeys::change`].

mod acquire;
mod seat;
mod seat_word;
mod seats;
pub(crate) mod verbs;

use alloc::boxed::Box;
use core::fmt;

use crossbeam_utils::CachePadded;

use crate::config::error::ConfigError;
use crate::sync::AtomicWord;
use crate::thread_index::MAX_PLACES;
#[cfg(feature = "std")]
use crate::thread_index::places;

use self::seats::SeatBlock;

/// A store of keys, the hottest of which scale as a [`Sharded`](crate::Sharded) limiter does.
///
/// Around a [`KeyTable`](crate::KeyTable), a tier of one, or a `Keyed` of `Buckets`. A key that
/// many threads ask for at once is one word that all of them write, and a lock that all of them
/// hold; here each has a few permits of it on a cache line of its own, and is alone there. Other
/// keys are asked for as before; that takes 5 to 15 ns longer, and more where each call is a miss
/// of the caches.
///
/// | | how |
/// |---|---|
/// | which keys | each place has 8 seats, and each key may sit in one of them. It gets that when it is 64 calls ahead of all others that want it, if the key that sits there was granted less than 64 since somebody last wanted it |
/// | which place | that of the thread's number, as of a [`Sharded`](crate::Sharded); or name one: [`place`](HotKeys::place) |
/// | how much is drawn | what the call needs and twice what was used of the last draw, from 16 to 1,024; but at most a quarter of what the key has, divided by the places, and if that is not 4 more than the call needs nothing: then it asks the store. A small burst is never split |
/// | a request that its seat has too little for | takes what is there, and the rest from the store; or else all of the rest from one other place |
/// | what is drawn and not used | is lost: when the bucket would have been full again without it, when another key gets the seat, and by any [`change`](HotKeys::change) |
/// | denials | remembered by each seat until they can change (permits that a receipt gives back to the store meanwhile are seen after that) |
///
/// # Accuracy
///
/// **The bound is that of the store, exactly**: in any span of time a key is admitted at most its
/// burst and what the span earns, however many draw, and however far clocks are apart that the
/// store bears. Two provisos:
///
/// * Keys are told apart by their 64-bit hash. Of two with the same hash a `KeyTable` makes one
///   key; in a `Keyed`, where each has a bucket of its own, one may take what was drawn for the
///   other, so that only their sum is bounded. With the default hasher nobody can find two such
///   keys; one that others can predict is not for keys that others choose.
/// * What makes a key full, or gives it other terms, has to be done by way of
///   [`change`](HotKeys::change), or what was drawn before comes on top. So it does where a
///   store starts a key again by itself, because the clock went back by more than a second (of a
///   table: or its skew, if that is more), which it counts: `healed` of the store.
///
/// A hot key may get *less*: while it is full, an eighth of its burst is passed over, and what lies
/// in seats whose threads do not use it, up to a quarter of its burst, waits there until it is
/// lost. A caller that would be refused takes its permits from one other place that has as
/// many, if the key has a seat where the caller is; it is refused though several have enough
/// together.
///
/// [`Grant::remaining`](crate::Grant::remaining) of a grant from a seat is what that has left, and
/// [`Grant::reset_after`](crate::Grant::reset_after) the time in which the whole burst is earned.
/// What [`store`](HotKeys::store) tells of a key does not count what is in seats.
/// [`Denied::retry_after`](crate::Denied::retry_after) is the store's, less what is in the
/// caller's seat if that is good for as long.
///
/// # Fairness
///
/// None. Who draws has some permits that others cannot see, until they would be refused.
///
/// # Memory ordering
///
/// None between callers for a key that has seats; that of the store for others.
///
/// The algorithm is of this crate. Which key is hot is found as by Boyer and Moore (*A Fast
/// Majority Vote Algorithm*, 1981).
///
/// # Examples
///
/// ```
/// use sluicegate::{HotKeys, KeyTable, quota};
///
/// let table = KeyTable::<str>::with_keys(quota!(1_000_000 / second), 1_000_000)?;
/// let limiter = HotKeys::new(table);
/// for _ in 0..1_000 {
///     assert!(limiter.try_acquire("everybody's", 1).is_ok());
/// }
/// assert!(limiter.is_hot("everybody's"));
/// assert!(limiter.try_acquire("mine", 1).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct HotKeys<S> {
    store: S,
    places: Box<[SeatBlock]>,
    /// How often what was drawn was taken back.
    changes: CachePadded<AtomicWord<u64>>,
}

impl<S> HotKeys<S> {
    /// The hot keys of `store`, with a place for each thread that the machine runs at once.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn new(store: S) -> HotKeys<S> {
        HotKeys::of(store, places(0))
    }

    /// The hot keys of `store`, with so many `places`, or as many more as make a power of two.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Shards`] if they are not from 1 to 256.
    pub fn with_places(store: S, places: usize) -> Result<HotKeys<S>, ConfigError> {
        if !(1..=MAX_PLACES).contains(&places) {
            return Err(ConfigError::Shards { shards: places });
        }
        Ok(HotKeys::of(store, places.next_power_of_two()))
    }

    fn of(store: S, places: usize) -> HotKeys<S> {
        HotKeys {
            store,
            places: (0..places).map(|_| SeatBlock::new()).collect(),
            changes: CachePadded::new(AtomicWord::new(0)),
        }
    }

    /// The store, for all that only looks at keys or takes from them.
    ///
    /// What makes a key full again, or gives it other terms, belongs into
    /// [`change`](HotKeys::change).
    #[must_use]
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store, without seats. What is in them is lost.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// How many places there are.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The memory of the places, in bytes; that of the store is not in it.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.places)
    }

    /// The place at `index`, counted round.
    #[inline(always)]
    fn at(&self, index: usize) -> &SeatBlock {
        // A power of two of them, and one at least.
        &self.places[index & (self.places.len() - 1)]
    }
}

impl<S: fmt::Debug> fmt::Debug for HotKeys<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HotKeys")
            .field("store", &self.store)
            .field("places", &self.places.len())
            .finish_non_exhaustive()
    }
}
