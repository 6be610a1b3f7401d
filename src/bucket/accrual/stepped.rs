//! Accrual in whole steps: a period earns nothing until its end, and then everything at once.

/// `A(t) = gain * floor((t + phase) / period)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stepped {
    /// Units earned by one whole period.
    pub(crate) gain: u64,
    /// Never 0.
    pub(crate) period_nanos: u64,
    /// Time into a period at the origin.
    pub(crate) phase_nanos: u64,
}

impl Stepped {
    /// Returns the units earned in `elapsed_nanos`, modulo 2^64.
    #[inline]
    pub(crate) const fn units(self, elapsed_nanos: u64) -> u64 {
        steps(elapsed_nanos, self.phase_nanos, self.period_nanos).wrapping_mul(self.gain)
    }

    /// Returns the time into a period, `elapsed_nanos` after the origin.
    pub(crate) const fn phase(self, elapsed_nanos: u64) -> u64 {
        let time = elapsed_nanos as u128 + self.phase_nanos as u128;
        (time % self.period_nanos as u128) as u64
    }
}

/// Returns the whole periods in a time plus a phase, modulo 2^64.
///
/// Out of line: its divisions would crowd the linear path beside it.
#[inline(never)]
const fn steps(elapsed_nanos: u64, phase_nanos: u64, period_nanos: u64) -> u64 {
    // The sum rarely needs 65 bits, and a 128-bit division is several times slower.
    match elapsed_nanos.checked_add(phase_nanos) {
        Some(time) => time / period_nanos,
        None => ((elapsed_nanos as u128 + phase_nanos as u128) / period_nanos as u128) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_arrives_at_its_end_and_the_rest_is_kept() {
        let stepped = Stepped { gain: 5, period_nanos: 10, phase_nanos: 0 };
        let at = |nanos| stepped.units(nanos);
        assert_eq!([at(0), at(9), at(10), at(19), at(20), at(105)], [0, 0, 5, 5, 10, 50]);
        let late = Stepped { phase_nanos: 7, ..stepped };
        assert_eq!([late.units(2), late.units(3), late.units(13)], [0, 5, 10]);
    }

    #[test]
    fn the_last_nanosecond_of_a_u64_counts() {
        let stepped = Stepped { gain: 1, period_nanos: 2, phase_nanos: 1 };
        assert_eq!(stepped.units(u64::MAX), 1 << 63);
    }

    #[test]
    fn a_phase_is_the_time_into_a_period() {
        let stepped = Stepped { gain: 5, period_nanos: 10, phase_nanos: 7 };
        let phases = [0, 2, 3, 16, u64::MAX].map(|nanos| stepped.phase(nanos));
        assert_eq!(phases, [7, 9, 0, 3, 2]);
    }
}
