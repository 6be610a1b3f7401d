//! Looks at a counter: what counts, without a decision.

#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;
use crate::window::gate::opened;
use crate::window_counts::WindowCounts;

use super::{CounterCore, WindowCounter};

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Returns the permits that count now.
    pub(crate) fn count(&self) -> u64 {
        let (word, now) = self.look();
        self.counted_at(word, &now).used()
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn snapshot(&self) -> History {
        let (word, now) = self.look();
        if self.counter.begins_in(word, &now).is_some() {
            return History::of([(0, self.counted_at(word, &now).used())]);
        }
        self.counter.history(word, &now)
    }

    /// Returns the word, brought forward to the current time, and that time.
    pub(super) fn look(&self) -> (u64, T::Now) {
        let (seen, now) = self.glance();
        if let Some(word) = self.counter.at(seen, &now) {
            return (word, now);
        }
        if self.counter.begins_in(seen, &now).is_some() {
            return (seen, now);
        }
        let (word, now) = self.heal();
        self.poke();
        // The counts that were to be moved may have been brought forward by others instead.
        let word = opened(word);
        (self.counter.at(word, &now).unwrap_or(word), now)
    }

    /// Returns what counts at `now` by the word `seen`: as it would be healed, if it is too far ahead.
    /// If windows are reserved, those before the last of them count as full.
    pub(super) fn counted_at(&self, seen: u64, now: &T::Now) -> WindowCounts {
        if let Some(word) = self.counter.at(seen, now) {
            return self.counter.counted(word, now);
        }
        let Some(wait_nanos) = self.counter.begins_in(seen, now) else {
            return self.counter.counted(self.counter.moved(seen, now), now);
        };
        let counted = self.counter.counted(seen, now);
        let full = wait_nanos.div_ceil(counted.length_nanos).saturating_mul(counted.limit);
        WindowCounts { current: counted.current.saturating_add(full), ..counted }
    }

    /// Returns the word as it is, but for the gate, and the current time.
    pub(super) fn glance(&self) -> (u64, T::Now) {
        let now = self.counter.now(self.clock.now_nanos());
        // ORDERING: Relaxed. The word is the whole state, and refers to no other
        // memory.
        // MODEL: `a_window_admits_no_more_than_its_limit`.
        (opened(self.word.load(Relaxed)), now)
    }
}
