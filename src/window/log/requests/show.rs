//! The output of `Debug` of a log.

use core::fmt;

use crate::time::clock::Clock;
use crate::window::limit;

use super::super::count::Count;
use super::RequestLog;

impl<C: Clock, N: Count> RequestLog<C, N> {
    /// Adds the limit and the permits that remain to the output of `Debug`.
    pub(crate) fn show(&self, shown: &mut fmt::DebugStruct<'_, '_>) {
        let used = self.read_at(self.ring.now_nanos(), |view| view.limit - view.room());
        limit::show(shown, (self.limit.get(), self.window_nanos), used);
    }
}

impl<C, N> fmt::Debug for RequestLog<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestLog")
            .field("limit", &self.limit)
            .field("ring", &self.ring)
            .finish_non_exhaustive()
    }
}
