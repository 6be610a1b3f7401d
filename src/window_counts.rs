//! The arithmetic of windows: what counts now, whether a request fits, and how long it has to wait.

/// The counts of the current window and of the previous one, and what they will be worth.
///
/// The previous window counts in proportion to the part of it that a window of the same length,
/// ending now, still covers:
///
/// ```text
/// used = current + previous * left / length
/// ```
///
/// A decision rounds nothing; `used` as an integer is rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowCounts {
    pub(crate) limit: u64,
    /// Permits granted in the current window.
    pub(crate) current: u64,
    /// Permits granted in the previous window; 0 where that does not count.
    pub(crate) previous: u64,
    /// Time until the current window ends. Exceeds its length for a caller whose clock is behind.
    pub(crate) left_nanos: u64,
    pub(crate) length_nanos: u64,
    /// True if the current window will count while the next one runs.
    pub(crate) slides: bool,
}

impl WindowCounts {
    /// Returns whether `permits` more are within the limit.
    #[inline]
    pub(crate) fn fits(&self, permits: u64) -> bool {
        let Some(room) = self.room(permits) else { return false };
        // Mostly the previous window has no weight, and these products take time.
        self.previous == 0 || self.weight() <= u128::from(room) * u128::from(self.length_nanos)
    }

    /// Returns the permits that count now.
    #[inline]
    pub(crate) fn used(&self) -> u64 {
        if self.previous == 0 {
            return self.current;
        }
        self.current.saturating_add(self.weight().div_ceil(u128::from(self.length_nanos)) as u64)
    }

    /// Returns the least wait after which `permits`, at most the limit, are within the limit.
    pub(crate) fn wait_nanos(&self, permits: u64) -> u64 {
        if self.fits(permits) {
            return 0;
        }
        if let Some(room) = self.room(permits) {
            return self.left_nanos.saturating_sub(self.worth_at_most(self.previous, room));
        }
        if !self.slides {
            return self.left_nanos;
        }
        let room = self.limit.saturating_sub(permits);
        let covered = self.worth_at_most(self.current, room);
        self.left_nanos.saturating_add(self.length_nanos.saturating_sub(covered))
    }

    /// Returns the least wait after which requests for `permits` in all can have been granted, of any number; `None` if
    /// windows slide.
    #[cfg(feature = "wait")]
    pub(crate) fn wait_nanos_in_parts(&self, permits: u64) -> Option<u64> {
        if self.slides || self.limit == 0 {
            return None;
        }
        let missing = permits.saturating_sub(self.limit.saturating_sub(self.current));
        let Some(more) = missing.div_ceil(self.limit).checked_sub(1) else { return Some(0) };
        Some(self.left_nanos.saturating_add(self.length_nanos.saturating_mul(more)))
    }

    /// Returns the most that the previous window may weigh for `permits` to be within the limit.
    #[inline]
    fn room(&self, permits: u64) -> Option<u64> {
        self.limit.checked_sub(self.current)?.checked_sub(permits)
    }

    /// Returns the weight of the previous window, times the length. Both factors are below 2^64, so
    /// the product fits.
    #[inline]
    fn weight(&self) -> u128 {
        u128::from(self.previous) * u128::from(self.left_nanos.min(self.length_nanos))
    }

    /// Returns the longest part of a window with `count` permits that weighs no more than `room`.
    fn worth_at_most(&self, count: u64, room: u64) -> u64 {
        if count <= room {
            return self.length_nanos;
        }
        (u128::from(room) * u128::from(self.length_nanos) / u128::from(count)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 40;

    fn counted(limit: u64, current: u64, previous: u64, left_nanos: u64) -> WindowCounts {
        WindowCounts { limit, current, previous, left_nanos, length_nanos: LENGTH, slides: true }
    }

    #[cfg(feature = "wait")]
    #[test]
    fn each_fixed_window_grants_its_limit() {
        let fixed = WindowCounts { slides: false, ..counted(10, 4, 0, 7) };
        let wait = |permits| fixed.wait_nanos_in_parts(permits);
        assert_eq!([6, 7, 16, 17, 26, 27].map(wait), [0, 7, 7, 47, 47, 87].map(Some));
        assert_eq!(counted(10, 4, 0, 7).wait_nanos_in_parts(27), None);
        assert_eq!(WindowCounts { limit: 0, ..fixed }.wait_nanos_in_parts(1), None);
        assert_eq!(wait(u64::MAX), Some(u64::MAX));
    }

    /// Moves the time forward, one nanosecond after the other.
    fn after(counted: WindowCounts, wait_nanos: u64) -> WindowCounts {
        (0..wait_nanos).fold(counted, |counted, _| match counted.left_nanos {
            0 | 1 => WindowCounts {
                current: 0,
                previous: if counted.slides { counted.current } else { 0 },
                left_nanos: LENGTH,
                ..counted
            },
            left => WindowCounts { left_nanos: left - 1, ..counted },
        })
    }

    #[test]
    fn a_wait_is_the_least_that_suffices_for_every_small_state() {
        for slides in [false, true] {
            for limit in 1..=5 {
                for (current, previous) in (0..=6).flat_map(|a| (0..=6).map(move |b| (a, b))) {
                    for left in (1..=LENGTH).step_by(3) {
                        let previous = if slides { previous } else { 0 };
                        let state =
                            WindowCounts { slides, ..counted(limit, current, previous, left) };
                        for permits in 1..=limit {
                            let wait = state.wait_nanos(permits);
                            assert!(after(state, wait).fits(permits), "{state:?} {permits} {wait}");
                            let early = wait.checked_sub(1).map(|less| after(state, less));
                            assert!(early.is_none_or(|early| !early.fits(permits)), "{state:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn used_is_the_exact_weight_rounded_up() {
        for (current, previous) in (0..=6).flat_map(|a| (0..=6).map(move |b| (a, b))) {
            for left in 1..=LENGTH {
                let state = counted(5, current, previous, left);
                let used = current + (previous * left).div_ceil(LENGTH);
                assert_eq!(state.used(), used);
                assert!((0..=5).all(|permits| state.fits(permits) == (used + permits <= 5)));
            }
        }
    }

    #[test]
    fn the_largest_counts_and_lengths_do_not_overflow() {
        let widest = WindowCounts {
            limit: u64::MAX,
            current: u64::MAX,
            previous: u64::MAX,
            left_nanos: u64::MAX,
            length_nanos: u64::MAX,
            slides: true,
        };
        assert!(!widest.fits(1) && !widest.fits(u64::MAX));
        assert_eq!(widest.used(), u64::MAX);
        assert_eq!(widest.wait_nanos(1), u64::MAX);
    }
}
