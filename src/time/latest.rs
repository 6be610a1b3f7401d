//! The latest reading of a clock, for a state behind a lock: it does not go back, unless the clock does
//! by more than threads' clocks may differ.

use super::units::SKEW_NANOS;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LatestReading {
    nanos: u64,
    healed: u64,
}

impl LatestReading {
    pub(crate) fn new(nanos: u64) -> LatestReading {
        LatestReading { nanos, healed: 0 }
    }

    pub(crate) fn nanos(&self) -> u64 {
        self.nanos
    }

    /// Returns how often the clock has gone back.
    pub(crate) fn healed(&self) -> u64 {
        self.healed
    }

    /// Notes a reading. Returns true if the clock has gone back, so that the state has to start again
    /// there. One that is back by no more than a second stands still.
    pub(crate) fn note(&mut self, nanos: u64) -> bool {
        let has_gone_back = nanos.saturating_add(SKEW_NANOS) < self.nanos;
        if has_gone_back {
            self.nanos = nanos;
            self.healed += 1;
        }
        self.nanos = self.nanos.max(nanos);
        has_gone_back
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
            assert_eq!((latest.note(nanos), latest.nanos()), (goes_back, is_at));
        }
        assert_eq!(latest.healed(), 2);
    }
}
