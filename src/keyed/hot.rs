//! Hot keys: many threads use one key at once, and none contends with another.
//!
//! Wraps a store of keys. Each thread has *seats*, on cache lines of its own, for the keys that it
//! uses most. A call for such a key takes its permits from the key's seat, and the seat *prepays*:
//! it takes some permits at a time from the store, as any call for the key would. The store does
//! not know about the seats.
//!
//! | file | |
//! |---|---|
//! | `seat_word` | the word of a seat |
//! | `seat` | a key, and the permits that were prepaid for it |
//! | `seat_block` | the seats of a thread |
//! | `vote` | which key is hot, and gets a seat |
//! | [`prepay`](super::prepay) | the stores, how much is prepaid and for how long it is good |
//! | `acquire` | the slow path: calls that find too few permits in their seat |
//! | `constructors`, `verbs` | the public operations |
//!
//! Progress: lock-free, if the store is. Memory: 2 KiB for each place (256 bytes for each seat).
//! Cost: an admission to a key that has a seat takes 6 loads and 1 CAS of the thread's own line,
//! and a clock read; a call for another key 4 loads and 1 store more than without seats.
//!
//! # Why the bound holds
//!
//! A bucket's level is a count, which only rises, of the ticks that were spent or went by; a grant
//! raises it by its cost. So each permit that the store grants has ticks of its own: those that the
//! level was raised by. Granted at a reading `t` of the clock, they lie between `A(t) - capacity`
//! and `A(t)`: whatever the order of the grants, those of a span (s, t] have ticks of their own
//! between `A(s) - capacity` and `A(t)`, and so there are not more of them than
//! `capacity + A(t) - A(s)` pays for. The bound of a bucket rests on that alone, and it does not
//! ask *when* the ticks were taken.
//!
//! **Theorem.** The permits of a key that are granted by the store and from seats in any span
//! (s, t] of the clock cost at most `capacity + A(t) - A(s)`, unless the key is removed, reset,
//! credited or given other terms, or starts again because the clock went back too far. (A key is
//! identified by its 64-bit hash: see [`HotKeys`].)
//!
//! *Proof.* A prepayment takes ticks from `first` to `last` as any grant does; nothing else has
//! them. A permit from a seat counts as granted at the reading `u` by which it was taken from
//! there. It is taken only if the prepayment's reading is not after `u`, so `last <= A(u)`, and if
//! `A(u) - capacity <= first`, which [`Prepaid::lasts_nanos`](super::prepay::Prepaid::lasts_nanos)
//! makes sure of. So its ticks lie where those of any grant at `u` do. Each prepaid permit is taken
//! once: by a CAS of the seat's word, which names the turn, and so the prepayment and the key. (All
//! permits of a request count as granted at one reading: permits left in the seat are combined with
//! newly prepaid ones only if they were good by that reading.) ∎
//!
//! No capacity has to be reserved or released: a permit that is not used in time is lost, as one
//! that a full bucket would have earned, and so are the permits in a seat that another key gets. If
//! the bucket is full at a prepayment, the permits would be good for no time at all; so the
//! prepayment passes an eighth of the burst over, and is good for as long as it takes to earn that.
//!
//! A change that resets or credits a key takes ticks that were taken before once more. So the
//! prepaid permits have to be taken back after it: [`HotKeys::update`].

// The documented page has the public methods in the order of these modules.
mod constructors;

pub(crate) mod verbs;

mod acquire;
mod seat;
mod seat_block;
mod seat_word;
mod vote;

use alloc::boxed::Box;
use core::fmt;

use crossbeam_utils::CachePadded;

use crate::sync::AtomicWord;

use self::seat_block::SeatBlock;

