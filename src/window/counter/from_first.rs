//! A window that begins with the first grant, and the next one with the first grant
//! after its end.
//!
//! ```text
//!  bit 63                                  0
//!     +------+-------------------+---------+
//!     | GATE |       START       |  COUNT  |
//!     +------+-------------------+---------+
//! ```
//!
//! `START` is in ticks of a power of two of nanoseconds, rounded up, so a window
//! may last up to a tick too long, and never too short: at a limit of 100 by 128
//! ns, at a million by 1 ms, at most by 2^-16 of the window. Half of the range of `START`
//! is the past: 146 years. If the limit is so large that a tick would be longer than
//! that part of the window, the range is shorter, and after half of it without a grant the
//! last count may stand for one window more.

use core::fmt;
use core::fmt::Display as _;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::config::rate::Rate;
#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::time::units::SKEW_NANOS;
use crate::window::gate::OPEN_BITS;
use crate::window::limit::{Limit, check_max, per_window};
use crate::window_counts::WindowCounts;

use super::aligned::within_reach;
use super::settle::CountFields;
use super::{OneLimit, WindowCounter};

/// Bits of a time in nanoseconds. Half of the values are the past: 146 years.
const TIME_BITS: u32 = 63;

#[derive(Debug)]
pub(crate) struct FromFirst {
    length_nanos: u64,
    /// Logarithm of the tick length: a tick is `2^shift` ns.
    shift: u32,
    count: Field,
    start: Field,
    limit: Limit,
    reserves_nanos: u64,
    /// Time by which a window may begin after now and still be counted in.
    most_ahead_nanos: i64,
}

/// A time in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now(u64);

impl FromFirst {
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the word has too few bits for it.
    pub(crate) fn new(limit: Rate) -> Result<FromFirst, ConfigError> {
        FromFirst::sized(limit.permits(), limit.permits(), limit.period_nanos())
    }

    fn sized(limit: u64, max_limit: u64, length_nanos: u64) -> Result<FromFirst, ConfigError> {
        let count = Field::low(u64::BITS - max_limit.leading_zeros());
        let start = count.then(OPEN_BITS - count.end());
        // Enough for the 146 years, but not at the expense of the window's precision.
        let for_the_years = TIME_BITS.saturating_sub(OPEN_BITS - count.end());
        let for_the_window = length_nanos.ilog2().saturating_sub(16);
        let shift = for_the_years.min(for_the_window);
        Ok(FromFirst {
            length_nanos,
            shift,
            count,
            start,
            limit: Limit::new(limit, Rate::MAX_PERMITS.min(count.max()))?,
            reserves_nanos: 0,
            most_ahead_nanos: (SKEW_NANOS + (1 << shift)) as i64,
        })
    }

    /// Returns the time since the window of `word` began; less than 0 if it begins later.
    #[inline]
    fn age_nanos(&self, word: u64, now: Now) -> i64 {
        let ticks = self.start.ahead(now.0 >> self.shift, self.start.get(word));
        // Plus the time into the tick of now.
        (ticks << self.shift) + (now.0 & (self.tick_nanos() - 1)) as i64
    }

    /// Returns the length of a tick. A window is too long by less than this.
    pub(crate) fn tick_nanos(&self) -> u64 {
        1 << self.shift
    }
}

impl OneLimit for FromFirst {
    fn limit(&self) -> &Limit {
        &self.limit
    }

    fn window_nanos(&self) -> u64 {
        self.length_nanos
    }

    fn with_max_limit(&self, max_limit: u64) -> Result<FromFirst, ConfigError> {
        let limit = self.limit.get();
        check_max(max_limit, limit, self.length_nanos)?;
        FromFirst::sized(limit, max_limit, self.length_nanos)
    }
}

impl WindowCounter for FromFirst {
    type Now = Now;

    #[inline]
    fn now(&self, now_nanos: u64) -> Now {
        Now(now_nanos)
    }

    fn empty(&self, now: &Now) -> u64 {
        self.start.wrap(now.0.div_ceil(self.tick_nanos()))
    }

    fn most(&self) -> u64 {
        self.limit.get()
    }

