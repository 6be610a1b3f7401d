//! Tokio's timer.

use core::time::Duration;

use super::Timer;

/// Tokio's timer: for tasks of a tokio runtime with its time enabled.
///
/// `tokio::time::pause` stops it, for tests in which no time passes. A sleep does not allocate.
///
/// # Panics
///
/// [`sleep`](Timer::sleep) panics outside of a tokio runtime, as tokio's own does.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

impl Timer for TokioTimer {
    type Sleep = tokio::time::Sleep;

    fn sleep(&self, duration: Duration) -> tokio::time::Sleep {
        tokio::time::sleep(duration)
    }
}