/// A store of keys whose hottest keys scale as a [`Sharded`](crate::Sharded) limiter does.
///
/// Wraps a [`KeyTable`](crate::KeyTable), a tier of one, or a `Keyed` of `Buckets`. In such a
/// store, a key that many threads use at once is one word that all of them write, or a lock that
/// all of them take. Here each thread has a few permits of the key on a cache line of its own,
/// without contention. Other keys go to the store as before; that takes 5 to 15 ns longer, and more
/// where each call is a cache miss.
///
/// | | how |
/// |---|---|
/// | which keys | each place has 8 seats, and each key may sit in one of them. A key gets it when it is 64 calls ahead of all others that want it, if the key that sits there was granted less than 64 since another last wanted it |
/// | which place | the place of the thread's number, as in a [`Sharded`](crate::Sharded); or name one: [`place`](HotKeys::place) |
/// | how much is prepaid | the permits that the call needs and twice those used of the last prepayment, from 16 to 1,024; but at most a quarter of the key's permits, divided by the places. If that is not 4 more than the call needs, nothing is prepaid, and the call asks the store. A small burst is never split |
/// | a request larger than its seat's balance | takes the permits there, and the rest from the store; or else all of the rest from one other place |
/// | prepaid permits that are not used | are lost: when the bucket would have been full again without the prepayment, when another key gets the seat, and by any [`update`](HotKeys::update) |
/// | denials | cached by each seat until they can change (permits that a receipt gives back to the store meanwhile are seen after that) |
///
/// There is no `force` here, and no `drain` or `credit`; use those of a `Keyed` behind the seats. A
/// `credit` needs an [`update`](HotKeys::update), as all that gives a key permits. `force` and
/// `drain` do not, as far as the bound is concerned: permits in seats were paid for before. But
/// they are still granted there, while the store counts a debt or has nothing. A change takes them
/// back: `hot.update(|store| store.force("ada", 3))`.
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, quota};
/// use sluicegate::keyed::HotKeys;
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
///
/// # Accuracy
///
/// **The bound is the store's, exactly**: in any span of time a key is admitted at most its burst
/// and the span's earnings, however many places prepay, and however much clocks differ, as long as
/// the store tolerates that. Two provisos:
///
/// * Keys are told apart by their 64-bit hash. To a `KeyTable`, two keys with one hash are one key;
///   in a `Keyed`, where each has a bucket of its own, one may take permits that were prepaid for
///   the other, so that only their sum is bounded. With the default hasher nobody can find two such
///   keys; a predictable hasher is not safe for keys that others choose.
/// * A change that resets or credits a key, or gives it other terms, has to be made through
///   [`update`](HotKeys::update), or permits prepaid before it come on top. They also come on top
///   where a store starts a key again by itself, because the clock went back by more than a second
///   (for a table: or its skew, if that is more); the store's `healed` counts that.
///
/// A hot key may get *less*. While its bucket is full, each prepayment passes over an eighth of its
/// burst. And permits in seats whose threads do not use them, up to a quarter of its burst, wait
/// there until they are lost. A caller that would be refused takes its permits from one other place
/// that has as many, if the key has a seat where the caller is; it is refused though several have
/// enough together.
///
/// [`Grant::remaining`](crate::Grant::remaining) of a grant from a seat is the number of permits
/// left in the seat, and [`Grant::reset_after`](crate::Grant::reset_after) the time in which the
/// whole burst is earned. The answers of [`store`](HotKeys::store) do not include the permits in
/// seats. [`Denied::retry_after`](crate::Denied::retry_after) is the store's, less the time saved
/// by permits in the caller's seat, if they are good for as long.
///
/// # Fairness
///
/// None. A caller that prepays holds some permits that others cannot see, until they would be
/// refused.
///
/// # Memory ordering
///
/// None between callers for a key that has seats; the store's for others.
///
/// The algorithm is original to this crate. Hot keys are found as by Boyer and Moore (*A Fast
/// Majority Vote Algorithm*, 1981).
pub struct HotKeys<S> {
    store: S,
    places: Box<[SeatBlock]>,
    /// Number of times that prepaid permits were taken back.
    changes: CachePadded<AtomicWord<u64>>,
}

impl<S> HotKeys<S> {
    /// Returns the store, for calls that only look at keys or take from them.
    ///
    /// A call that resets or credits a key, or gives it other terms, belongs in
    /// [`update`](HotKeys::update).
    #[must_use]
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store, without seats. The permits in them are lost.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// Returns the number of places.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Returns the memory of the places, in bytes, without the store.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.places)
    }

    /// Returns the place at `index`, wrapping around.
    #[inline(always)]
    fn at(&self, index: usize) -> &SeatBlock {
        // The number of places is a power of two, so at least one.
        &self.places[index & (self.places.len() - 1)]
    }
}

impl<S: fmt::Debug> fmt::Debug for HotKeys<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HotKeys")
            .field("store", &self.store)
            .field("places", &self.places.len())
            .finish()
    }
}
