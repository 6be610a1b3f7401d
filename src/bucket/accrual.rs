//! Accrual: the units that a limiter has earned since its origin.
//!
//! Limiters on the word differ only in this function, `A(t)`. The bound requires only that it never
//! decreases.
//!
//! * [`Linear`]: `A(t) = floor(t * gain / period)`.
//! * [`Stepped`]: `A(t) = gain * floor((t + phase) / period)`.
//!
//! `gain` is the number of units that one period earns. Neither function loses a remainder: `A` is
//! computed from the origin each time, not from the last call.

pub(crate) mod linear;
pub(crate) mod stepped;

use self::linear::Linear;
use self::stepped::Stepped;

/// An accrual function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accrual {
    Linear(Linear),
    Stepped(Stepped),
}

impl Accrual {
    /// Units earned `elapsed_nanos` after the origin, modulo 2^64.
    #[inline]
    pub(crate) fn units(&self, elapsed_nanos: u64) -> u64 {
        match self {
            Accrual::Linear(linear) => linear.units(elapsed_nanos),
            Accrual::Stepped(stepped) => stepped.units(elapsed_nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_kind_accrues_as_it_does_alone() {
        let linear = Accrual::Linear(Linear::new(3, 2));
        let stepped = Stepped { gain: 5, period_nanos: 10, phase_nanos: 0 };
        let stepped = Accrual::Stepped(stepped);
        assert_eq!([linear.units(5), stepped.units(25)], [7, 10]);
    }
}
