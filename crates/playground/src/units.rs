//! Units of the session's clock, and of the page.

use std::time::Duration;

use sluicegate::Rate;

/// Converts nanoseconds to seconds, with the precision of a microsecond.
pub(crate) fn seconds(nanos: u64) -> f64 {
    // Rounded down, so that nothing is told for an instant to come.
    real(nanos / 1_000) / 1e6
}

/// Converts a number that a person sees.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53: 285 years of microseconds")]
pub(crate) fn real(number: u64) -> f64 {
    number as f64
}

/// Returns the permits of a rate, and the seconds of its period.
pub(crate) fn per_seconds(rate: Rate) -> (u64, f64) {
    (rate.permits(), rate.period().as_secs_f64())
}

/// Converts a duration to nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
