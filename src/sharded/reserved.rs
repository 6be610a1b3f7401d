//! Counts of the room that is lent, and of how much of it leases hold.

use crate::bucket::reserved::Lent;
use crate::bucket::terms::Terms;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Relaxed, Release};

/// Room that is lent, in permits.
#[derive(Debug)]
pub(crate) struct Reserved {
    lent: AtomicWord<u64>,
    /// The part of it that leases and receipts hold: no call under way gives it back.
    leased: AtomicWord<u64>,
}

impl Reserved {
    /// Counts room for `permits`, which is lent already, as that of a lease.
    pub(crate) fn lease(&self, permits: u64) {
        // ORDERING: Relaxed. It decides nothing but what a refusal is called.
        // MODEL: none; it is only told.
        self.leased.fetch_add(permits, Relaxed);
    }

    /// The opposite, before the room is anywhere else.
    pub(crate) fn end_lease(&self, permits: u64) {
        // ORDERING: Relaxed, as in `lease`.
        // MODEL: none; it is only told.
        self.leased.fetch_sub(permits, Relaxed);
    }

    /// The room that leases hold.
    pub(crate) fn leased(&self) -> u64 {
        // ORDERING: Relaxed, as in `lease`.
        // MODEL: none; it is only told.
        self.leased.load(Relaxed)
    }

    /// Lends `permits` more. Before a token is put into them.
    pub(crate) fn lend(&self, permits: u64) {
        // ORDERING: Relaxed. Whoever finds the word as the draw left it that filled this
        // room must see the room too: the draw's CAS is a Release after this. Until then
        // there is nothing in it, and nobody need know.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        self.lent.fetch_add(permits, Relaxed);
    }

    /// How much more is lent than `terms` have.
    pub(crate) fn beyond(&self, terms: &Terms) -> u64 {
        // ORDERING: Relaxed. After the load of the word, as in `left_of`.
        // MODEL: `a_lease_of_a_shard_gives_back_all_that_was_not_used`.
        self.lent.load(Relaxed).saturating_sub(terms.capacity / terms.token)
    }

    /// Takes `permits` back that were lent, and have nothing in them.
    pub(crate) fn take_back(&self, permits: u64) {
        // ORDERING: Release, so that it comes after the CAS or the look that settled the
        // word, and after the CASes that took the room out of its shard.
        // MODEL: none; loom never moves a read-modify-write before what precedes it.
        self.lent.fetch_sub(permits, Release);
    }
}

impl Lent for Reserved {
    fn none() -> Reserved {
        Reserved { lent: AtomicWord::new(0), leased: AtomicWord::new(0) }
    }

    #[inline]
    fn left_of(&self, terms: &Terms, own: u64) -> u64 {
        // ORDERING: Relaxed. After the Acquire load of the word, so all room is in it
        // that was lent before the draws which that word counts. Room lent later has
        // nothing in it, or the word has changed and the caller's CAS fails. To miss that
        // some was given back is to hold less than one may.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        let lent = self.lent.load(Relaxed).saturating_sub(own);
        terms.capacity.saturating_sub(lent.saturating_mul(terms.token))
    }
}
