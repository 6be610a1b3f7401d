//! Integer time, and the conversions to and from [`Duration`] that can saturate. All others in the
//! crate are exact.
//!
//! The engine counts nanoseconds in a `u64`, which lasts 584 years.

use core::time::Duration;

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;
pub(crate) const NANOS_PER_MINUTE: u64 = 60 * NANOS_PER_SECOND;
pub(crate) const NANOS_PER_HOUR: u64 = 60 * NANOS_PER_MINUTE;
pub(crate) const NANOS_PER_DAY: u64 = 24 * NANOS_PER_HOUR;

/// The longest period, interval or tolerance: 100 Julian years.
pub(crate) const MAX_PERIOD_NANOS: u64 = 36_525 * NANOS_PER_DAY;

/// The largest difference assumed between the clocks of two threads: one second. A level that is
/// further ahead of the clock was left by a clock that has since gone back.
pub(crate) const SKEW_NANOS: u64 = NANOS_PER_SECOND;

/// Returns `duration` in nanoseconds, saturating at `u64::MAX`.
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}

/// Returns `nanos` as a [`Duration`], exactly; saturates at [`Duration::MAX`].
pub(crate) fn duration(nanos: u128) -> Duration {
    let per_second = u128::from(NANOS_PER_SECOND);
    u64::try_from(nanos / per_second)
        .map_or(Duration::MAX, |seconds| Duration::new(seconds, (nanos % per_second) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_survive_the_round_trip_and_saturate_at_both_ends() {
        for value in [0, 1, NANOS_PER_SECOND - 1, NANOS_PER_SECOND, MAX_PERIOD_NANOS, u64::MAX] {
            assert_eq!(nanos(duration(u128::from(value))), value);
        }
        assert_eq!(nanos(Duration::MAX), u64::MAX);
        assert_eq!(duration(u128::MAX), Duration::MAX);
    }

    #[test]
    fn a_duration_that_does_not_fit_is_the_longest_that_does() {
        for seconds in [18_446_744_074, 40_000_000_000, u64::MAX] {
            assert_eq!(nanos(Duration::from_secs(seconds)), u64::MAX);
        }
    }
}
