//! The two clocks of a registry.

use std::sync::Arc;

use sluicegate::Clock;

use crate::SharedClock;

/// The clocks of a registry.
#[derive(Clone)]
pub(crate) struct Clocks {
    /// That of all other limiters.
    pub(super) elapsed: SharedClock,
    /// That of a calendar, and of windows that begin at fixed times: nanoseconds since the Unix
    /// epoch.
    pub(super) unix: SharedClock,
}

impl Clocks {
    pub(super) fn new(
        elapsed: impl Clock + Send + Sync + 'static,
        unix: impl Clock + Send + Sync + 'static,
    ) -> Clocks {
        Clocks { elapsed: Arc::new(elapsed), unix: Arc::new(unix) }
    }
}
