//! The loop that changes the terms, and carries the balance over to them.

use crate::contention::Contender;
use crate::decision::snapshot::Snapshot;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, Backoff};
use crate::time::clock::Clock;

use super::BucketCore;
use super::carry::{Carry, Holding};
use super::level::Level;
use super::reserved::ReservedCapacity;
use super::terms::Terms;

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    pub(crate) fn reset(&self) {
        self.change(|terms, holding| (*terms, holding.filled(terms)));
    }

    /// Enforces `new` from now on. Adds the `outside` permits that were held elsewhere; from now on
    /// they are held here.
    pub(crate) fn reconfigure(&self, new: &Terms, carry: Carry, outside: u64) {
        self.change(|old, holding| (*new, holding.plus(outside, old).carried(old, new, carry)));
    }

    pub(crate) fn restore(&self, snapshot: &Snapshot, away_nanos: u64) {
        self.change(|terms, _| (*terms, Holding::restored(snapshot, away_nanos, terms)));
    }

    /// Puts the terms and the holding that `next` makes from the present ones in force, at one
    /// instant.
    pub(super) fn change(&self, next: impl Fn(&Terms, Holding) -> (Terms, Holding)) {
        let changing = self.wait_for_turn();
        let replaced = self.change_locked(|terms, holding, _| Some(next(terms, holding)));
        drop(changing);
        if replaced.is_some_and(Level::is_gated) {
            self.poke();
        }
    }

    pub(crate) fn wait_for_turn(&self) -> Changing<'_> {
        let backoff = Backoff::new();
        loop {
            match self.lock() {
                Some(changing) => return changing,
                None => backoff.snooze(),
            }
        }
    }

    /// Does the same as `change` for the holder of the lock, and passes the time to `next`. If
    /// `next` returns `None`, nothing changes. Returns the level that was replaced.
    pub(super) fn change_locked(
        &self,
        next: impl Fn(&Terms, Holding, u64) -> Option<(Terms, Holding)>,
    ) -> Option<Level> {
        // A change does not step back for others: changes are rare.
        let mut contender = Contender::new(Some(&self.line.contention));
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `terms_are_never_mixed`, `a_change_keeps_the_bound`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            // The clock is read after the level. With an earlier reading, admissions made in
            // between would look like a debt, and clamping that debt would forgive it.
            let now_nanos = self.clock.now_nanos();
            let old = self.slots.named_by(seen);
            let open = seen.with_gate(false);
            let holding = Holding::of(open, &old, self.capacity(&old), now_nanos);
            let (terms, next_holding) = next(&old, holding, now_nanos)?;
            // ORDERING: Relaxed. The word was loaded with Acquire after the previous change, and all
            // that changes it are read-modify-writes: so this sees what was noted before any fall
            // that came before that change.
            // MODEL: `no_word_comes_back_after_two_changes`.
            let successor = seen.successor(self.line.fell_from.load(Relaxed));
            self.line.reserved.before_change(successor);
            let terms = terms.succeeding(&old, next_holding, successor, now_nanos);
            self.slots.prepare(successor, terms);
            // ORDERING: Release publishes the slot's stores to every caller that loads the
            // successor. Acquire orders this before the stores of the next change, which go into
            // the slot that is now out of force; see `TermSlots::named_by`. On failure Relaxed: the
            // word is loaded again.
            // MODEL: `terms_are_never_mixed`, `a_change_keeps_the_bound`.
            if self.line.word.compare_exchange(seen, successor, AcqRel, Relaxed).is_ok() {
                return Some(seen);
            }
            contender.lost_race();
            seen = self.look_again();
        }
    }

    /// Returns whether no change of terms is in progress. A change that begins later reads the
    /// clock no earlier than the caller has.
    pub(crate) fn is_unchanging(&self) -> bool {
        // ORDERING: Release, and a CAS although it changes nothing, so that it has its place among
        // the CASes of `lock`. A later `lock` synchronizes with it, by its Acquire, and so comes
        // after the caller's reading of the clock. If a change has ended, its store in `drop` is
        // the value found here, and the fence of the caller's `still` synchronizes with that: the
        // word has moved on. On failure Relaxed: it is enough to know that a change was in
        // progress.
        // MODEL: `room_given_back_beside_a_change_brings_nothing_back_that_the_new_terms_cut_off`.
        self.changing.compare_exchange(0, 0, Release, Relaxed).is_ok()
    }

    pub(super) fn lock(&self) -> Option<Changing<'_>> {
        // ORDERING: Acquire, so that this change's stores to a slot come after those of the
        // previous change. Pairs with the store in `drop`, and with `is_unchanging`.
        // MODEL: `two_changes_leave_one_of_them`,
        // `room_given_back_beside_a_change_brings_nothing_back_that_the_new_terms_cut_off`.
        self.changing.compare_exchange(0, 1, Acquire, Relaxed).ok()?;
        Some(Changing(&self.changing))
    }
}

/// The lock on changes of the terms. Released when dropped, because a user's clock runs while it is
/// held, and may panic.
pub(crate) struct Changing<'a>(&'a AtomicWord<u64>);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        // ORDERING: Release; pairs with the CAS in `lock`.
        // MODEL: `two_changes_leave_one_of_them`.
        self.0.store(0, Release);
    }
}
