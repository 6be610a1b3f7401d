//! The two clocks of a registry.

use sluicegate::Clock;

/// A clock that every limiter of a registry can have a clone of.
///
/// Every clock that is `Clone`, `Send`, `Sync` and `'static` is one.
pub trait SharedClock: Clock + Clone + Send + Sync + 'static {}

impl<C: Clock + Clone + Send + Sync + 'static> SharedClock for C {}

/// The clocks of a registry.
#[derive(Clone, Debug)]
pub(crate) struct Clocks<C, U> {
    /// That of all other limiters.
    pub(super) elapsed: C,
    /// That of a calendar, and of windows that begin at fixed times: nanoseconds since the Unix
    /// epoch.
    pub(super) unix: U,
}
