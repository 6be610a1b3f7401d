//! A timer that tests can stop.

use std::time::Duration;

use sluicegate::wait::Timer;

/// Tokio's timer without the feature for it, so that these tests run with the default features. In
/// a test with `start_paused` no time passes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paused;

impl Timer for Paused {
    type Sleep = tokio::time::Sleep;

    fn sleep(&self, duration: Duration) -> tokio::time::Sleep {
        tokio::time::sleep(duration)
    }
}
