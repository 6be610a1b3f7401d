//! Time divided into intervals of one length, called ticks: fixed windows, or the slots of a
//! sliding one. Finds the number of the tick that a time is in, and where that tick starts.

use crate::bucket::accrual::linear::Linear;
use crate::time::units::SKEW_NANOS;

/// Intervals of one length that follow each other from the clock's origin: ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intervals {
    length_nanos: u64,
    /// Divides by the length.
    reciprocal: Linear,
}

/// A time, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Number of the tick that contains the time.
    pub(crate) tick: u64,
    /// Time until that tick ends; never 0.
    pub(crate) left_nanos: u64,
}

impl Intervals {
    /// Creates ticks of `length_nanos`, which is a [`Rate`](crate::Rate)'s period or a part
    /// of one.
    pub(crate) const fn new(length_nanos: u64) -> Intervals {
        Intervals { length_nanos, reciprocal: Linear::new(1, length_nanos) }
    }

    pub(crate) const fn length_nanos(&self) -> u64 {
        self.length_nanos
    }

    /// Converts the time `now_nanos`, exactly for every value.
    #[inline]
    pub(crate) fn moment(&self, now_nanos: u64) -> Moment {
        let tick = if now_nanos <= Linear::MAX_ELAPSED {
            self.reciprocal.units_within(now_nanos)
        } else {
            now_nanos / self.length_nanos
        };
        let into_nanos = now_nanos.wrapping_sub(tick.wrapping_mul(self.length_nanos));
        Moment { tick, left_nanos: self.length_nanos.wrapping_sub(into_nanos) }
    }

    /// Returns how many ticks before that of `now` the time `age_nanos` ago was.
    pub(crate) fn ago(&self, age_nanos: u64, now: &Moment) -> u64 {
        age_nanos.saturating_sub(self.since_start(now)).div_ceil(self.length_nanos)
    }

    /// Returns how far into its tick `now` is.
    pub(crate) fn since_start(&self, now: &Moment) -> u64 {
        self.length_nanos - now.left_nanos
    }

    /// Returns how many ticks a limiter may be ahead of a caller's clock although both
    /// are right.
    pub(crate) const fn skew(&self) -> u64 {
        1 + SKEW_NANOS / self.length_nanos
    }

    /// Returns the bits that number every tick of the 146 years of [`Linear::MAX_ELAPSED`],
    /// and as many future ones: half of the circle is the past.
    pub(crate) const fn bits(&self) -> u32 {
        let past = u64::BITS - (Linear::MAX_ELAPSED / self.length_nanos).leading_zeros();
        past + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::units::MAX_PERIOD_NANOS;

    #[test]
    fn a_moment_is_the_quotient_and_what_is_left_for_every_length() {
        for length in [1, 2, 3, 7, 1_000, 1_000_000_007, MAX_PERIOD_NANOS] {
            let ticks = Intervals::new(length);
            let edges = [0, 1, length - 1, length, length + 1, 10_u64.saturating_mul(length)];
            for now in edges.into_iter().chain([Linear::MAX_ELAPSED, u64::MAX - 1, u64::MAX]) {
                let moment = ticks.moment(now);
                assert_eq!(moment.tick, now / length, "{now} / {length}");
                assert_eq!(moment.left_nanos, length - now % length, "{now} % {length}");
            }
        }
    }

    #[test]
    fn the_bits_number_the_last_tick_as_many_to_come_and_no_more() {
        for length in [1, 2, 3, 1_000, 1 << 40, (1 << 40) + 1, MAX_PERIOD_NANOS] {
            let last = u128::from(Linear::MAX_ELAPSED / length);
            let bits = Intervals::new(length).bits();
            assert!(last < 1 << (bits - 1) && last >= 1 << (bits - 2), "{length}");
        }
    }

    #[test]
    fn clocks_apart_by_the_skew_are_no_more_than_its_ticks_apart() {
        for length in [1, 3, SKEW_NANOS - 1, SKEW_NANOS, SKEW_NANOS + 1, MAX_PERIOD_NANOS] {
            let ticks = Intervals::new(length);
            assert_eq!(ticks.length_nanos(), length);
            let apart = |now| ticks.moment(now + SKEW_NANOS).tick - ticks.moment(now).tick;
            // From the last moment of a tick, the most ticks begin within a given time.
            assert!(apart(0) <= ticks.skew() && apart(length - 1) <= ticks.skew());
            assert!(ticks.skew() <= apart(length - 1) + 1);
        }
    }

    #[test]
    fn an_age_is_as_many_ticks_as_begin_within_it() {
        let ticks = Intervals::new(10);
        let now = ticks.moment(57);
        assert_eq!(ticks.since_start(&now), 7);
        let ago = [0, 7, 8, 17, 18, 57].map(|age| ticks.ago(age, &now));
        assert_eq!(ago, [0, 0, 1, 1, 2, 5]);
    }
}