    #[inline]
    fn at(&self, word: u64, now: &Now) -> Option<u64> {
        let age_nanos = self.age_nanos(word, *now);
        // A window without grants has not begun. (But it does not begin earlier than was noted: a start
        // that came back could be taken for a window of which all was given back.)
        let has_begun = self.count.get(word) > 0 || age_nanos < 0;
        if !has_begun || age_nanos >= self.length_nanos as i64 {
            return Some(self.empty(now));
        }
        (age_nanos >= -self.most_ahead_nanos).then_some(word)
    }

    fn reserve_ahead(&mut self, ahead_nanos: u64) {
        self.reserves_nanos = ahead_nanos.min(self.range_nanos() / 4);
        let (within_a_tick, skewed) = (self.tick_nanos() - 1, SKEW_NANOS + self.tick_nanos());
        let most_nanos = if self.reserves_nanos > 0 { within_a_tick } else { skewed };
        self.most_ahead_nanos = most_nanos as i64;
    }

    fn reserves_nanos(&self) -> u64 {
        self.reserves_nanos
    }

    fn begins_in(&self, word: u64, now: &Now) -> Option<u64> {
        // A start is rounded up, so the window can have begun up to a tick earlier.
        let wait_nanos = self.age_nanos(word, *now).checked_neg()? - self.most_ahead_nanos;
        let wait_nanos = u64::try_from(wait_nanos).ok().filter(|&nanos| nanos > 0)?;
        within_reach(wait_nanos, self.reserves_nanos)
    }

    /// The window begins up to a tick before its start. (That is not to be before the end of the one
    /// before it.)
    fn begin(&self, end_nanos: u64) -> (u64, u64) {
        let within_a_tick = self.tick_nanos() - 1;
        let start = end_nanos.saturating_add(within_a_tick).div_ceil(self.tick_nanos());
        let begin_nanos = start.saturating_mul(self.tick_nanos()) - within_a_tick;
        (begin_nanos, self.start.wrap(start))
    }

    /// A window would begin with the grant, and last beyond that instant if the caller is late. So it begins as
    /// many windows before the instant as it takes to have begun now.
    fn turn_before(&self, told_nanos: u64, word: u64, now: &Now) -> Now {
        let length_nanos = self.length_nanos as i64;
        // A window may begin where the one before it ends. (For one without grants, see `at`.)
        let least_nanos = if self.count.get(word) > 0 { length_nanos } else { 0 };
        let tick_nanos = self.tick_nanos();
        // Windows that follow one another begin at ticks.
        let apart_nanos = self.length_nanos.next_multiple_of(tick_nanos);
        let begin = || {
            let told_nanos = told_nanos.checked_next_multiple_of(tick_nanos)?;
            let left_nanos =
                told_nanos.checked_sub(now.0)?.checked_next_multiple_of(apart_nanos)?;
            told_nanos.checked_sub(left_nanos).map(Now)
        };
        let lasts = |begin: &Now| now.0 - begin.0 < self.length_nanos;
        let follows = |begin: &Now| self.age_nanos(word, *begin) >= least_nanos;
        begin().filter(|it| lasts(it) && follows(it)).unwrap_or(*now)
    }

    #[inline]
    fn counted(&self, word: u64, now: &Now) -> WindowCounts {
        let left_nanos = (self.length_nanos as i64).saturating_sub(self.age_nanos(word, *now));
        let left_nanos = u64::try_from(left_nanos).unwrap_or(0);
        WindowCounts {
            limit: self.limit.get(),
            current: self.count.get(word),
            previous: 0,
            left_nanos,
            length_nanos: self.length_nanos,
            slides: false,
        }
    }

    #[inline]
    fn plus(&self, word: u64, permits: u64, _now: &Now) -> u64 {
        word + self.count.put(permits)
    }

    fn fields(&self) -> CountFields {
        CountFields { window: self.start, current: self.count, previous: None }
    }

    fn range_nanos(&self) -> u64 {
        self.start.max().saturating_mul(self.tick_nanos())
    }

    fn moved(&self, word: u64, now: &Now) -> u64 {
        self.empty(now) | self.count.put(self.count.get(word))
    }

