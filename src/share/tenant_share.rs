//! The share of a tenant: its assured quota, its ceiling, and the number of tenants that have it.

use alloc::vec::Vec;

use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::config::refill::Refill;
use crate::time::units::{MAX_PERIOD_NANOS, NANOS_PER_MINUTE};

use super::rate_sum::{RateSum, reduced};

/// The share of each tenant of a group: an assured quota, and a ceiling if there is to be one.
///
/// | part | default | range |
/// |---|---|---|
/// | assured rate and burst | | at most the quota for all, all tenants together |
/// | ceiling | none: all that is idle can be borrowed | at least the assured rate and burst |
/// | tenants | 1 | 1 to 2^32 |
///
/// All refill is smooth, and the debt that a quota names does not matter.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::share::Share;
///
/// // Each of up to 50 tenants has 10 a second for sure, and never more than 100 a second.
/// let free = Share::new(quota!(10 / second, burst 2))
///     .with_tenants(50)
///     .with_ceiling(quota!(100 / second, burst 20));
/// assert_eq!(free.tenants(), 50);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    assured: Quota,
    ceiling: Option<Quota>,
    tenants: usize,
}

/// Least number of ceilings that are remembered beside those of tenants with places.
const LEAST_BORROWERS: usize = 1_000;

impl Share {
    /// Largest number of tenants of a group: 2^32.
    pub const MAX_TENANTS: u64 = 1 << 32;

    /// Creates the share of one tenant, without a ceiling. A bare rate has a burst of one period's
    /// permits.
    #[must_use]
    pub fn new(assured: impl Into<Quota>) -> Share {
        Share { assured: assured.into(), ceiling: None, tenants: 1 }
    }

    /// Returns this share for each of `tenants`: as many as can have it at a time.
    #[must_use]
    pub fn with_tenants(self, tenants: usize) -> Share {
        Share { tenants, ..self }
    }

    /// Returns the share with a ceiling on all that each tenant gets, assured and borrowed.
    ///
    /// A ceiling is remembered until it is full again, for [`max_ceilings`](Share::max_ceilings) tenants at most. It takes
    /// memory as a place does: 50 bytes at most for a name of 8 bytes, and 87 for a `String`, beside its text. If none of
    /// those that are remembered is full, a tenant without a place can borrow nothing; one with a place borrows up to its
    /// ceiling, and that of another tenant, which lacks little, is forgotten.
    #[must_use]
    pub fn with_ceiling(self, ceiling: impl Into<Quota>) -> Share {
        Share { ceiling: Some(ceiling.into()), ..self }
    }

