//! Quotas: a rate and a burst.

use core::fmt;
use core::hash::{Hash, Hasher};

use super::error::ConfigError;
use super::rate::Rate;
use super::refill::Refill;
use super::text::quoted::Quoted;

/// The quota that a bucket enforces: a [`Rate`], and the burst that may be admitted at one instant.
///
/// Write a literal with [`quota!`](crate::quota), which checks it at compile time. `parse` reads
/// the same syntax, and `to_string` writes it.
///
/// | part | default | range |
/// |---|---|---|
/// | burst | the rate's permits | 1 to 2^32 |
/// | refill | [`Refill::Smooth`] | |
/// | debt that [`force`](crate::TokenBucket::force) may run up | the burst, at most 2^32 - 1 | 0 to 2^32 - 1 |
///
/// The rate is at most 2^31 permits a second, which is 17 Gbit/s if a permit is a byte, and the
/// burst 4 GiB then. Above that, count in larger units: [`Rate`] has an example.
///
/// A bare [`Rate`] stands for a quota whose burst is one period's permits: all constructors that take
/// a quota take a rate. How many tokens a limiter starts with is no part of its quota: a limiter
/// starts full, unless [`starting_with`](crate::TokenBucket::starting_with) says otherwise.
///
/// # Examples
///
/// ```
/// use sluicegate::{Quota, Rate, Refill, quota};
///
/// let quota = Quota::new(Rate::per_second(100)?).with_burst(20)?;
/// assert_eq!(quota, quota!(100 / second, burst 20));
///
/// let api = quota!(500 / 15 minutes, burst 5_000).with_refill(Refill::Interval);
/// assert_eq!(api.burst(), 5_000);
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Quota {
    rate: Rate,
    burst: u64,
    refill: Refill,
    /// Largest debt; if `None` the burst, at most [`Quota::MAX_DEBT`].
    max_debt: Option<u64>,
}

impl Quota {
    /// The largest burst.
    pub const MAX_BURST: u64 = 1 << 32;

    /// The largest debt.
    pub const MAX_DEBT: u64 = (1 << 32) - 1;

    /// Creates a quota of `rate` with a burst of one period's permits.
    #[must_use]
    pub const fn new(rate: Rate) -> Quota {
        Quota { rate, burst: rate.permits(), refill: Refill::Smooth, max_debt: None }
    }

    /// Creates a quota of `permits` per second, all of which may be taken at once.
    ///
    /// # Errors
    ///
    /// As for [`Rate::new`].
    pub const fn per_second(permits: u64) -> Result<Quota, ConfigError> {
        Quota::of(Rate::per_second(permits))
    }

    /// Creates a quota of `permits` per minute, all of which may be taken at once.
    ///
    /// # Errors
    ///
    /// As for [`Rate::new`].
    pub const fn per_minute(permits: u64) -> Result<Quota, ConfigError> {
        Quota::of(Rate::per_minute(permits))
    }

    /// Creates a quota of `permits` per hour, all of which may be taken at once.
    ///
    /// # Errors
    ///
    /// As for [`Rate::new`].
    pub const fn per_hour(permits: u64) -> Result<Quota, ConfigError> {
        Quota::of(Rate::per_hour(permits))
    }

    /// Creates a quota of `permits` per day of 24 hours, all of which may be taken at once.
    ///
    /// # Errors
    ///
    /// As for [`Rate::new`].
    pub const fn per_day(permits: u64) -> Result<Quota, ConfigError> {
        Quota::of(Rate::per_day(permits))
    }

    /// Creates a quota of `rate` with a burst of 1: one permit at a time.
    pub(crate) const fn one_at_a_time(rate: Rate) -> Quota {
        Quota { burst: 1, ..Quota::new(rate) }
    }

    /// Creates the quota of a limiter's terms, all of which were checked before.
    pub(crate) const fn in_force(rate: Rate, burst: u64, refill: Refill, max_debt: u64) -> Quota {
        let quota = Quota { rate, burst, refill, max_debt: None };
        let is_default = quota.max_debt() == max_debt;
        Quota { max_debt: if is_default { None } else { Some(max_debt) }, ..quota }
    }

    // `Result::map` is not const.
    const fn of(rate: Result<Rate, ConfigError>) -> Result<Quota, ConfigError> {
        match rate {
            Ok(rate) => Ok(Quota::new(rate)),
            Err(error) => Err(error),
        }
    }

    /// Returns the quota with the given burst.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Burst`] unless it is from 1 to 2^32.
    pub const fn with_burst(self, burst: u64) -> Result<Quota, ConfigError> {
        if burst == 0 || burst > Self::MAX_BURST {
            return Err(ConfigError::Burst { burst });
        }
        Ok(Quota { burst, ..self })
    }

    /// Returns the quota with the given refill.
    #[must_use]
    pub const fn with_refill(self, refill: Refill) -> Quota {
        Quota { refill, ..self }
    }

    /// Returns the quota with `max_debt` tokens as the largest debt that `force` may run up.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxDebt`] if it is above 2^32 - 1.
    pub const fn with_max_debt(self, max_debt: u64) -> Result<Quota, ConfigError> {
        if max_debt > Self::MAX_DEBT {
            return Err(ConfigError::MaxDebt { max_debt });
        }
        Ok(Quota { max_debt: Some(max_debt), ..self })
    }

