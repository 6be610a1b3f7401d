//! The counts of two windows, the older of which counts in part.
//!
//! ```text
//!  bit 63                                                  0
//!     +------+-------------------+------------+------------+
//!     | GATE |      WINDOW       |  PREVIOUS  |  CURRENT   |
//!     +------+-------------------+------------+------------+
//! ```
//!
//! Otherwise the same as [`Aligned`](super::aligned::Aligned).

use core::fmt;
use core::fmt::Display as _;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::config::rate::Rate;
#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::window::gate::OPEN_BITS;
use crate::window::intervals::{Intervals, Moment};
use crate::window::limit::{Limit, check_between, check_max, per_window};
use crate::window_counts::WindowCounts;

use super::aligned::count_bits;
use super::settle::CountFields;
use super::{OneLimit, WindowCounter};

/// Minimum number of bits for the number of a window. A limiter that was idle for half of
/// their range, 2^14 windows, may take old counts for new ones, once.
const WINDOW_BITS: u32 = 15;

/// Maximum number of bits for each count.
const MOST_BITS: u32 = (OPEN_BITS - WINDOW_BITS) / 2;

#[derive(Debug)]
pub(crate) struct Sliding {
    ticks: Intervals,
    current: Field,
    previous: Field,
    window: Field,
    limit: Limit,
}

impl Sliding {
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the word has too few bits for two such counts.
    pub(crate) fn new(limit: Rate) -> Result<Sliding, ConfigError> {
        Sliding::sized(limit.permits(), limit.permits(), Intervals::new(limit.period_nanos()))
    }

    fn sized(limit: u64, max_limit: u64, ticks: Intervals) -> Result<Sliding, ConfigError> {
        let current = Field::low(count_bits(max_limit, 2, &ticks).min(MOST_BITS));
        let previous = current.then(current.end());
        Ok(Sliding {
            current,
            previous,
            window: previous.then(OPEN_BITS - previous.end()),
            limit: Limit::new(limit, current.max())?,
            ticks,
        })
    }
}

impl OneLimit for Sliding {
    fn limit(&self) -> &Limit {
        &self.limit
    }

    fn window_nanos(&self) -> u64 {
        self.ticks.length_nanos()
    }

    fn with_max_limit(&self, max_limit: u64) -> Result<Sliding, ConfigError> {
        let limit = self.limit.get();
        check_max(max_limit, limit, self.window_nanos())?;
        check_between(max_limit, limit, Field::low(MOST_BITS).max())?;
        Sliding::sized(limit, max_limit, Intervals::new(self.window_nanos()))
    }
}

impl WindowCounter for Sliding {
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
        match self.window.ahead(self.window.get(word), now.tick) {
            0 => Some(word),
            -1 => Some(self.empty(now) | self.previous.put(self.current.get(word))),
            ..-1 => Some(self.empty(now)),
            ahead => (ahead as u64 <= self.ticks.skew()).then_some(word),
        }
    }

    #[inline]
    fn counted(&self, word: u64, now: &Moment) -> WindowCounts {
        let ahead = self.window.ahead(self.window.get(word), now.tick) as u64;
        let length_nanos = self.ticks.length_nanos();
        WindowCounts {
            limit: self.limit.get(),
            current: self.current.get(word),
            previous: self.previous.get(word),
            left_nanos: now.left_nanos.saturating_add(ahead.saturating_mul(length_nanos)),
            length_nanos,
            slides: true,
        }
    }

    #[inline]
    fn plus(&self, word: u64, permits: u64, _now: &Moment) -> u64 {
        word + self.current.put(permits)
    }

    fn fields(&self) -> CountFields {
        let previous = Some(self.previous);
        CountFields { window: self.window, current: self.current, previous }
    }

    fn range_nanos(&self) -> u64 {
        self.window.max().saturating_mul(self.ticks.length_nanos())
    }

    fn moved(&self, word: u64, now: &Moment) -> u64 {
        let counts = self.current.get(word) | self.previous.put(self.previous.get(word));
        self.window.wrap(now.tick) | counts
    }

    fn show_limit(&self, limit: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        per_window(limit, self.window_nanos()).fmt(f)
    }

    #[cfg(feature = "alloc")]
    fn history(&self, word: u64, now: &Moment) -> History {
        // The end of the previous window is the last moment before this one.
        let before = self.ticks.since_start(now).saturating_add(1);
        History::of([(before, self.previous.get(word)), (0, self.current.get(word))])
    }

    fn restored(&self, spent: impl Iterator<Item = (u64, u64)>, now: &Moment) -> u64 {
        let (mut current, mut previous) = (0_u64, 0_u64);
        for (age_nanos, permits) in spent {
            match self.ticks.ago(age_nanos, now) {
                0 => current = current.saturating_add(permits),
                1 => previous = previous.saturating_add(permits),
                _ => {}
            }
        }
        self.empty(now)
            | self.current.put(current.min(self.current.max()))
            | self.previous.put(previous.min(self.previous.max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate;

    #[test]
    fn the_limits_that_two_counts_leave_room_for_are_allowed_and_others_named() {
        assert!(Sliding::new(rate!(16_777_215 / 100 ms)).is_ok());
        let error = Sliding::new(rate!(16_777_216 / 100 ms)).unwrap_err();
        let text = "limit is 16777216: must be from 1 to 16777215 for this window";
        assert_eq!(error.to_string(), text);
    }
}
