//! The times of entries. No atomics here.

use crate::bits::Field;
use crate::time::units::SKEW_NANOS;

/// Bits of a time in nanoseconds. Half of the values are the past: 146 years.
const TIME: Field = Field::low(63);

/// The dates of entries: in ticks of a power of two of nanoseconds, modulo the
/// size of a field.
///
/// All times here are in nanoseconds, modulo the range of [`TIME`]; only a field is in
/// ticks. A date is rounded up to a tick, and nothing else is rounded, so an entry leaves
/// the window late by less than a tick, and never early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dates {
    field: Field,
    /// Logarithm of the tick length: a tick is `2^shift` ns.
    shift: u32,
    window_nanos: u64,
}

impl Dates {
    /// Creates dates in `field` for a window of `window_nanos`. The ticks are chosen so that
    /// the field has the range of [`TIME`].
    pub(super) fn new(field: Field, window_nanos: u64) -> Dates {
        let shift = TIME.bits().saturating_sub(field.bits());
        // A window of a nanosecond lasts two: dates may run ahead of the clock, by a tick
        // for each reset within one step of the clock, and a window of one would then be empty.
        // (Longer ticks are judged by the tick before; see `judged`.)
        let least = if shift == 0 { 2 } else { 1 };
        Dates { field, shift, window_nanos: window_nanos.max(least) }
    }

    /// Returns the length of a window.
    pub(super) fn window_nanos(&self) -> u64 {
        self.window_nanos
    }

    /// Returns the length of a tick. A date is less than a tick later than the time it is for.
    pub(super) fn tick_nanos(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the date of `entry`.
    #[inline]
    pub(super) fn of(&self, entry: u64) -> u64 {
        self.field.get(entry) << self.shift
    }

    /// Returns the part of an entry that holds its date: the later of `now_nanos` and of `last`, the
    /// date of the previous entry; or the tick after that if it is `over`, the date of the entry that it
    /// overwrites. (That one may be so old that its date would seem to come.)
    #[inline]
    pub(super) fn entry(&self, now_nanos: u64, last: u64, over: u64) -> u64 {
        let now = self.up(now_nanos) << self.shift;
        let date = if TIME.ahead(now, last) >= 0 { now } else { last };
        let again = self.field.wrap(date >> self.shift) == self.field.wrap(over >> self.shift);
        self.field.wrap((date >> self.shift).wrapping_add(u64::from(again)))
    }

    /// Returns the part of an entry that holds the date of `now_nanos`.
    pub(super) fn first(&self, now_nanos: u64) -> u64 {
        self.field.wrap(self.up(now_nanos))
    }

    /// The same for the tick before, which the first entry may overwrite.
    pub(super) fn before(&self, now_nanos: u64) -> u64 {
        self.field.wrap(self.up(now_nanos).wrapping_sub(1))
    }

    /// Returns the tick to which `now_nanos` is rounded up.
    #[inline]
    fn up(&self, now_nanos: u64) -> u64 {
        now_nanos.div_ceil(self.tick_nanos())
    }

    /// Returns the time by which a caller that reads `now_nanos` judges the log: that of the
    /// last entry if its own is earlier, because the last entry is at most as old as its
    /// date says.
    #[inline]
    pub(super) fn judged(&self, now_nanos: u64, last: u64) -> u64 {
        // If ticks are longer than a nanosecond, dates are rounded up.
        let rounded = self.tick_nanos() & !1;
        let is_later = TIME.ahead(now_nanos, last) + rounded as i64 >= 0;
        if is_later { now_nanos } else { last.wrapping_sub(rounded) }
    }

    /// Returns whether an entry dated `at` has left the window at the time `judged`. One that seems to come
    /// by more than a tick has, too: it is so old that its date comes back.
    #[inline]
    pub(super) fn is_gone(&self, at: u64, judged: u64) -> bool {
        let tick_nanos = self.tick_nanos();
        let age_nanos = TIME.ahead(judged, at).wrapping_add(tick_nanos as i64);
        age_nanos as u64 >= self.window_nanos + tick_nanos
    }

    /// Returns the time from `now_nanos` until an entry dated `at` leaves the window.
    pub(super) fn left_nanos(&self, at: u64, now_nanos: u64) -> u64 {
        // A window is below 2^62 ns, and so is any age below it.
        let left = (self.window_nanos as i64).saturating_sub(TIME.ahead(now_nanos, at));
        u64::try_from(left).unwrap_or(0)
    }

    /// Returns the age at `now_nanos` of an entry dated `at`.
    pub(super) fn age_nanos(at: u64, now_nanos: u64) -> u64 {
        u64::try_from(TIME.ahead(now_nanos, at)).unwrap_or(0)
    }

    /// Returns by how much `at` is ahead of `now_nanos` if that is more than threads' clocks
    /// can differ; otherwise 0.
    #[inline]
    pub(super) fn excess_nanos(&self, at: u64, now_nanos: u64) -> u64 {
        let ahead = TIME.ahead(now_nanos, at).min(0).unsigned_abs();
        if ahead <= SKEW_NANOS + self.tick_nanos() {
            return 0;
        }
        // If dates are rounded up, time stood in the tick before, at its beginning
        // or later.
        ahead - (self.tick_nanos() & !1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::units::MAX_PERIOD_NANOS;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn nothing_leaves_the_window_early_or_a_tick_late_for_any_tick() {
        for bits in [63, 62, 55, 40, 30] {
            let tick = 1 << (63 - bits);
            for window in [1, 1_000, SECOND, 3_600 * SECOND] {
                let dates = Dates::new(Field::low(bits), window);
                let window = dates.window_nanos();
                for at in [0, 1, tick - 1, tick, 17 * SECOND + 3, u64::MAX - 3 * tick - window] {
                    let date = dates.of(dates.first(at));
                    let left = dates.left_nanos(date, at);
                    assert!((window..window + tick).contains(&left), "{bits} {window} {at}");
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
    fn what_is_146_years_old_is_past_and_what_is_as_far_ahead_is_not() {
        const YEARS: u64 = 1 << 62;
        for bits in [63, 58, 40] {
            let dates = Dates::new(Field::low(bits), SECOND);
            let date = dates.of(dates.first(YEARS));
            assert!(dates.is_gone(date, dates.judged(2 * YEARS - 1, date)), "{bits}");
            assert_eq!(Dates::age_nanos(date, 2 * YEARS - 1), YEARS - 1, "{bits}");
            assert!(!dates.is_gone(date, dates.judged(0, date)), "{bits}");
            // One that is older than the last by so much.
            assert!(dates.is_gone(date, 2 * YEARS + 1), "{bits}");
            assert!(dates.is_gone(dates.of(dates.first(0)), 2 * YEARS - SECOND), "{bits}");
            assert_eq!(dates.excess_nanos(date, 1), YEARS - 1 - (dates.tick_nanos() & !1));
        }
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