    fn show_limit(&self, limit: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        per_window(limit, self.window_nanos()).fmt(f)
    }

    #[cfg(feature = "alloc")]
    fn history(&self, word: u64, now: &Now) -> History {
        let age_nanos = u64::try_from(self.age_nanos(word, *now)).unwrap_or(0);
        History::of([(age_nanos, self.count.get(word))])
    }

    fn restored(&self, spent: impl Iterator<Item = (u64, u64)>, now: &Now) -> u64 {
        let (mut count, mut oldest) = (0_u64, 0);
        for (age_nanos, permits) in spent.filter(|&(age, _)| age < self.length_nanos) {
            count = count.saturating_add(permits);
            oldest = oldest.max(age_nanos);
        }
        // Before the clock's origin the number wraps, and so does the age.
        let start = now.0.wrapping_sub(oldest).div_ceil(self.tick_nanos());
        self.start.wrap(start) | self.count.put(count.min(self.count.max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate;

    const SECOND: u64 = 1_000_000_000;

    #[cfg(feature = "wait")]
    #[test]
    fn a_window_of_a_late_caller_ends_by_the_instant_of_a_reservation_behind_it() {
        let window = FromFirst::new(rate!(1_000_000 / minute)).unwrap();
        let (tick, end) = (window.tick_nanos(), 60 * SECOND);
        let word = window.plus(window.empty(&window.now(0)), 1, &window.now(0));
        for (windows, late) in [(1, 0), (1, 1), (1, 59), (2, 61), (3, 179)] {
            let at = window.now(end + late * SECOND);
            let next = window.empty(&window.now(end));
            let told = end + window.counted(next, &window.now(end)).left_nanos;
            let told = told + (windows - 1) * end.next_multiple_of(tick);
            let begun = window.at(word, &window.turn_before(told, word, &at)).unwrap();
            let begun = window.plus(begun, 1, &at);
            assert_eq!(window.at(begun, &at), Some(begun), "it goes on");
            assert_ne!(window.at(begun, &window.now(told)), Some(begun), "it has ended");
        }
        // A window that goes on stays.
        let at = window.now(end - 1);
        assert_eq!(window.turn_before(end, word, &at).0, end - 1);
    }

    #[test]
    fn the_largest_limit_and_the_shortest_window_fit() {
        for rate in [rate!(2 / ns), rate!(2_147_483_648 / second), rate!(4_294_967_296 / 2 seconds)]
        {
            let window = FromFirst::new(rate).unwrap();
            let now = window.now(5);
            let word = window.plus(window.empty(&now), rate.permits(), &now);
            assert_eq!(window.counted(word, &now).current, rate.permits());
        }
    }

    #[test]
    fn the_longest_window_ends_whatever_the_limit() {
        for rate in [
            rate!(1 / 36525 days),
            rate!(2 / 36525 days),
            rate!(100 / 13343 days),
            rate!(4_294_967_296 / 13343 days),
            rate!(100 / 13344 days),
            rate!(4_294_967_296 / 26690 days),
            rate!(4_294_967_296 / 36525 days),
        ] {
            let window = FromFirst::new(rate).unwrap();
            let start = window.now(5);
            let word = window.plus(window.empty(&start), 1, &start);
            let left = window.counted(word, &start).left_nanos;
            let (last, end) = (window.now(4 + left), window.now(5 + left));
            assert_eq!(window.at(word, &last), Some(word));
            assert_eq!(window.at(word, &end), Some(window.empty(&end)));
        }
    }

    #[test]
    fn what_was_spent_a_whole_window_ago_is_no_part_of_what_is_restored() {
        let window = FromFirst::new(rate!(7 / minute)).unwrap();
        let now = window.now(1_000 * SECOND);
        let restored = |oldest: u64| {
            let spent = [(oldest, 3), (30 * SECOND, 2)];
            let counted = window.counted(window.restored(spent.into_iter(), &now), &now);
            (counted.current, counted.left_nanos)
        };
        assert_eq!(restored(60 * SECOND), (2, 30 * SECOND));
        assert_eq!(restored(60 * SECOND - 8), (5, 8));
    }
}
