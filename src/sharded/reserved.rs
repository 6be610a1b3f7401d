//! Counts of the reserved capacity, and of the part of it that leases hold.

use crate::bucket::reserved::ReservedCapacity;
use crate::bucket::terms::Terms;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Relaxed, Release};

/// Reserved capacity, in permits.
#[derive(Debug)]
pub(crate) struct Reserved {
    reserved: AtomicWord<u64>,
    /// The part that leases and receipts hold: no call in progress releases it.
    leased: AtomicWord<u64>,
}

impl Reserved {
    /// Counts `permits` of the reserved capacity as held by a lease.
    pub(crate) fn lease(&self, permits: u64) {
        // ORDERING: Relaxed. No bound depends on it: it only selects the denial that a refusal
        // names, and whether a refusal releases empty capacity.
        // MODEL: none; no bound depends on it.
        self.leased.fetch_add(permits, Relaxed);
    }

    /// Ends the count of a lease's `permits`, before the capacity goes anywhere else.
    pub(crate) fn end_lease(&self, permits: u64) {
        // ORDERING: Relaxed, as in `lease`.
        // MODEL: none; no bound depends on it.
        self.leased.fetch_sub(permits, Relaxed);
    }

    /// Returns the capacity that leases hold.
    pub(crate) fn leased(&self) -> u64 {
        // ORDERING: Relaxed, as in `lease`.
        // MODEL: none; no bound depends on it.
        self.leased.load(Relaxed)
    }

    /// Reserves `permits` more. Must be called before any token is put into that capacity.
    pub(crate) fn reserve(&self, permits: u64) {
        // ORDERING: Relaxed. A call that finds the word as left by the refill that filled this
        // capacity must see the reservation too: the refill's CAS is a Release after this. Until
        // then the capacity is empty, and no call needs to know of it.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        self.reserved.fetch_add(permits, Relaxed);
    }

    /// Returns by how many permits the reserved capacity exceeds the capacity of `terms`.
    pub(crate) fn beyond(&self, terms: &Terms) -> u64 {
        // ORDERING: Relaxed. After the load of the word, as in `left_of`.
        // MODEL: `a_lease_of_a_shard_gives_back_all_that_was_not_used`.
        self.reserved.load(Relaxed).saturating_sub(terms.capacity / terms.token)
    }

    /// Releases `permits` of reserved capacity that have no tokens in them.
    pub(crate) fn release(&self, permits: u64) {
        // ORDERING: Release, so that it comes after the CAS or the load that cut the word, and
        // after the CASes that took the capacity out of its shard.
        // MODEL: none; loom never moves a read-modify-write before what precedes it.
        self.reserved.fetch_sub(permits, Release);
    }
}

impl ReservedCapacity for Reserved {
    fn of(_terms: &Terms) -> Reserved {
        Reserved { reserved: AtomicWord::new(0), leased: AtomicWord::new(0) }
    }

    #[inline]
    fn left_of(&self, terms: &Terms, own: u64) -> u64 {
        // ORDERING: Relaxed. After the Acquire load of the word, so it includes all capacity that
        // was reserved before the refills which that word counts. Capacity reserved later is empty,
        // or the word has changed and the caller's CAS fails. Missing a release only means to hold
        // less than is allowed.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        let reserved = self.reserved.load(Relaxed).saturating_sub(own);
        terms.capacity.saturating_sub(reserved.saturating_mul(terms.token))
    }
}
