//! Changes of a counter other than grants: resets, restored counts, another limit, and healing. Each
//! leaves the gate as it is, and lets those in line look again.

use crate::config::error::ConfigError;
#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::time::clock::Clock;
use crate::window::gate::{is_gated, opened, with_gate};

use super::{CounterCore, OneLimit, WindowCounter};

impl<T: OneLimit, C: Clock> CounterCore<T, C> {
    /// Sets the limit, as `Limit::raise` does.
    pub(crate) fn set_limit(&self, permits: u64) -> Result<(), ConfigError> {
        self.changed(|counter| counter.limit().raise(permits))
    }
}

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Changes a limit by `change`, and lets those in line look again.
    pub(crate) fn changed<R>(&self, change: impl FnOnce(&T) -> R) -> R {
        let result = change(&self.counter);
        self.poke_after_change();
        result
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn restore(&mut self, history: &History, away_nanos: u64) {
        let now = self.counter.now(self.clock.now_nanos());
        self.renew(self.counter.restored(history.after(away_nanos), &now));
    }

    /// Forgets all earlier grants.
    pub(crate) fn reset(&self) {
        let now = self.counter.now(self.clock.now_nanos());
        self.renew(self.counter.empty(&now));
    }

    /// Replaces the state by `word`, whatever it was, and lets those in line look again.
    fn renew(&self, word: u64) {
        if self.put(word) {
            self.poke();
        }
    }

    /// Replaces all but the gate, and returns whether that is closed.
    fn put(&self, word: u64) -> bool {
        let mut contender = self.word.contender();
        let _change = self.word.companion().change();
        // ORDERING: Relaxed. Only the expected value of the CAS.
        // MODEL: `a_reset_forgets_and_keeps_the_order`.
        let mut seen = self.word.load(Relaxed);
        loop {
            let next = with_gate(word, is_gated(seen));
            // ORDERING: as in `spend`; not a plain store, so that grants before and
            // after it stay in order.
            // MODEL: `a_reset_forgets_and_keeps_the_order`,
            // `a_reset_of_a_window_is_seen_by_those_in_line`.
            if self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok() {
                return is_gated(seen);
            }
            contender.lost_race();
            // ORDERING: Relaxed, as above.
            // MODEL: `a_reset_forgets_and_keeps_the_order`.
            seen = self.word.load(Relaxed);
        }
    }

    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; nothing is decided by it.
        // MODEL: `a_window_too_far_ahead_is_moved_once`.
        self.healed.load(Relaxed)
    }

    /// Returns the word and the time, after moving the counts to the current window if
    /// they were too far ahead of it. The gate stays as it is.
    #[cold]
    #[inline(never)]
    pub(super) fn heal(&self) -> (u64, T::Now) {
        // ORDERING: Acquire, so that the clock is read after the word: with an
        // earlier reading, a window that began in between would look like a fault.
        // Pairs with the Release of the CAS that began it.
        // MODEL: `a_window_that_began_in_between_is_not_moved`.
        let mut seen = self.word.load(Acquire);
        loop {
            let now = self.counter.now(self.clock.now_nanos());
            let word = opened(seen);
            let is_right =
                self.counter.at(word, &now).or(self.counter.begins_in(word, &now)).is_some();
            if is_right {
                return (seen, now);
            }
            let moved = self.counter.moved(word, &now);
            let moved = with_gate(moved, is_gated(seen));
            let _change = self.word.companion().change();
            // ORDERING: as in `spend` on success, so that grants stay in order
            // across the move; Acquire on failure, as for the load.
            // MODEL: `a_window_too_far_ahead_is_moved_once`,
            // `a_window_that_began_while_another_was_moved_is_not`.
            match self.word.compare_exchange(seen, moved, AcqRel, Acquire) {
                Ok(_) => {
                    // ORDERING: Relaxed, as in `healed`.
                    // MODEL: `a_window_too_far_ahead_is_moved_once`.
                    self.healed.fetch_add(1, Relaxed);
                    return (moved, now);
                }
                Err(found) => seen = found,
            }
        }
    }
}
