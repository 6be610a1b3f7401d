//! The latest reading of a clock, for a state behind a lock: it does not go back, unless the clock does
//! by more than threads' clocks may differ.
//!
//! An instant that was told before the clock was set back is moved back with it: so callers wait for
//! theirs for as long as they were told, one after the other as before, and not until the clock is
//! where it was.
//!
//! A clock that was set back does not tell how much time has passed meanwhile. It is at least the time to
//! the latest reading before. If the caller that finds it set back has slept until its instant, it is the
//! time to that.

use std::time::Duration;

use crate::units::SKEW_NANOS;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LatestReading {
    nanos: u64,
    /// The reading that was noted last: behind the latest by a second at most.
    read_nanos: u64,
    healed: u64,
    /// Nanoseconds by which the clock has been set back in all, modulo 2^64.
    back_nanos: u64,
}

/// An instant of the clock, as it was told.
#[derive(Clone, Copy, Debug)]
pub struct ToldInstant {
    at_nanos: u64,
    /// Nanoseconds by which the clock had been set back then.
    back_nanos: u64,
}

impl ToldInstant {
    /// Returns the instant by the clock as it was.
    pub(crate) fn nanos(self) -> u64 {
        self.at_nanos
    }
}

impl LatestReading {
    pub(crate) fn new(nanos: u64) -> LatestReading {
        LatestReading { nanos, read_nanos: nanos, healed: 0, back_nanos: 0 }
    }

    pub(crate) fn nanos(&self) -> u64 {
        self.nanos
    }

    /// Returns the reading that was noted last.
    pub(crate) fn read_nanos(&self) -> u64 {
        self.read_nanos
    }

    /// Returns how often the clock has gone back.
    pub(crate) fn healed(&self) -> u64 {
        self.healed
    }

    /// Notes a reading, of a caller that may have `slept` until an instant. Returns true if the clock has
    /// gone back, so that the state has to start again there. One that is back by no more than a second
    /// stands still.
    pub(crate) fn note(&mut self, nanos: u64, slept: Option<ToldInstant>) -> bool {
        let has_gone_back = nanos.saturating_add(SKEW_NANOS) < self.nanos;
        if has_gone_back {
            let slept_nanos = slept.map_or(0, |told| self.moved(told));
            let was_nanos = self.nanos.max(slept_nanos);
            self.back_nanos = self.back_nanos.wrapping_add(was_nanos - nanos);
            self.nanos = nanos;
            self.healed += 1;
        }
        self.nanos = self.nanos.max(nanos);
        self.read_nanos = nanos;
        has_gone_back
    }

    /// Returns the instant `at_nanos` of the present clock, to be told.
    pub(crate) fn told(&self, at_nanos: u64) -> ToldInstant {
        ToldInstant { at_nanos, back_nanos: self.back_nanos }
    }

    /// Returns an instant that was told by the present clock.
    fn moved(&self, told: ToldInstant) -> u64 {
        told.at_nanos.saturating_sub(self.back_nanos.wrapping_sub(told.back_nanos))
    }

    /// Returns the time to sleep before an instant that was told: none if it is no later than the latest
    /// reading. Otherwise a clock that stands still has to get there from where it is.
    pub(crate) fn until(&self, told: ToldInstant) -> Duration {
        let at_nanos = self.moved(told);
        let left_nanos = if at_nanos <= self.nanos { 0 } else { at_nanos - self.read_nanos };
        Duration::from_nanos(left_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_stands_still_for_a_second_and_starts_again_beyond() {
        let mut latest = LatestReading::new(5 * SKEW_NANOS);
        for (nanos, goes_back, is_at) in [
            (4 * SKEW_NANOS, false, 5 * SKEW_NANOS),
            (4 * SKEW_NANOS - 1, true, 4 * SKEW_NANOS - 1),
            (u64::MAX, false, u64::MAX),
            (u64::MAX - SKEW_NANOS, false, u64::MAX),
            (0, true, 0),
        ] {
            assert_eq!((latest.note(nanos, None), latest.nanos()), (goes_back, is_at));
        }
        assert_eq!(latest.healed(), 2);
    }

    #[test]
    fn an_instant_that_was_told_moves_back_with_the_clock() {
        let mut latest = LatestReading::new(100 * SKEW_NANOS);
        let told = latest.told(107 * SKEW_NANOS);
        let left = |latest: &LatestReading| latest.until(told).as_secs();
        for (nanos, seconds) in [
            (102 * SKEW_NANOS, 5),
            // It stands still, and has to get there from where it is.
            (101 * SKEW_NANOS, 6),
            (103 * SKEW_NANOS, 4),
            // It is set back, and again.
            (50 * SKEW_NANOS, 4),
            (51 * SKEW_NANOS, 3),
            (0, 3),
            (2 * SKEW_NANOS, 1),
            (3 * SKEW_NANOS, 0),
            // It stands still, and the instant has passed.
            (2 * SKEW_NANOS, 0),
            // And is right again.
            (200 * SKEW_NANOS, 0),
        ] {
            latest.note(nanos, None);
            assert_eq!(left(&latest), seconds, "{nanos}");
        }
        assert_eq!(told.nanos(), 107 * SKEW_NANOS);
    }

    #[test]
    fn a_caller_that_has_slept_tells_how_much_time_has_passed() {
        let mut latest = LatestReading::new(100 * SKEW_NANOS);
        let told = [103, 107].map(|seconds| latest.told(seconds * SKEW_NANOS));
        let left = |latest: &LatestReading| told.map(|told| latest.until(told).as_secs());
        // Nobody has looked meanwhile.
        latest.note(50 * SKEW_NANOS, Some(told[0]));
        assert_eq!(left(&latest), [0, 4]);
        latest.note(51 * SKEW_NANOS, Some(told[1]));
        assert_eq!(left(&latest), [0, 3], "a clock that goes on tells it itself");
        let later = latest.told(52 * SKEW_NANOS);
        latest.note(9 * SKEW_NANOS, Some(later));
        assert_eq!((left(&latest), latest.until(later).as_secs()), ([0, 2], 0));
    }
}
