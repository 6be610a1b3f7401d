//! The request of a caller.

use crate::decision::Verb;

/// A caller's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// [`Verb::Take`] or [`Verb::UpTo`].
    pub(crate) verb: Verb,
    pub(crate) permits: u64,
}

impl Ask {
    /// Returns the permits without which the request is denied.
    pub(in crate::lease) fn least(self) -> u64 {
        if self.verb == Verb::UpTo { self.permits.min(1) } else { self.permits }
    }

    /// Returns the permits that the request gets of those available, if they are enough.
    pub(in crate::lease) fn of(self, available: u64) -> Option<u64> {
        (self.least() <= available).then(|| self.permits.min(available))
    }
}
