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
//! 4 * warm_up * permits < 2^81`, the divisor is less than 2^125, and `x^2` needs [`wide`](super::wide).

use crate::config::rate::Rate;

use super::wide::mul_div;

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
        let (permits, period) = (rate.permits(), rate.period_nanos());
        let divisor = greatest_common_divisor(permits, period);
        let (permits, period) = ((permits / divisor).into(), (period / divisor).into());
        Curve { rate, warm_up_nanos, cold_factor, permits, period }
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
        if above == above_after || self.cold_factor == 1 {
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
        (stored * self.permits).div_ceil(other.permits).min(self.full())
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
