//! The cost of permits, by how many are stored. Exact; no lock here, and no clock.
//!
//! ```text
//! interval
//!    cold |                  /      stable     period / permits of the rate
//!         |                /        cold       cold factor x stable
//!         |              /          threshold  warm_up / (2 x stable)
//!  stable |------------/            full       threshold + 2 x warm_up / (stable + cold)
//!         +------------|-----|
//!         0    threshold    full    stored permits
//! ```
//!
//! To take permits moves to the left, and costs the area that is passed over. So it takes `warm_up`
//! to get from `full` to the threshold, and half of that from there to 0. Permits beyond those that
//! are stored cost `stable` each. Idle time moves to the right, from 0 to `full` in `warm_up`.
//!
//! **Units.** With the rate in lowest terms as `permits` per `period` nanoseconds and a cold factor
//! `c`, stored permits are counted in units of which a nanosecond of idleness earns `permits * (c +
//! 5)` and a permit takes `2 * period * (c + 1)`. Both are whole numbers, so are
//!
//! ```text
//! threshold = warm_up * permits * (c + 1)        full = warm_up * permits * (c + 5)
//! ```
//!
//! and what is stored is exact for ever. An area is `stable` for each permit, and `extra(from) -
//! extra(to)` on top, where with `x` the units above the threshold
//!
//! ```text
//! extra = (c - 1) * x^2 / (16 * (c + 1) * warm_up * permits^2)   nanoseconds
//! ```
//!
//! **Range.** `permits <= 2^32`, `period < 2^61.5`, `warm_up < 2^46.3` and `c < 2^10`. Hence `x <=
//! 4 * warm_up * permits < 2^81`, the divisor is less than 2^125, and `x^2` needs [`wide`](crate::wide).

use sluicegate::Rate;

use crate::units::nanos;
use crate::wide::{greatest_common_divisor, mul_div};

/// The rate, and the way to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    pub(super) rate: Rate,
    pub(super) warm_up_nanos: u64,
    pub(super) cold_factor: u32,
    /// The rate in lowest terms.
    permits: u128,
    period: u128,
}

/// A time in nanoseconds, of which a fraction may be left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nanos {
    pub(super) floor: u128,
    pub(super) ceil: u128,
}

impl Nanos {
    /// Returns this time after the whole nanosecond `start`.
    pub(super) fn after(self, start: u128) -> Nanos {
        Nanos { floor: start + self.floor, ceil: start + self.ceil }
    }
}

impl Curve {
    pub(super) fn new(rate: Rate, warm_up_nanos: u64, cold_factor: u32) -> Curve {
        let (permits, period) = (u128::from(rate.permits()), u128::from(nanos(rate.period())));
        let divisor = greatest_common_divisor(permits, period);
        let (permits, period) = (permits / divisor, period / divisor);
        Curve { rate, warm_up_nanos, cold_factor, permits, period }
    }

    /// Returns true if permits cost the same by both, and units are the same. The numbers of the rate
    /// may be others.
    pub(super) fn is_same(&self, other: &Curve) -> bool {
        let terms = |curve: &Curve| (curve.warm_up_nanos, curve.cold_factor);
        (self.permits, self.period) == (other.permits, other.period) && terms(self) == terms(other)
    }

    fn cold(&self) -> u128 {
        self.cold_factor.into()
    }

    /// Returns the units that a nanosecond of idleness earns.
    fn per_nano(&self) -> u128 {
        self.permits * (self.cold() + 5)
    }

    /// Returns the units of one permit.
    fn per_permit(&self) -> u128 {
        2 * self.period * (self.cold() + 1)
    }

    /// Returns the units that are stored once it is cold.
    pub(super) fn full(&self) -> u128 {
        u128::from(self.warm_up_nanos) * self.per_nano()
    }

    /// Returns `stored` units in permits, rounded down.
    pub(super) fn whole_permits(&self, stored: u128) -> u128 {
        stored / self.per_permit()
    }

    /// Returns what is stored after `idle_nanos` more.
    pub(super) fn cooled(&self, stored: u128, idle_nanos: u128) -> u128 {
        self.full().min(stored + idle_nanos * self.per_nano())
    }

    /// Returns what is stored after `permits` were taken.
    pub(super) fn warmed(&self, stored: u128, permits: u128) -> u128 {
        stored.saturating_sub(permits * self.per_permit())
    }

    /// Returns the cost of `permits` where `stored` units are stored.
    pub(super) fn cost(&self, stored: u128, permits: u128) -> Nanos {
        let stable = permits * self.period;
        let whole = stable / self.permits;
        let (extra, rest, divisor) = self.extra(stored, self.warmed(stored, permits));
        // Both fractions, over one divisor: less than 2.
        let rest = stable % self.permits * (divisor / self.permits) + rest;
        Nanos {
            floor: whole + extra + rest / divisor,
            ceil: whole + extra + rest.div_ceil(divisor),
        }
    }

    /// Returns `extra(from) - extra(to)`: the whole nanoseconds, and the rest with its divisor, which
    /// is a multiple of `permits`.
    fn extra(&self, from: u128, to: u128) -> (u128, u128, u128) {
        let above = self.above_threshold(from);
        let above_after = self.above_threshold(to);
        if above == above_after {
            return (0, 0, self.permits);
        }
        // Something is above the threshold, so `warm_up_nanos` is not 0.
        let warm_up = u128::from(self.warm_up_nanos);
        let divisor = 16 * (self.cold() + 1) * warm_up * self.permits * self.permits;
        // x^2 - y^2 = (x - y) * (x + y).
        let difference = (self.cold() - 1) * (above - above_after);
        let (whole, rest) = mul_div(difference, above + above_after, divisor);
        (whole, rest, divisor)
    }

