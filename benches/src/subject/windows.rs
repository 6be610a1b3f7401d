//! The limits of the limiters that count a window, and their bounds.

use std::time::Duration;

use super::{Limit, Op};

/// Returns the limit of every window except those that support only whole seconds.
///
/// A window has no burst, so to admit every call takes a limit that is not
/// reached: 2^16 permits in 250 µs are 3.8 ns for each, and two threads that only
/// read the fastest clock take 4.8. The window is short because a log keeps
/// the time of each admission in it: so it keeps some thousands of them, and
/// logs that reserve memory for all their permits reserve a megabyte. It is long
/// enough for thousands of calls, so that a new window, or a new part of one, adds
/// little to the cost of each.
pub(super) fn window(op: Op) -> Limit {
    match op {
        Op::Allow | Op::Full | Op::Beside | Op::Insert => of(1 << 16, Duration::from_micros(250)),
        Op::Deny => of(1, Duration::from_secs(3_600)),
        Op::Edge => of(3_000, Duration::from_millis(1)),
    }
}

/// Returns the same rate in windows of whole seconds.
pub(super) fn window_of_seconds(op: Op) -> Limit {
    let limit = window(op);
    if limit.period < Duration::from_secs(1) {
        return of(limit.per_second(), Duration::from_secs(1));
    }
    limit
}

/// Returns the most that may be admitted in a `life` by windows of any kind.
///
/// Windows that follow one another may begin anywhere, so a life of t touches
/// ⌈t / W⌉ + 1 of length W. A sliding window admits one limit less, so for an exact one
/// this bound is too high by one limit, however long it lives.
pub(super) fn bound(limit: Limit, life: Duration) -> u64 {
    let windows = life.as_nanos().div_ceil(limit.period.as_nanos()) + 1;
    limit.permits * u64::try_from(windows).expect("a bench lasts seconds")
}

/// Returns a limit that allows all the permits of a window at once.
fn of(permits: u64, period: Duration) -> Limit {
    Limit::new(permits, period, permits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_touches_one_window_more_than_it_fills() {
        let limit = of(10, Duration::from_millis(1));
        assert_eq!(bound(limit, Duration::ZERO), 10);
        assert_eq!(bound(limit, Duration::from_nanos(2)), 20);
        assert_eq!(bound(limit, Duration::from_millis(1)), 20);
        assert_eq!(bound(limit, Duration::from_nanos(1_000_001)), 30);
    }

    #[test]
    fn windows_of_seconds_have_the_same_rates() {
        for &op in Op::OF_WINDOWS {
            assert_eq!(window_of_seconds(op).per_second(), window(op).per_second(), "{op}");
        }
    }
}