    /// Returns the rate.
    #[must_use]
    pub const fn rate(self) -> Rate {
        self.rate
    }

    /// Returns the largest number of permits that may be admitted at one instant.
    #[must_use]
    pub const fn burst(self) -> u64 {
        self.burst
    }

    /// Returns the way in which the tokens of a period arrive.
    #[must_use]
    pub const fn refill(self) -> Refill {
        self.refill
    }

    /// Returns the largest debt that `force` may run up, in tokens.
    #[must_use]
    pub const fn max_debt(self) -> u64 {
        match self.max_debt {
            Some(max_debt) => max_debt,
            None if self.burst > Self::MAX_DEBT => Self::MAX_DEBT,
            None => self.burst,
        }
    }
}

impl Quota {
    /// Returns all parts, with the defaults of those that were not given.
    fn parts(&self) -> (Rate, u64, Refill, u64) {
        (self.rate, self.burst, self.refill, self.max_debt())
    }
}

/// Shows the quota in the syntax of its literal, in quotes: `"500 / 15 minutes, burst 50"`.
impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Quoted(self), f)
    }
}

impl PartialEq for Quota {
    fn eq(&self, other: &Quota) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Quota {}

impl Hash for Quota {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// A bare rate is a quota whose burst is one period's permits, as for [`Quota::new`].
///
/// So every constructor that takes a quota takes a rate too. Mind the burst: `6_000 / minute` admits
/// 6,000 at one instant, `100 / second`, which is the same rate, only 100.
impl From<Rate> for Quota {
    fn from(rate: Rate) -> Quota {
        Quota::new(rate)
    }
}

// The rules of `ConfigError` are prose; this keeps them true.
const _: () = assert!(Quota::MAX_BURST == 1 << 32 && Quota::MAX_DEBT == (1 << 32) - 1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota;
    use crate::rate;

    #[test]
    fn the_parts_left_out_follow_the_burst() {
        let quota = quota!(100 / second);
        assert_eq!((quota.burst(), quota.max_debt()), (100, 100));
        let quota = quota.with_burst(7).unwrap();
        assert_eq!((quota.burst(), quota.max_debt()), (7, 7));
        let widest = Quota::new(rate!(4_294_967_296 / minute));
        assert_eq!((widest.burst(), widest.max_debt()), (1 << 32, (1 << 32) - 1));
    }

    #[test]
    fn a_rate_alone_is_a_quota_whose_burst_is_that_of_a_period() {
        let rate = rate!(100 / 3 minutes);
        assert_eq!(Quota::from(rate), Quota::new(rate));
        assert_eq!(Quota::from(rate).burst(), 100);
    }

    #[test]
    fn a_quota_of_one_at_a_time_has_a_burst_of_one_whatever_the_rate() {
        let quota = Quota::one_at_a_time(rate!(100 / 3 minutes));
        assert_eq!(quota.rate(), rate!(100 / 3 minutes));
        assert_eq!((quota.burst(), quota.max_debt()), (1, 1));
    }

    #[test]
    fn every_part_out_of_range_is_named() {
        let quota = quota!(10 / second);
        let refused = [
            (quota.with_burst(0), "burst is 0: must be from 1 to 2^32"),
            (quota.with_burst(1 + (1 << 32)), "burst is 4294967297: must be from 1 to 2^32"),
            (quota.with_max_debt(1 << 32), "max_debt is 4294967296: must be from 0 to 2^32 - 1"),
        ];
        for (quota, text) in refused {
            assert_eq!(quota.unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn quotas_are_equal_if_all_their_parts_are_given_or_not() {
        let hash_of = |quota: Quota| {
            let mut state = std::hash::DefaultHasher::new();
            quota.hash(&mut state);
            state.finish()
        };
        let quota = quota!(10 / second);
        let given = quota.with_max_debt(10).unwrap();
        assert_eq!((quota, hash_of(quota)), (given, hash_of(given)));
        let others = [
            quota!(10 / minute),
            quota!(11 / second, burst 10),
            quota.with_burst(9).unwrap(),
            quota.with_refill(Refill::Interval),
            quota.with_max_debt(9).unwrap(),
        ];
        for other in others {
            assert_ne!(quota, other);
            assert_ne!(hash_of(quota), hash_of(other));
        }
    }

    #[test]
    fn a_part_that_was_given_stays_when_another_is() {
        let quota = quota!(10 / second).with_refill(Refill::Interval).with_max_debt(5).unwrap();
        for burst in [1, 5, 6, 10, 11] {
            let quota = quota.with_burst(burst).unwrap();
            assert_eq!((quota.burst(), quota.max_debt()), (burst, 5));
            assert_eq!((quota.rate(), quota.refill()), (rate!(10 / second), Refill::Interval));
        }
        assert!(quota.with_burst(Quota::MAX_BURST).is_ok());
        assert!(quota.with_max_debt(Quota::MAX_DEBT).is_ok());
    }

    #[test]
    fn a_debt_in_force_follows_the_burst_if_it_is_that_of_the_burst() {
        let after = |max_debt| {
            let quota = Quota::in_force(rate!(10 / second), 20, Refill::Smooth, max_debt);
            assert_eq!(quota.max_debt(), max_debt);
            quota.with_burst(7).unwrap().max_debt()
        };
        assert_eq!([after(20), after(19), after(0)], [7, 19, 0]);
    }
}
