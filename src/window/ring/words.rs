//! The words of the ring. No atomics here.
//!
//! ```text
//!  bit 63                                    3   2    1      0
//!     +-----------------+---------------------+------+---------+
//! hot |      TICK       |        COUNT        | GATE |  STATE  |
//!     +-----------------+---------------------+------+---------+
//!
//!     +-----------------+---------------------+----------------+
//!     |      SLOT       |        COUNT        |       0        |  boundary
//!     +-----------------+---------------------+----------------+
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
//! restores the word before it), and no tick repeats. All of them leave `GATE` as it is: it is
//! 1 while callers wait in line.

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
    pub(super) count: Field,
    pub(super) tick: Field,
    /// Bits of the count, in place.
    pub(super) count_mask: u64,
}

const STATE: Field = Field::low(2);

/// 1 while callers wait in line: only the first of them may spend.
const GATE: Field = STATE.then(1);

/// Number of bits of the state and the gate, and so the position of the count.
pub(super) const STATE_BITS: u32 = GATE.end();

/// Returns whether callers wait in line for `word`.
#[inline(always)]
pub(super) const fn is_gated(word: u64) -> bool {
    GATE.get(word) != 0
}

/// Returns `word` with the gate closed or open.
#[inline(always)]
pub(super) const fn with_gate(word: u64, is_closed: bool) -> u64 {
    let open = word & !GATE.put(1);
    if is_closed { open | GATE.put(1) } else { open }
}

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
        let count = GATE.then(needed.max(spare));
        let tick = count.then(u64::BITS - count.end());
        Ok(Layout { count, tick, count_mask: count.wrap(u64::MAX) })
    }

    /// Returns the largest limit that can be counted.
    pub(super) fn max_limit(&self) -> u64 {
        Rate::MAX_PERMITS.min(self.count.max() >> 1)
    }

    #[inline]
    pub(super) fn word(&self, hot: Hot, state: State) -> u64 {
        self.tick.wrap(hot.tick) | self.count.wrap(hot.count) | STATE.put(state as u64)
    }

    /// Returns whether `word` is open in `tick`, and so is its gate.
    #[inline]
    pub(super) fn is_open_at(&self, word: u64, tick: u64) -> bool {
        // The excess bits of the tick fall off the upper end.
        let open = tick << self.count.end();
        (word ^ open) & !self.count_mask == 0
    }

    /// Returns `word`, which is open, with `permits` more, and the gate as it was.
    #[inline]
    pub(super) fn plus(&self, word: u64, permits: u64) -> u64 {
        let count = word.wrapping_add(permits << STATE_BITS);
        word & !self.count_mask | count & self.count_mask
    }

    #[inline]
    pub(super) fn read(&self, word: u64) -> (Hot, State) {
        let state = match STATE.get(word) {
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
                let word = layout.word(hot, state);
                assert_eq!(layout.read(word), (hot, state));
                let gated = with_gate(word, true);
                assert_eq!(layout.read(gated), (hot, state));
                assert!(is_gated(gated) && !is_gated(word) && with_gate(gated, false) == word);
                assert!(!layout.is_open_at(gated, hot.tick));
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
