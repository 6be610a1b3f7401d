//! The companion of a counter's word: the line, and the changes that the word cannot tell of.
//!
//! A reset and a healing may bring back a word that was there before. A grant that was made before
//! one of them must not be given back after it: later grants may have left the same word. So the
//! changes are counted, before and after each.

use core::fmt;

#[cfg(feature = "wait")]
use crate::sync::AtomicWord;
#[cfg(feature = "wait")]
use crate::sync::Ordering::{Acquire, Relaxed, Release};
#[cfg(feature = "wait")]
use crate::wait::queue::WaitQueue;

/// The line before a counter, and its changes. On the line of the word, because a receipt only has
/// that part of the limiter.
pub(crate) struct Beside {
    #[cfg(feature = "wait")]
    pub(super) queue: WaitQueue,
    #[cfg(feature = "wait")]
    begun: AtomicWord<u64>,
    #[cfg(feature = "wait")]
    done: AtomicWord<u64>,
}

/// A change that goes on until this is dropped.
pub(super) struct Change<'a>(#[cfg_attr(not(feature = "wait"), expect(dead_code))] &'a Beside);

#[cfg(feature = "wait")]
impl Beside {
    pub(super) fn new() -> Beside {
        Beside { queue: WaitQueue::new(), begun: AtomicWord::new(0), done: AtomicWord::new(0) }
    }

    /// Begins a change, before its CAS of the word.
    pub(super) fn change(&self) -> Change<'_> {
        // ORDERING: Relaxed. The CAS that follows is a Release: whoever finds its word, or a later
        // one, sees this.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`.
        self.begun.fetch_add(1, Relaxed);
        Change(self)
    }

    /// Returns the number of changes so far, if none is going on.
    pub(super) fn changes(&self) -> Option<u64> {
        // ORDERING: Acquire. The changes that are done are before all that the caller does next: in
        // the order of the word, its next CAS comes after theirs. Pairs with the Release in `drop`.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`.
        let done = self.done.load(Acquire);
        (done == self.begun()).then_some(done)
    }

    /// Returns the number of changes that have begun.
    pub(super) fn begun(&self) -> u64 {
        // ORDERING: Relaxed. The caller has acquired the word. A change that it does not see yet
        // has its CAS after that word.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`.
        self.begun.load(Relaxed)
    }
}

#[cfg(feature = "wait")]
impl Drop for Change<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, after the CAS of the change; see `changes`.
        // MODEL: `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`.
        self.0.done.fetch_add(1, Release);
    }
}

#[cfg(not(feature = "wait"))]
impl Beside {
    pub(super) fn new() -> Beside {
        Beside {}
    }

    #[inline(always)]
    pub(super) fn change(&self) -> Change<'_> {
        Change(self)
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Beside");
        #[cfg(feature = "wait")]
        shown.field("queue", &self.queue);
        shown.finish_non_exhaustive()
    }
}
