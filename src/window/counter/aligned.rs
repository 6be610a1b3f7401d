//! Windows of one length that follow each other from the clock's origin. The start of each is
//! found by [`Intervals`], in `window/intervals.rs`.
//!
//! ```text
//!  bit 63                                  0
//!     +------+-------------------+---------+
//!     | GATE |      WINDOW       |  COUNT  |
//!     +------+-------------------+---------+
//! ```
//!
//! `WINDOW` has the bits that number the windows of 146 years, or those that the limit
//! leaves in the word. If it wraps, or after half a circle of it without a grant,
//! old counts may stand for one window more.
//!
//! `WINDOW` is ahead of the clock while windows to come are reserved; see `reserve.rs`.

use core::fmt;
use core::fmt::Display as _;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::config::rate::Rate;
#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::time::units::SKEW_NANOS;
use crate::window::gate::OPEN_BITS;
use crate::window::intervals::{Intervals, Moment};
use crate::window::limit::{Limit, check_max, per_window};
use crate::window_counts::WindowCounts;

use super::settle::CountFields;
use super::{OneLimit, WindowCounter};

#[derive(Debug)]
pub(crate) struct Aligned {
    ticks: Intervals,
    count: Field,
    window: Field,
    limit: Limit,
    reserves_nanos: u64,
    /// Windows by which a word may be ahead of the clock and still be counted in.
    most_ahead: u64,
}

impl Aligned {
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the word has too few bits for it.
    pub(crate) fn new(limit: Rate) -> Result<Aligned, ConfigError> {
        Aligned::sized(limit.permits(), limit.permits(), Intervals::new(limit.period_nanos()))
    }

    fn sized(limit: u64, max_limit: u64, ticks: Intervals) -> Result<Aligned, ConfigError> {
        let count = Field::low(count_bits(max_limit, 1, &ticks));
        Ok(Aligned {
            count,
            window: count.then(OPEN_BITS - count.end()),
            limit: Limit::new(limit, Rate::MAX_PERMITS.min(count.max()))?,
            reserves_nanos: 0,
            most_ahead: ticks.skew(),
            ticks,
        })
    }
}

/// Returns the bits for each of `counts` counts up to `permits`: as many as the numbers of
/// the windows leave, or as are needed. At most those of the largest limit.
pub(super) fn count_bits(permits: u64, counts: u32, ticks: &Intervals) -> u32 {
    let needed = u64::BITS - permits.leading_zeros();
    let left = (OPEN_BITS - ticks.bits()) / counts;
    let most = u64::BITS - Rate::MAX_PERMITS.leading_zeros();
    left.clamp(needed, most.max(needed))
}

impl OneLimit for Aligned {
    fn limit(&self) -> &Limit {
        &self.limit
    }

    fn window_nanos(&self) -> u64 {
        self.ticks.length_nanos()
    }

    fn with_max_limit(&self, max_limit: u64) -> Result<Aligned, ConfigError> {
        let limit = self.limit.get();
        check_max(max_limit, limit, self.window_nanos())?;
        Aligned::sized(limit, max_limit, Intervals::new(self.window_nanos()))
    }
}

impl WindowCounter for Aligned {
    type Now = Moment;

    #[inline]
    fn now(&self, now_nanos: u64) -> Moment {
        self.ticks.moment(now_nanos)
    }

    fn empty(&self, now: &Moment) -> u64 {
        self.window.wrap(now.tick)
    }

    fn most(&self) -> u64 {
        self.limit.get()
    }

    #[inline]
    fn at(&self, word: u64, now: &Moment) -> Option<u64> {
        let ahead = self.window.ahead(self.window.get(word), now.tick);
        if ahead < 0 {
            Some(self.empty(now))
        } else {
            (ahead as u64 <= self.most_ahead).then_some(word)
        }
    }

    fn reserve_ahead(&mut self, ahead_nanos: u64) {
        self.reserves_nanos = ahead_nanos.min(self.range_nanos() / 4);
        self.most_ahead = if self.reserves_nanos > 0 { 0 } else { self.ticks.skew() };
    }

    fn reserves_nanos(&self) -> u64 {
        self.reserves_nanos
    }

