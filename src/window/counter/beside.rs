//! The companion of a counter's word: the line, and the changes that the word cannot tell of.

use core::fmt;
use core::ops::Deref;

use crate::wait::line_lock::LineLock;
use crate::window::changes::Changes;

/// The line before a counter, and its changes. On the line of the word, because a receipt only has
/// that part of the limiter.
pub(crate) struct Beside {
    pub(super) line_lock: LineLock,
    changes: Changes,
}

impl Beside {
    pub(super) fn new() -> Beside {
        Beside { line_lock: LineLock::new(), changes: Changes::new() }
    }
}

impl Deref for Beside {
    type Target = Changes;

    fn deref(&self) -> &Changes {
        &self.changes
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Beside");
        shown.field("line_lock", &self.line_lock);
        shown.finish_non_exhaustive()
    }
}
