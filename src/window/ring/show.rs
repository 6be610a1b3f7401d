//! The output of `Debug` of a ring.

use alloc::boxed::Box;
use core::fmt;

use crate::config::text::quoted::Quoted;
use crate::time::clock::Clock;
use crate::window::limit;

use super::slots::WindowSlots;
use super::{HotLine, Ring};

impl<L: HotLine, C: Clock> Ring<L, [WindowSlots; 1], C> {
    /// Adds the limit and the permits that remain to the output of `Debug`.
    pub(crate) fn show(&self, shown: &mut fmt::DebugStruct<'_, '_>) {
        let used = self.read_at(self.now(), |hot, now| self.windows()[0].used(hot, now));
        limit::show(shown, (self.limit().get(), self.window_nanos()), used);
    }
}

impl<L: HotLine, C: Clock> Ring<L, Box<[WindowSlots]>, C> {
    /// Adds the limits, and the permits that all windows have left, to the output of `Debug`.
    pub(crate) fn show(&self, shown: &mut fmt::DebugStruct<'_, '_>) {
        let left = |window: &WindowSlots, hot, now| {
            window.limit().get().saturating_sub(window.used(hot, now))
        };
        let least = |hot, now| self.windows().iter().map(|window| left(window, hot, now)).min();
        shown.field("limits", &ShownLimits(self.windows()));
        limit::show_remaining(shown, self.read_at(self.now(), least).flatten());
    }
}

/// The limits of several windows, in the syntax of rates.
struct ShownLimits<'a>(&'a [WindowSlots]);

impl fmt::Debug for ShownLimits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.0.iter().map(|window| (window.limit().get(), window.window_nanos()));
        let shown = limits.map(|(limit, nanos)| Quoted(limit::per_window(limit, nanos)));
        f.debug_list().entries(shown).finish()
    }
}

impl<L: HotLine, W: AsRef<[WindowSlots]>, C> fmt::Debug for Ring<L, W, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("hot", self.hot.word())
            .field("contention", &self.hot.contention())
            .field("windows", &self.core.windows.as_ref().len())
            .field("healed", &self.core.healed)
            .finish_non_exhaustive()
    }
}
