//! The one type of clock that limiters of policies read.

use std::sync::Arc;

use sluicegate::Clock;

/// A clock that many limiters read.
///
/// Limiters of policies are of all kinds, in stores of all kinds. Each clock as a type of its own would
/// compile all of them once more, to spare a limiter one call through a pointer.
pub type SharedClock = Arc<dyn Clock + Send + Sync>;
