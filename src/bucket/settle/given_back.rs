//! The lots of a bucket: where units are put that were given back, and from where they are claimed.

use crate::bucket::level::{Level, UNIT};
use crate::bucket::reserved::ReservedCapacity;
use crate::bucket::terms::Terms;
use crate::decision::pieces::{LOTS, Piece};
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Relaxed, Release};

use super::lots::{Bands, Lots, Seen};

/// The lots, on the line of the bucket's word.
#[derive(Debug)]
pub(crate) struct GivenBack {
    /// Those of the first terms, for good: with others, a word would mean another band.
    bands: Bands,
    /// Units up to this were earned under terms that are no longer in force.
    void: AtomicWord<u64>,
    lots: [AtomicWord<u64>; LOTS],
}

impl GivenBack {
    /// Returns the lots, for a bucket whose word was loaded as `level`.
    pub(super) fn look(&self, level: Level, accrued: u64, capacity: u64) -> Lots {
        // ORDERING: Relaxed. It was stored before the Release CAS that put the terms of `level` in
        // force, which was loaded with Acquire. A later value only makes more units void.
        // MODEL: `a_change_voids_what_was_given_back`.
        let void = self.void.load(Relaxed);
        // ORDERING: Relaxed. A claim is a CAS, which fails if this is out of date; what was put
        // here by a call that has returned to this one is seen in any case.
        // MODEL: `what_is_given_back_is_taken_once`.
        let words = self.lots.each_ref().map(|lot| lot.load(Relaxed));
        let seen =
            Seen { level: level.units_spent(), accrued: accrued & !(UNIT - 1), capacity, void };
        Lots::new(self.bands, words, seen)
    }

    /// Takes the youngest `units` of a lot, if it still is as it was `seen`.
    pub(super) fn claim(&self, index: usize, seen: u64, units: u64) -> Option<Piece> {
        // ORDERING: Relaxed. The look at the word that follows has to find it no lower than the calls
        // did that put units here: it has an Acquire fence before it, which pairs with the CAS in
        // `put_one`; or it is a CAS, which finds the latest. All that changes a lot, but
        // for what empties it, are read-modify-writes, so this one goes on with the release sequences
        // of them all.
        // MODEL: `a_unit_is_not_taken_before_it_was_earned`, `what_is_given_back_is_taken_once`.
        let claimed = self.lots[index].compare_exchange(seen, seen - units, Relaxed, Relaxed);
        claimed.ok().map(|_| Piece { top: seen, units })
    }

    /// Puts units of one band into its lot. Returns false if they are lost.
    fn put_one(&self, piece: Piece) -> bool {
        let lot = &self.lots[self.bands.lot_of(piece.top)];
        // ORDERING: Relaxed. The CAS fails if this is out of date.
        // MODEL: `what_is_given_back_is_taken_once`.
        let mut seen = lot.load(Relaxed);
        while let Some(next) = self.bands.with(seen, piece.top, piece.units) {
            // ORDERING: Release, so that a caller that claims these units finds the word no lower
            // than it was when they were taken: pairs with the fence in `still`. No data is read
            // through a lot, so not Acquire.
            // MODEL: `a_unit_is_not_taken_before_it_was_earned`, `what_is_given_back_is_taken_once`.
            match lot.compare_exchange_weak(seen, next, Release, Relaxed) {
                Ok(_) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }
}

impl ReservedCapacity for GivenBack {
    fn of(terms: &Terms) -> GivenBack {
        let bands = Bands::of(terms.capacity);
        let lots = core::array::from_fn(|index| AtomicWord::new(bands.empty(index)));
        GivenBack { bands, void: AtomicWord::new(0), lots }
    }

    #[inline(always)]
    fn left_of(&self, terms: &Terms, _own: u64) -> u64 {
        terms.capacity
    }

    /// Makes void what was taken before the change, and empties the lots: their words would mean
    /// something again after the axis went round once.
    fn before_change(&self, successor: Level) {
        let level = successor.units_spent();
        // ORDERING: Relaxed. The CAS that puts `successor` in force is a Release. Until then this
        // only makes void what the change will.
        // MODEL: `a_change_voids_what_was_given_back`.
        self.void.store(level, Relaxed);
        for (lot, empty) in self.lots.iter().zip(self.bands.empty_at(level)) {
            // ORDERING: Relaxed. All that this takes away is void, or lost to a change that fails.
            // MODEL: `a_change_voids_what_was_given_back`.
            lot.store(empty, Relaxed);
        }
    }

    /// Puts units into the lots of their bands. Returns how many were lost.
    fn put(&self, mut piece: Piece) -> u64 {
        // As many bands as there are lots are enough: an older band would find a younger one.
        for _ in 0..LOTS {
            if piece.units == 0 {
                break;
            }
            let units = self.bands.in_band(piece.top, piece.units);
            if !self.put_one(Piece { top: piece.top, units }) {
                break;
            }
            piece.top = piece.top.wrapping_sub(units);
            piece.units -= units;
        }
        piece.units
    }
}
