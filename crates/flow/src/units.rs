//! Integer time, as the engine counts it, and its conversions to and from [`Duration`], which saturate.

use std::time::Duration;

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;
pub(crate) const NANOS_PER_DAY: u64 = 86_400 * NANOS_PER_SECOND;

/// The largest difference assumed between the clocks of two threads: one second, as in the engine.
pub(crate) const SKEW_NANOS: u64 = NANOS_PER_SECOND;

/// Returns `duration` in nanoseconds, saturating at `u64::MAX`.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns `nanos` as a [`Duration`], exactly; saturates at [`Duration::MAX`].
pub(crate) fn duration(nanos: u128) -> Duration {
    let per_second = u128::from(NANOS_PER_SECOND);
    u64::try_from(nanos / per_second)
        .map_or(Duration::MAX, |seconds| Duration::new(seconds, (nanos % per_second) as u32))
}

/// Rounds a wait up to three digits, as many as a person reads.
pub(crate) fn shown(wait: Duration) -> Duration {
    let nanos = wait.as_nanos();
    let mut step = 1;
    while nanos / step >= 1_000 {
        step *= 10;
    }
    duration(nanos.div_ceil(step) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_survive_the_round_trip_and_saturate_at_both_ends() {
        for value in [0, 1, NANOS_PER_SECOND - 1, NANOS_PER_SECOND, NANOS_PER_DAY, u64::MAX] {
            assert_eq!(nanos(duration(value.into())), value);
        }
        assert_eq!(nanos(Duration::MAX), u64::MAX);
        assert_eq!(duration(u128::MAX), Duration::MAX);
    }

    #[test]
    fn a_wait_is_shown_with_three_digits_and_never_too_short() {
        let shown_nanos =
            [0, 7, 999, 1_000, 1_001, 123_456].map(|nanos| shown(duration(nanos)).as_nanos());
        assert_eq!(shown_nanos, [0, 7, 999, 1_000, 1_010, 124_000]);
    }
}