    /// Divides `quota` by weights: makes a share of each pair of a weight and the number of tenants that
    /// have it each.
    ///
    /// The whole rate is assured, and half of the burst; the other half is there to be lent. A burst is
    /// rounded down to whole permits, a rate only if its permits or its period would be out of range. For other
    /// divisions there is [`Share::new`].
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Weight`] if a weight is 0, or worth less than a permit of half of the burst.
    /// * [`ConfigError::Tenants`] if a number of tenants is not from 1 to 2^32.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::quota;
    /// use sluicegate::share::Share;
    ///
    /// // One tenant of weight 5, and five of weight 1.
    /// let shares = Share::by_weight(quota!(1_000 / second, burst 200), [(5, 1), (1, 5)])?;
    /// assert_eq!(shares[0].assured(), quota!(500 / second, burst 50));
    /// assert_eq!(shares[1].assured(), quota!(100 / second, burst 10));
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn by_weight(
        quota: impl Into<Quota>,
        weights: impl IntoIterator<Item = (u32, usize)>,
    ) -> Result<Vec<Share>, ConfigError> {
        let quota = quota.into();
        let weights: Vec<(u32, usize)> = weights.into_iter().collect();
        let mut sum = 0_u128;
        for &(weight, tenants) in &weights {
            check_tenants(tenants)?;
            sum = sum.saturating_add(u128::from(weight) * tenants as u128);
        }
        let part = |(group, (weight, tenants)): (usize, (u32, usize))| {
            let too_small = ConfigError::Weight {
                group,
                weight: weight.into(),
                sum: u64::try_from(sum).unwrap_or(u64::MAX),
            };
            if weight == 0 {
                return Err(too_small);
            }
            let burst = u128::from(quota.burst() / 2) * u128::from(weight) / sum;
            let rate = part_of(quota.rate(), weight, sum).ok_or(too_small)?;
            let assured = Quota::new(rate).with_burst(burst as u64).map_err(|_| too_small)?;
            Ok(Share::new(assured).with_tenants(tenants))
        };
        weights.into_iter().enumerate().map(part).collect()
    }

    /// Returns the assured quota of each tenant.
    #[must_use]
    pub const fn assured(self) -> Quota {
        self.assured
    }

    /// Returns the ceiling on all that each tenant gets, or `None` if there is none.
    #[must_use]
    pub const fn ceiling(self) -> Option<Quota> {
        self.ceiling
    }

    /// Returns how many tenants can have this share at a time.
    #[must_use]
    pub const fn tenants(self) -> usize {
        self.tenants
    }

    /// Returns how many tenants of the group have a ceiling that is remembered, at a time: as many as there are places, and
    /// as many again, or 1,000 if that is more.
    #[must_use]
    pub const fn max_ceilings(self) -> usize {
        let more = if self.tenants > LEAST_BORROWERS { self.tenants } else { LEAST_BORROWERS };
        self.tenants.saturating_add(more)
    }

    /// Returns the sum of the bursts that are assured to all tenants, which are never lent; at most `u64::MAX`.
    #[must_use]
    pub fn sum_of_bursts<'s>(shares: impl IntoIterator<Item = &'s Share>) -> u64 {
        let of_group = |share: &Share| share.assured.burst().saturating_mul(share.tenants as u64);
        shares.into_iter().map(of_group).fold(0, u64::saturating_add)
    }

    /// Returns this share with the lower of both rates and the smaller of both bursts.
    pub(super) fn lowered_to(self, other: Quota) -> Share {
        let rates = (self.assured.rate(), other.rate());
        let rate = if is_below(rates.1, rates.0) { rates.1 } else { rates.0 };
        let burst = self.assured.burst().min(other.burst());
        // Both bursts are in range.
        let assured = Quota::new(rate).with_burst(burst).unwrap_or(self.assured);
        Share { assured, ..self }
    }

    /// Checks this share alone, that of `group`.
    fn check(self, group: usize) -> Result<(), ConfigError> {
        check_tenants(self.tenants)?;
        check_refill(self.assured)?;
        let Some(ceiling) = self.ceiling else { return Ok(()) };
        check_refill(ceiling)?;
        let (rate, burst) = (ceiling.rate(), ceiling.burst());
        let own = self.assured.rate();
        if is_below(rate, own) {
            return Err(ConfigError::CeilingRate {
                group,
                permits: rate.permits(),
                period: rate.period(),
                assured: own.permits(),
                assured_period: own.period(),
            });
        }
        if burst < self.assured.burst() {
            return Err(ConfigError::CeilingBurst { group, burst, assured: self.assured.burst() });
        }
        Ok(())
    }
}

/// Checks that `quota` covers `shares`. Returns the sum of all assured bursts.
pub(super) fn check(quota: Quota, shares: &[Share]) -> Result<u64, ConfigError> {
    if !(1..=64).contains(&shares.len()) {
        return Err(ConfigError::Count { count: shares.len() });
    }
    check_refill(quota)?;
    let mut rates = RateSum::ZERO;
    for (group, share) in shares.iter().enumerate() {
        share.check(group)?;
        rates = rates.plus(share.assured.rate(), share.tenants as u64);
    }
    let rate = quota.rate();
    if rates.exceeds(rate) {
        let (permits, period) = (rate.permits(), rate.period());
        return Err(ConfigError::AssuredRate { sum: rates.in_period_of(rate), permits, period });
    }
    let sum = Share::sum_of_bursts(shares);
    if sum > quota.burst() {
        return Err(ConfigError::AssuredBurst { sum, burst: quota.burst() });
    }
    Ok(sum)
}

/// Returns `quota` with space for the debt of calls that overlap: as much as a minute earns.
pub(super) fn indebted(quota: Quota) -> Quota {
    let rate = quota.rate();
    let of_a_minute = (u128::from(rate.permits()) * u128::from(NANOS_PER_MINUTE))
        .div_ceil(u128::from(rate.period_nanos()));
    let max_debt = of_a_minute.min(Quota::MAX_DEBT.into()) as u64;
    // Never out of range.
    quota.with_max_debt(max_debt).unwrap_or(quota)
}

fn check_tenants(tenants: usize) -> Result<(), ConfigError> {
    match tenants as u64 {
        1..=Share::MAX_TENANTS => Ok(()),
        _ => Err(ConfigError::Tenants { tenants }),
    }
}

fn check_refill(quota: Quota) -> Result<(), ConfigError> {
    match quota.refill() {
        Refill::Smooth => Ok(()),
        refill @ Refill::Interval => Err(ConfigError::ShareRefill { refill }),
    }
}

/// Returns whether `one` is a lower rate than `other`.
fn is_below(one: Rate, other: Rate) -> bool {
    let product =
        |one: Rate, other: Rate| u128::from(one.permits()) * u128::from(other.period_nanos());
    product(one, other) < product(other, one)
}

/// Returns the largest rate that is at most `weight / sum` of `rate`, near enough; `None` if that is less
/// than the lowest.
fn part_of(rate: Rate, weight: u32, sum: u128) -> Option<Rate> {
    let (weight, sum) = reduced(weight.into(), sum);
    let permits = u128::from(rate.permits()) * weight;
    if permits % sum == 0 {
        // In the period of the whole rate, as a person would write it.
        return Some(Rate::trusted((permits / sum) as u64, rate.period_nanos()));
    }
    // Both fit: a weight has 32 bits, a sum of weights at most 103, a period 62, and permits 33. A product
    // that does not fit is a part that is too small.
    let nanos = u128::from(rate.period_nanos()).checked_mul(sum)?;
    let (permits, nanos) = reduced(permits, nanos);
    let scale = permits
        .div_ceil(Rate::MAX_PERMITS.into())
        .max(nanos.div_ceil(MAX_PERIOD_NANOS.into()))
        .max(1);
    let (permits, nanos) = (permits / scale, nanos.div_ceil(scale));
    let permits = u64::try_from(permits).ok().filter(|&permits| permits > 0)?;
    Some(Rate::trusted(permits, u64::try_from(nanos).ok()?))
}

#[cfg(test)]
mod tests;
