//! The answer to a request that a level refuses.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::Denied;

use crate::problem::escaped;

/// The refusal of a request: the level that has to be waited for longest, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub(super) level: Arc<str>,
    pub(super) which: usize,
    pub(super) denied: Denied,
}

impl Refused {
    /// Returns the name of the level that refused.
    #[must_use]
    pub fn level(&self) -> &str {
        &self.level
    }

    /// Returns the index of that level, by which [`Request::keys`](super::Request::keys) has its key.
    #[must_use]
    pub fn which(&self) -> usize {
        self.which
    }

    /// Returns the answer of that level.
    #[must_use]
    pub fn denied(&self) -> Denied {
        self.denied
    }

    /// Returns the longest wait of all levels that refuse, or `None` if waiting alone will not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.denied.retry_after()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level \"{}\": {}", escaped(&self.level), self.denied)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.denied)
    }
}
