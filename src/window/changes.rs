//! The changes of a window that its words cannot tell of.
//!
//! A reset and a healing may bring back a word that was there before. A grant that was made before
//! one of them must not be given back after it: later grants may have left the same word. So the
//! changes are counted, before and after each. A settlement, which moves the count whatever others
//! have done, keeps them away meanwhile:
//!
//! ```text
//! settle  add 1 to SETTLEMENTS; if CHANGES is that of the grant, move the word; subtract 1
//! change  add 1 to CHANGES; wait until SETTLEMENTS is 0; replace the word; add 1 to `done`
//! ```
//!
//! ```text
//!  bit 63                                  0
//!     +-------------------+----------------+
//!     |      CHANGES      |  SETTLEMENTS   |
//!     +-------------------+----------------+
//!              40                 24
//! ```
//!
//! **Theorem.** Between a grant that was noted with the number of [`changes`](Changes::changes), and
//! the end of a [`Settlement`] by this number, no change replaces the word.
//!
//! *Proof.* Both fields are one word, so its read-modify-writes have one order. A change that comes
//! before the settlement's in that order is one of those that the grant was noted with: these had
//! all ended, and so replaced the word before the grant. One that comes later finds the settlement,
//! and waits for its end; or finds it ended. ∎
//!
//! A settlement does not wait. A change waits for the settlements in progress, each of which is a
//! loop of one CAS; those that begin meanwhile end at once. `CHANGES` wraps after 2^40 changes.

use crate::bits::Field;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, Backoff};

/// More than there can be threads.
const SETTLEMENTS: Field = Field::low(24);
const CHANGES: Field = SETTLEMENTS.then(40);

/// The changes of a window, and the settlements that they wait for.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Changes that have begun, and settlements in progress.
    begun: AtomicWord<u64>,
    done: AtomicWord<u64>,
}

/// A change that goes on until this is dropped.
pub(crate) struct Change<'a>(&'a Changes);

/// A settlement that goes on until this is dropped. No user code may run in it: it might begin a
/// change, which would wait for ever.
pub(crate) struct Settlement<'a>(&'a Changes);

impl Changes {
    pub(crate) fn new() -> Changes {
        Changes { begun: AtomicWord::new(0), done: AtomicWord::new(0) }
    }

    /// Begins a change, before its CAS of the word. Waits for the settlements in progress.
    pub(crate) fn change(&self) -> Change<'_> {
        // ORDERING: Acquire, so that the change comes after the settlements that have ended, also in
        // the order of the word: pairs with the Release in the `drop` of `Settlement`. Not Release:
        // the CAS that follows is one, and whoever finds its word, or a later one, sees this.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`,
        // `a_settlement_of_a_window_beside_a_reset_mints_nothing`.
        let seen = self.begun.fetch_add(CHANGES.put(1), Acquire);
        if SETTLEMENTS.get(seen) > 0 {
            self.wait_for_settlements();
        }
        Change(self)
    }

    #[cold]
    fn wait_for_settlements(&self) {
        let backoff = Backoff::new();
        // ORDERING: Acquire, as in `change`.
        // MODEL: `a_settlement_of_a_window_beside_a_reset_mints_nothing`.
        while SETTLEMENTS.get(self.begun.load(Acquire)) > 0 {
            backoff.snooze();
        }
    }

    /// Returns the number of changes so far, if none is going on.
    pub(crate) fn changes(&self) -> Option<u64> {
        // ORDERING: Acquire. The changes that are done are before all that the caller does next: in
        // the order of the word, its next CAS comes after theirs. Pairs with the Release in `drop`.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`.
        let done = self.done.load(Acquire) & CHANGES.max();
        (done == self.begun()).then_some(done)
    }

    /// Returns the number of changes that have begun.
    fn begun(&self) -> u64 {
        // ORDERING: Relaxed. The caller has acquired the word. A change that it does not see yet
        // has its CAS after that word.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`.
        CHANGES.get(self.begun.load(Relaxed))
    }

    /// Begins a settlement of a grant that was noted with so many `changes`. Returns `None` if there
    /// was another one since.
    pub(crate) fn settlement(&self, changes: u64) -> Option<Settlement<'_>> {
        // A change that waits need not wait for this one too.
        if self.begun() != changes {
            return None;
        }
        // ORDERING: Relaxed. The changes that the grant was noted with were acquired then, and later
        // ones find this, as all read-modify-writes of the word do.
        // MODEL: `a_settlement_of_a_window_beside_a_reset_mints_nothing`.
        let seen = self.begun.fetch_add(SETTLEMENTS.put(1), Relaxed);
        let settlement = Settlement(self);
        (CHANGES.get(seen) == changes).then_some(settlement)
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, after the CAS of the change; see `changes`.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`.
        self.0.done.fetch_add(1, Release);
    }
}

impl Drop for Settlement<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, after the CAS of the settlement; see `change`.
        // MODEL: `a_settlement_of_a_window_beside_a_reset_mints_nothing`.
        self.0.begun.fetch_sub(SETTLEMENTS.put(1), Release);
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_settlement_is_of_the_changes_that_it_was_noted_with() {
        let noted = Changes::new();
        assert_eq!(noted.changes(), Some(0));
        let change = noted.change();
        assert_eq!((noted.changes(), noted.begun()), (None, 1));
        assert!(noted.settlement(0).is_none());
        drop(change);
        assert_eq!(noted.changes(), Some(1));
        let (one, other) = (noted.settlement(1), noted.settlement(1));
        assert!(one.is_some() && other.is_some() && noted.settlement(0).is_none());
        assert_eq!((noted.changes(), noted.begun()), (Some(1), 1));
        drop((one, other));
        // Waits for nobody.
        drop(noted.change());
        assert_eq!(noted.changes(), Some(2));
    }

    #[test]
    fn the_number_of_changes_wraps() {
        let begun = AtomicWord::new(CHANGES.put(CHANGES.max()));
        let done = AtomicWord::new(CHANGES.max());
        let noted = Changes { begun, done };
        assert_eq!(noted.changes(), Some(CHANGES.max()));
        drop(noted.change());
        assert_eq!(noted.changes(), Some(0));
        assert!(noted.settlement(0).is_some());
    }
}