    fn begins_in(&self, word: u64, now: &Moment) -> Option<u64> {
        let ahead = self.window.ahead(self.window.get(word), now.tick);
        let more = u64::try_from(ahead).ok()?.checked_sub(1)?;
        let more_nanos = more.saturating_mul(self.ticks.length_nanos());
        within_reach(now.left_nanos.saturating_add(more_nanos), self.reserves_nanos)
    }

    #[inline]
    fn counted(&self, word: u64, now: &Moment) -> WindowCounts {
        let ahead = self.window.ahead(self.window.get(word), now.tick) as u64;
        let length_nanos = self.ticks.length_nanos();
        WindowCounts {
            limit: self.limit.get(),
            current: self.count.get(word),
            previous: 0,
            left_nanos: now.left_nanos.saturating_add(ahead.saturating_mul(length_nanos)),
            length_nanos,
            slides: false,
        }
    }

    #[inline]
    fn plus(&self, word: u64, permits: u64, _now: &Moment) -> u64 {
        word + self.count.put(permits)
    }

    fn fields(&self) -> CountFields {
        CountFields { window: self.window, current: self.count, previous: None }
    }

    fn range_nanos(&self) -> u64 {
        self.window.max().saturating_mul(self.ticks.length_nanos())
    }

    fn moved(&self, word: u64, now: &Moment) -> u64 {
        self.window.wrap(now.tick) | self.count.put(self.count.get(word))
    }

    fn show_limit(&self, limit: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        per_window(limit, self.window_nanos()).fmt(f)
    }

    #[cfg(feature = "alloc")]
    fn history(&self, word: u64, _now: &Moment) -> History {
        History::of([(0, self.count.get(word))])
    }

    fn restored(&self, spent: impl Iterator<Item = (u64, u64)>, now: &Moment) -> u64 {
        let present = spent.filter(|&(age_nanos, _)| self.ticks.ago(age_nanos, now) == 0);
        self.empty(now) | self.count.put(total(present).min(self.count.max()))
    }
}

/// Returns the wait for a window of which others have reserved some, if they can have done so by a
/// clock that is right, with windows reserved up to `reserves_nanos` ahead. Never if that is 0.
pub(super) fn within_reach(wait_nanos: u64, reserves_nanos: u64) -> Option<u64> {
    let most = reserves_nanos.saturating_add(SKEW_NANOS);
    (reserves_nanos > 0 && wait_nanos <= most).then_some(wait_nanos)
}

/// Returns the sum of the permits of `spent`.
pub(super) fn total(spent: impl Iterator<Item = (u64, u64)>) -> u64 {
    spent.fold(0, |sum, (_, permits)| sum.saturating_add(permits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate;
    use crate::time::units::MAX_PERIOD_NANOS;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_bits_fit_every_limit_to_every_window() {
        for rate in [
            rate!(1 / ns),
            rate!(2 / ns),
            rate!(2_147_483_648 / second),
            rate!(4_294_967_296 / 36525 days),
            rate!(1 / 36525 days),
        ] {
            let counter = Aligned::new(rate).unwrap();
            assert_eq!(counter.window.end(), OPEN_BITS);
            assert!(counter.count.max() >= rate.permits());
            let now = counter.now(1 << 61);
            let word = counter.plus(counter.empty(&now), rate.permits(), &now);
            assert_eq!(counter.counted(word, &now).current, rate.permits());
        }
    }

    #[test]
    fn a_number_of_a_window_that_wraps_begins_a_new_window() {
        let counter = Aligned::new(rate!(2 / ns)).unwrap();
        let wrap = 1 << (OPEN_BITS - counter.count.end());
        let (last, first) = (counter.now(wrap - 1), counter.now(wrap));
        let word = counter.plus(counter.empty(&last), 2, &last);
        assert_eq!(counter.at(word, &first), Some(counter.empty(&first)));
    }

    #[test]
    fn a_count_has_the_bits_that_the_numbers_leave_but_no_more_than_the_largest_limit() {
        let second = Intervals::new(SECOND);
        assert_eq!([1, 2].map(|counts| count_bits(7, counts, &second)), [29, 14]);
        assert_eq!(count_bits(1 << 31, 2, &second), 32);
        assert_eq!(count_bits(1, 1, &Intervals::new(MAX_PERIOD_NANOS)), 33);
    }
}