    fn above_threshold(&self, stored: u128) -> u128 {
        let threshold = u128::from(self.warm_up_nanos) * self.permits * (self.cold() + 1);
        stored.saturating_sub(threshold)
    }

    /// Returns the units of this curve for `stored` units of `other`, which are the same part of
    /// what is stored once it is cold. Rounded up. Only the rates may differ.
    pub(super) fn same_part(&self, stored: u128, other: &Curve) -> u128 {
        (stored * self.permits).div_ceil(other.permits)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluicegate::rate;

    use crate::units::{NANOS_PER_DAY, NANOS_PER_SECOND};

    use super::*;

    const SECONDS: u64 = NANOS_PER_SECOND;
    const MAX_PERIOD_NANOS: u64 = Rate::MAX_PERIOD.as_nanos() as u64;

    #[test]
    fn it_takes_the_warm_up_to_the_threshold_and_half_of_it_from_there() {
        // Two a second in four seconds: 4 permits below the threshold, and 4 above it.
        let curve = Curve::new(rate!(2 / second), 4 * SECONDS, 3);
        let full = curve.full();
        assert_eq!(curve.whole_permits(full), 8);
        let nanos = |permits| curve.cost(full, permits).ceil;
        let millis = [1, 2, 3, 4, 8, 9].map(|permits| nanos(permits) / 1_000_000);
        assert_eq!(millis, [1_375, 2_500, 3_375, 4_000, 6_000, 6_500]);
        let half_cooled = curve.cooled(0, u128::from(2 * SECONDS));
        assert_eq!(curve.whole_permits(half_cooled), 4);
        assert_eq!(curve.cooled(half_cooled, u128::from(3 * SECONDS)), full);
    }

    #[test]
    fn a_cost_is_as_many_nanoseconds_and_a_fraction() {
        let curve = Curve::new(rate!(3 / second), SECONDS, 3);
        let third = Nanos { floor: 333_333_333, ceil: 333_333_334 };
        assert_eq!(curve.cost(0, 1), third);
        assert_eq!(curve.cost(0, 3), Nanos { floor: 1_000_000_000, ceil: 1_000_000_000 });
        assert_eq!(third.after(5), Nanos { floor: 333_333_338, ceil: 333_333_339 });
        // Two fractions that are one together: 4/3 permits above the threshold cost a second more.
        let whole = curve.cost(curve.full(), 3).floor;
        assert_eq!(curve.cost(curve.full(), 3).ceil, whole);
        assert_eq!(whole, 1_500_000_000);
    }

    #[test]
    fn the_same_rate_in_other_numbers_is_the_same_curve() {
        let [one, other] =
            [rate!(2 / second), rate!(120 / minute)].map(|rate| Curve::new(rate, 4 * SECONDS, 3));
        assert!(one.is_same(&other) && !one.is_same(&Curve::new(one.rate, 5 * SECONDS, 3)));
        assert!(!one.is_same(&Curve::new(rate!(3 / second), 4 * SECONDS, 3)));
        assert_eq!(one.full(), other.full());
        assert_eq!(one.cost(one.full(), 5), other.cost(one.full(), 5));
        assert_eq!(one.same_part(12_345, &other), 12_345);
    }

    #[test]
    fn the_same_part_of_another_rate_is_rounded_up() {
        let [slow, fast] =
            [rate!(3 / second), rate!(7 / second)].map(|rate| Curve::new(rate, 4 * SECONDS, 3));
        assert_eq!(fast.same_part(slow.full(), &slow), fast.full());
        assert_eq!([0, 1, 3, 4].map(|stored| fast.same_part(stored, &slow)), [0, 3, 7, 10]);
    }

    #[test]
    fn the_largest_numbers_overflow_nothing() {
        // The largest prime below 2^32, so that nothing can be reduced.
        const PRIME: u64 = 4_294_967_291;
        let rates =
            [(PRIME, 2 * SECONDS + 11), (PRIME, MAX_PERIOD_NANOS - 1), (1, MAX_PERIOD_NANOS)];
        for (permits, period) in rates {
            let rate = Rate::new(permits, Duration::from_nanos(period)).unwrap();
            let curve = Curve::new(rate, NANOS_PER_DAY, 1_000);
            let full = curve.full();
            assert_eq!(curve.cooled(full, u64::MAX.into()), full);
            for permits in [1, 1 << 32, 1 << 35] {
                let cost = curve.cost(full, permits);
                // From 1 to `cold_factor` intervals for each, and one nanosecond of rounding.
                let stable = permits * curve.period / curve.permits;
                assert!(cost.floor >= stable && cost.ceil <= 1_000 * stable + 1_001);
                assert!(cost.ceil - cost.floor <= 1);
            }
            // All that is stored costs so much more than at the stable rate.
            let (whole, rest, divisor) = curve.extra(full, 0);
            let exact = u128::from(NANOS_PER_DAY) * 999;
            assert_eq!((whole, rest), (exact / 1_001, exact % 1_001 * (divisor / 1_001)));
        }
    }
}
