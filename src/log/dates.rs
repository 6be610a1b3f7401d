//! The times of entries. No atomics here.

use crate::bits::Field;
use crate::time::SKEW_NANOS;

/// How an entry is dated: in ticks of a power of two of nanoseconds, modulo the
/// size of a field.
///
/// An entry is dated up, a reading of the clock down, so that nothing leaves the
/// window early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dates {
    field: Field,
    /// A tick is `2^shift` ns.
    shift: u32,
    window_ticks: u64,
}

impl Dates {
    /// Dates in `field` for a window of `window_nanos`. The ticks are such that the
    /// field counts 146 years.
    pub(super) fn new(field: Field, window_nanos: u64) -> Dates {
        // Half of the circle is the past, and a window and its ticks have to fit in it.
        const QUARTER: u64 = 1 << 60;
        let years_bits = if window_nanos <= QUARTER { 62 } else { 63 };
        let shift = u32::saturating_sub(years_bits, field.bits());
        // A window of a nanosecond lasts two: dates may run ahead of the clock, by a tick
        // for each reset in one of its steps, and a window of one would then be none.
        // (Longer ticks are judged by the one before; see `judged`.)
        let least = if shift == 0 { 2 } else { 1 };
        Dates { field, shift, window_ticks: window_nanos.div_ceil(1 << shift).max(least) }
    }

    /// How long a window lasts.
    pub(super) fn window_nanos(&self) -> u64 {
        self.window_ticks << self.shift
    }

    /// The date of `entry`.
    #[inline]
    pub(super) fn of(&self, entry: u64) -> u64 {
        self.field.get(entry)
    }

    /// The part of an entry that is the date of `now_nanos`; or `last`, the date of
    /// the entry before, if that is later; or the tick after `over`, the date of the
    /// entry that it is written over.
    #[inline]
    pub(super) fn entry(&self, now_nanos: u64, last: u64, over: u64) -> u64 {
        let later = |a: u64, b: u64| if self.field.ahead(a, b) >= 0 { a } else { b };
        let now = now_nanos.div_ceil(1 << self.shift);
        self.field.wrap(later(later(now, last), over.wrapping_add(1)))
    }

    /// The part of an entry that is the date of `now_nanos`.
    pub(super) fn first(&self, now_nanos: u64) -> u64 {
        self.field.wrap(now_nanos.div_ceil(1 << self.shift))
    }

    /// The same for the tick before, which the first entry may be written over.
    pub(super) fn before(&self, now_nanos: u64) -> u64 {
        self.field.wrap(now_nanos.div_ceil(1 << self.shift).wrapping_sub(1))
    }

    /// The tick in which a caller that reads `now_nanos` judges the log: that of the
    /// last entry if its own is earlier, because the last entry is no longer ago
    /// than its date says.
    #[inline]
    pub(super) fn judged(&self, now_nanos: u64, last: u64) -> u64 {
        let now = now_nanos >> self.shift;
        // Where ticks are longer than a nanosecond, dates are rounded up.
        let last = last.wrapping_sub(u64::from(self.shift > 0));
        if self.field.ahead(now, last) >= 0 { now } else { last }
    }

    /// Whether what was dated `at` has left the window in the tick `judged`.
    #[inline]
    pub(super) fn is_gone(&self, at: u64, judged: u64) -> bool {
        self.field.ahead(judged, at) >= self.window_ticks as i64
    }

    /// How long after `now_nanos` what was dated `at` leaves the window.
    pub(super) fn left_nanos(&self, at: u64, now_nanos: u64) -> u64 {
        let age = self.age(at, now_nanos);
        // The window is below 2^62 ticks, and so is an age that is less.
        let ticks = u64::try_from((self.window_ticks as i64).saturating_sub(age)).unwrap_or(0);
        let into_tick = now_nanos & ((1 << self.shift) - 1);
        (u128::from(ticks) << self.shift).saturating_sub(u128::from(into_tick)).min(u64::MAX.into())
            as u64
    }

    /// How long before `now_nanos` what was dated `at` was, in nanoseconds.
    pub(super) fn age_nanos(&self, at: u64, now_nanos: u64) -> u64 {
        u64::try_from(self.age(at, now_nanos)).unwrap_or(0) << self.shift
    }

    /// By how much `at` is further ahead of `now_nanos` than threads' clocks are
    /// apart; 0 if it is not.
    #[inline]
    pub(super) fn excess_nanos(&self, at: u64, now_nanos: u64) -> u64 {
        let ahead = self.age(at, now_nanos).min(0).unsigned_abs();
        if ahead <= (SKEW_NANOS >> self.shift) + 1 {
            return 0;
        }
        // Where dates are rounded up, time stood in the tick before, at its beginning
        // or later.
        let ticks = ahead - u64::from(self.shift > 0);
        (ticks << self.shift) - (now_nanos & ((1 << self.shift) - 1))
    }

    /// How many ticks before `now_nanos` the date `at` is.
    #[inline]
    fn age(&self, at: u64, now_nanos: u64) -> i64 {
        self.field.ahead(now_nanos >> self.shift, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MAX_PERIOD_NANOS;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn nothing_leaves_the_window_early_or_two_ticks_late_for_any_tick() {
        for bits in [63, 62, 55, 40, 30] {
            let tick = 1 << 62_u32.saturating_sub(bits);
            for window in [1, 1_000, SECOND, 3_600 * SECOND] {
                let dates = Dates::new(Field::low(bits), window);
                for at in [0, 1, tick - 1, tick, 17 * SECOND + 3, u64::MAX - 3 * tick - window] {
                    let date = dates.of(dates.first(at));
                    let left = dates.left_nanos(date, at);
                    assert!((window..window + 2 * tick).contains(&left), "{bits} {window} {at}");
                    let is_gone = |now| dates.is_gone(date, dates.judged(now, date));
                    assert!(is_gone(at + left) && !is_gone(at + left - 1));
                }
            }
        }
    }

    #[test]
    fn a_date_never_goes_back_and_is_never_that_of_the_entry_written_over() {
        let dates = Dates::new(Field::low(63), SECOND);
        let last = dates.of(dates.first(5 * SECOND));
        assert_eq!(dates.of(dates.entry(4 * SECOND, last, 7)), last);
        assert_eq!(dates.of(dates.entry(4 * SECOND, last, last)), last + 1);
        assert_eq!(dates.of(dates.entry(6 * SECOND, last, last)), 6 * SECOND);
        assert_eq!(dates.excess_nanos(last, 4 * SECOND), 0);
        assert_eq!(dates.excess_nanos(last, 2 * SECOND), 3 * SECOND);
    }

    #[test]
    fn the_longest_window_fits_the_coarsest_ticks_and_ends() {
        for bits in [63, 62, 30] {
            for window in [1 << 60, (1 << 60) + 1, 1 << 61, MAX_PERIOD_NANOS] {
                let dates = Dates::new(Field::low(bits), window);
                let date = dates.of(dates.first(0));
                let is_gone = |now| dates.is_gone(date, dates.judged(now, date));
                assert!(!is_gone(window / 2 - 1) && !is_gone(window - 1), "{bits} {window}");
                assert!(is_gone(dates.left_nanos(date, 0)), "{bits} {window}");
            }
        }
    }
}
