//! The words of the ring. No atomics here.
//!
//! ```text
//!  bit 63                                     2 1      0
//!     +-----------------+---------------------+---------+
//! hot |      TICK       |        COUNT        |  STATE  |
//!     +-----------------+---------------------+---------+
//!
//!     +-----------------+---------------------+---------+
//!     |      SLOT       |        COUNT        |    0    |  boundary
//!     +-----------------+---------------------+---------+
//! ```
//!
//! Both counts are at the same bits, so one word minus the other is the number of
//! permits counted since.
//!
//! `COUNT` has at least one bit more than the limit, so that differences are right
//! although the counts wrap. `TICK` has the bits that number the ticks of
//! 146 years, or those that the count leaves; a number that repeats after so long an
//! idle time can at worst make old permits count once more.
//!
//! | from                | turn               | admit n          | reset                 | help           |
//! |---------------------|--------------------|------------------|-----------------------|----------------|
//! | `(k, C, Open)`      | `(k', C, Turning)` | `(k, C+n, Open)` | `(k, C+1, Resetting)` |                |
//! | `(k, C, Turning)`   |                    |                  |                       | `(k, C, Open)` |
//! | `(k, C, Resetting)` |                    |                  |                       | `(k, C, Open)` |
//!
//! `k' > k`. So within a tick the count only grows (except for a grant given back, which
//! restores the word before it), and no tick repeats.

use core::time::Duration;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::window::intervals::Intervals;

use super::plan::Plan;

/// State of the hot word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Admitting requests.
    Open,
    /// Rotating to its tick; boundaries of slots that have ended are missing.
    Turning,
    /// The same, and all earlier permits are to be forgotten.
    Resetting,
}

/// Tick and count of the hot word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hot {
    pub(crate) tick: u64,
    pub(crate) count: u64,
}

/// Positions of the fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    state: Field,
    pub(super) count: Field,
    pub(super) tick: Field,
    /// Bits of the count, in place.
    pub(super) count_mask: u64,
}

/// Number of bits of the state, and so the position of the count.
pub(super) const STATE_BITS: u32 = 2;

impl Layout {
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the largest limit does not leave enough bits for the
    /// ticks, [`ConfigError::Apart`] if no limit does.
    pub(super) fn new(plans: &[Plan], ticks: &Intervals) -> Result<Layout, ConfigError> {
        const BITS: u32 = u64::BITS - STATE_BITS;
        let limit = plans.iter().map(|plan| plan.limit).max().unwrap_or(1);
        // Twice the slots, to tell the past of a slot from its future; twice the skew for
        // the same reason.
        let least_ticks = plans
            .iter()
            .map(|plan| plan.bits(ticks))
            .chain([u64::BITS - ticks.skew().leading_zeros() + 2])
            .fold(1, u32::max);
        let needed = u64::BITS - limit.leading_zeros() + 1;
        let most = BITS.saturating_sub(least_ticks);
        if most <= 1 {
            let longest = plans.iter().map(|plan| plan.window_nanos).max().unwrap_or(0);
            return Err(ConfigError::Apart {
                slot: Duration::from_nanos(ticks.length_nanos()),
                window: Duration::from_nanos(longest),
            });
        }
        if needed > most {
            let max = (1_u64 << most.saturating_sub(1)) - 1;
            return Err(ConfigError::Limit { limit, max });
        }
        let largest = u64::BITS - Rate::MAX_PERMITS.leading_zeros() + 1;
        let spare = BITS.saturating_sub(ticks.bits()).min(largest).min(most);
        let state = Field::low(STATE_BITS);
        let count = state.then(needed.max(spare));
        let tick = count.then(u64::BITS - count.end());
        Ok(Layout { state, count, tick, count_mask: count.wrap(u64::MAX) })
    }

    /// Returns the largest limit that can be counted.
    pub(super) fn max_limit(&self) -> u64 {
        Rate::MAX_PERMITS.min(self.count.max() >> 1)
    }

    #[inline]
    pub(super) fn word(&self, hot: Hot, state: State) -> u64 {
        self.tick.wrap(hot.tick) | self.count.wrap(hot.count) | self.state.put(state as u64)
    }

    /// Returns whether `word` is open in `tick`.
    #[inline]
    pub(super) fn is_open_at(&self, word: u64, tick: u64) -> bool {
        // The excess bits of the tick fall off the upper end.
        let open = tick << self.count.end();
        (word ^ open) & !self.count_mask == 0
    }

    /// Returns `word`, which is open, with `permits` more.
    #[inline]
    pub(super) fn plus(&self, word: u64, permits: u64) -> u64 {
        let count = word.wrapping_add(permits << STATE_BITS);
        word & !self.count_mask | count & self.count_mask
    }

    #[inline]
    pub(super) fn read(&self, word: u64) -> (Hot, State) {
        let state = match self.state.get(word) {
            0 => State::Open,
            1 => State::Turning,
            _ => State::Resetting,
        };
        (Hot { tick: self.tick.get(word), count: self.count.get(word) }, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::ring::plan::ticks_of;

    fn layout(limit: u64, window_nanos: u64, slots: u32) -> Result<Layout, ConfigError> {
        let plans = [Plan { limit, window_nanos, slots }];
        Layout::new(&plans, &ticks_of(&plans))
    }

    #[test]
    fn words_survive_the_round_trip_in_every_state() {
        let layout = layout(100, 60_000_000_000, 60).unwrap();
        for state in [State::Open, State::Turning, State::Resetting] {
            for hot in [
                Hot { tick: 0, count: 0 },
                Hot { tick: layout.tick.max(), count: layout.count.max() },
                Hot { tick: 12_345, count: 67 },
            ] {
                assert_eq!(layout.read(layout.word(hot, state)), (hot, state));
            }
        }
    }

    #[test]
    fn a_century_of_ticks_fits_beside_the_usual_limits() {
        for (limit, window_nanos, slots) in [
            (100, 60_000_000_000, 60),
            (1_000_000, 1_000_000_000, 64),
            (10_000_000, 1_000_000_000, 10),
        ] {
            let layout = layout(limit, window_nanos, slots).unwrap();
            let ticks = (1_u64 << 62) / (window_nanos / u64::from(slots));
            assert!(layout.tick.max() >= ticks, "{layout:?}");
            assert!(layout.max_limit() >= limit);
        }
    }

    #[test]
    fn the_widest_windows_fit_or_say_why_not() {
        for slots in [1, 2, 65_536] {
            for window_nanos in [1, 1_000, 1_000_000_000, crate::time::units::MAX_PERIOD_NANOS] {
                for limit in [1, 1 << 20, 1 << 32] {
                    match layout(limit, window_nanos, slots) {
                        Ok(layout) => assert!(layout.max_limit() >= limit),
                        Err(ConfigError::Limit { max, .. }) => assert!(max < limit && max > 0),
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
    }
}
