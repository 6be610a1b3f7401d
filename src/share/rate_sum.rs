//! Sums of rates, as fractions.

use crate::config::rate::Rate;

/// A sum of rates: exact, or rounded up by less than one part in 2^60 where the exact fraction is too
/// large.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateSum {
    permits: u128,
    nanos: u128,
}

/// The fraction is kept below these, so that the product with a rate fits 128 bits.
const MOST_PERMITS: u128 = 1 << 64;
const MOST_NANOS: u128 = 1 << 62;

impl RateSum {
    pub(crate) const ZERO: RateSum = RateSum { permits: 0, nanos: 1 };

    /// Adds `count` times `rate`; the count is at most 2^32.
    pub(crate) fn plus(self, rate: Rate, count: u64) -> RateSum {
        // Below 2^64 and 2^62: the products are below 2^126, their sum below 2^127.
        let (permits, nanos) =
            reduced(u128::from(rate.permits()) * u128::from(count), rate.period_nanos().into());
        let sum = self.permits * nanos + permits * self.nanos;
        RateSum::of(sum, self.nanos * nanos)
    }

    fn of(permits: u128, nanos: u128) -> RateSum {
        let (mut permits, mut nanos) = reduced(permits, nanos);
        while nanos > 1 && (permits >= MOST_PERMITS || nanos >= MOST_NANOS) {
            (permits, nanos) = (permits.div_ceil(2), nanos / 2);
        }
        RateSum { permits: permits.min(MOST_PERMITS), nanos }
    }

    /// Returns whether the sum is above `rate`.
    pub(crate) fn exceeds(self, rate: Rate) -> bool {
        self.permits * u128::from(rate.period_nanos()) > u128::from(rate.permits()) * self.nanos
    }

    /// Returns the permits of the sum in the period of `rate`, rounded up.
    pub(crate) fn in_period_of(self, rate: Rate) -> u64 {
        let permits = (self.permits * u128::from(rate.period_nanos())).div_ceil(self.nanos);
        u64::try_from(permits).unwrap_or(u64::MAX)
    }
}

/// Returns the fraction in lowest terms.
pub(super) fn reduced(numerator: u128, denominator: u128) -> (u128, u128) {
    let (mut a, mut b) = (numerator, denominator);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (numerator / a, denominator / a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate;

    #[test]
    fn sevenths_of_a_rate_are_together_the_rate() {
        let all = rate!(1_000 / second);
        let seventh = Rate::trusted(1_000, 7_000_000_000);
        let sum = (0..7).fold(RateSum::ZERO, |sum, _| sum.plus(seventh, 1));
        assert!(!sum.exceeds(all));
        assert_eq!(sum.in_period_of(all), 1_000);
        assert!(sum.plus(rate!(1 / day), 1).exceeds(all));
        assert_eq!(sum.plus(rate!(1 / day), 1).in_period_of(all), 1_001);
    }

    #[test]
    fn a_sum_with_no_exact_fraction_is_rounded_up_and_by_little() {
        // Primes, so that the common denominator has hundreds of bits.
        let primes =
            [999_999_937_u32, 999_999_929, 999_999_893, 999_999_883, 999_999_797, 999_999_761];
        let sum = primes
            .iter()
            .fold(RateSum::ZERO, |sum, &nanos| sum.plus(Rate::trusted(100, u64::from(nanos)), 10));
        let exact: f64 = primes.iter().map(|&nanos| 1e15 / f64::from(nanos)).sum();
        let all = Rate::trusted(1 << 32, 1_000_000_000_000);
        assert_eq!(sum.in_period_of(all), exact.ceil() as u64);
    }

    #[test]
    fn the_largest_sums_are_above_every_rate() {
        let fastest = Rate::trusted(1 << 32, 2_000_000_000);
        let slowest = Rate::trusted(1, Rate::MAX_PERIOD.as_nanos() as u64);
        let sum = (0..64).fold(RateSum::ZERO, |sum, _| sum.plus(fastest, 1 << 32));
        assert!(sum.exceeds(fastest) && sum.exceeds(slowest));
        assert_eq!(sum.in_period_of(slowest), u64::MAX);
        let slow = (0..64).fold(RateSum::ZERO, |sum, _| sum.plus(slowest, 1));
        assert!(slow.exceeds(slowest) && !slow.exceeds(fastest));
        assert_eq!(slow.in_period_of(slowest), 64);
    }
}
