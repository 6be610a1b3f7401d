//! The output of `Debug` of a counter.

use core::fmt;

use crate::config::text::quoted::Quoted;
use crate::time::clock::Clock;

use super::{CounterCore, WindowCounter};

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Adds the limit and the permits that remain to the output of `Debug`. Heals nothing: counts
    /// too far ahead of the clock are shown as they would be healed.
    pub(crate) fn show(&self, shown: &mut fmt::DebugStruct<'_, '_>) {
        let (seen, now) = self.glance();
        let counted = self.counted_at(seen, &now);
        let remaining = counted.limit.saturating_sub(counted.used());
        shown.field("limit", &Quoted(ShownLimit { counter: &self.counter, limit: counted.limit }));
        shown.field("remaining", &remaining);
    }
}

/// The limit of a counter, as it displays it.
struct ShownLimit<'a, T> {
    counter: &'a T,
    limit: u64,
}

impl<T: WindowCounter> fmt::Display for ShownLimit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counter.show_limit(self.limit, f)
    }
}

impl<T: fmt::Debug, C> fmt::Debug for CounterCore<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterCore")
            .field("word", &self.word)
            .field("counter", &self.counter)
            .field("healed", &self.healed)
            .finish_non_exhaustive()
    }
}
