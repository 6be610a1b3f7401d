//! Rates: permits per period.

use core::fmt;
use core::time::Duration;

use crate::time::units;
use crate::time::units::{
    MAX_PERIOD_NANOS, NANOS_PER_DAY, NANOS_PER_HOUR, NANOS_PER_MINUTE, NANOS_PER_SECOND,
};

use super::error::ConfigError;
use super::text::quoted::Quoted;

/// Permits per period.
///
/// Holds the two numbers that it was made from, so nothing is rounded: a limiter accrues exactly
/// `permits` tokens in every `period`, for a hundred years.
///
/// Write a literal with [`rate!`](crate::rate), which checks it at compile time. `parse` reads the
/// same syntax, and `to_string` writes it.
///
/// # Range
///
/// | | least | most |
/// |---|---|---|
/// | permits of a period | 1 | 2^32 |
/// | period | 1 ns | 100 years of 365.25 days |
/// | rate | 1 permit in 100 years | 2^31 permits a second |
///
/// 2^31 permits a second is 17 Gbit/s if a permit is a byte. Above that, count in larger units, and
/// round each request up to whole units:
///
/// ```
/// use sluicegate::{ManualClock, TokenBucket, quota};
///
/// // 100 Gbit/s are 12.5 billion bytes a second. A permit is 64 bytes, and the burst 1 MiB.
/// const UNIT_BYTES: u64 = 64;
/// let clock = ManualClock::new();
/// let link = TokenBucket::with_clock(quota!(195_312_500 / second, burst 16_384), &clock);
///
/// let packet_bytes = 1_500_u64;
/// let grant = link.try_acquire(packet_bytes.div_ceil(UNIT_BYTES))?;
/// assert_eq!(grant.remaining() * UNIT_BYTES, 1_048_576 - 1_536);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Rate, rate};
///
/// assert_eq!(Rate::per_second(100)?, rate!(100 / second));
/// assert_eq!(Rate::new(500, Duration::from_secs(900))?, rate!(500 / 15 minutes));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    permits: u64,
    period_nanos: u64,
}

impl Rate {
    /// The largest number of permits in one period.
    pub const MAX_PERMITS: u64 = 1 << 32;

    /// The longest period: 100 Julian years.
    pub const MAX_PERIOD: Duration = Duration::from_nanos(MAX_PERIOD_NANOS);

    /// The highest rate, in permits per second: 17 Gbit/s if a permit is a byte.
    pub const MAX_PER_SECOND: u64 = 1 << 31;

    /// Creates a rate of `permits` per `period`.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Permits`], [`ConfigError::Period`] or [`ConfigError::TooFast`] if the
    /// permits, the period or the rate is out of range; each names the value and the range.
    pub const fn new(permits: u64, period: Duration) -> Result<Rate, ConfigError> {
        if permits == 0 || permits > Self::MAX_PERMITS {
            return Err(ConfigError::Permits { permits });
        }
        let period_nanos = units::nanos(period);
        if period_nanos == 0 || period_nanos > MAX_PERIOD_NANOS {
            return Err(ConfigError::Period { period });
        }
        // permits / period_nanos <= MAX_PER_SECOND / NANOS_PER_SECOND, cross-multiplied.
        if permits as u128 * NANOS_PER_SECOND as u128
            > Self::MAX_PER_SECOND as u128 * period_nanos as u128
        {
            return Err(ConfigError::TooFast { permits, period });
        }
        Ok(Rate { permits, period_nanos })
    }

    /// Creates a rate of `permits` per second.
    ///
    /// # Errors
    ///
    /// As for [`new`](Rate::new).
    pub const fn per_second(permits: u64) -> Result<Rate, ConfigError> {
        Rate::new(permits, Duration::from_nanos(NANOS_PER_SECOND))
    }

    /// Creates a rate of `permits` per minute.
    ///
    /// # Errors
    ///
    /// As for [`new`](Rate::new).
    pub const fn per_minute(permits: u64) -> Result<Rate, ConfigError> {
        Rate::new(permits, Duration::from_nanos(NANOS_PER_MINUTE))
    }

    /// Creates a rate of `permits` per hour.
    ///
    /// # Errors
    ///
    /// As for [`new`](Rate::new).
    pub const fn per_hour(permits: u64) -> Result<Rate, ConfigError> {
        Rate::new(permits, Duration::from_nanos(NANOS_PER_HOUR))
    }

    /// Creates a rate of `permits` per day of 24 hours.
    ///
    /// # Errors
    ///
    /// As for [`new`](Rate::new).
    pub const fn per_day(permits: u64) -> Result<Rate, ConfigError> {
        Rate::new(permits, Duration::from_nanos(NANOS_PER_DAY))
    }

    /// Creates a rate of one permit per `interval`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Rate::new).
    pub const fn every(interval: Duration) -> Result<Rate, ConfigError> {
        Rate::new(1, interval)
    }

    /// Returns the permits of one period.
    #[must_use]
    pub const fn permits(self) -> u64 {
        self.permits
    }

    /// Returns the length of the period.
    #[must_use]
    pub const fn period(self) -> Duration {
        Duration::from_nanos(self.period_nanos)
    }

    pub(crate) const fn period_nanos(self) -> u64 {
        self.period_nanos
    }

    /// Creates a rate from numbers that have been checked.
    pub(crate) const fn trusted(permits: u64, period_nanos: u64) -> Rate {
        Rate { permits, period_nanos }
    }
}

/// Shows the rate in the syntax of its literal, in quotes: `"500 / 15 minutes"`.
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Quoted(self), f)
    }
}

// The rules of `ConfigError` are prose; this keeps them true.
const _: () = assert!(Rate::MAX_PERMITS == 1 << 32 && Rate::MAX_PER_SECOND == 1 << 31);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate;

    #[test]
    fn every_limit_is_allowed_and_one_beyond_it_is_named() {
        let second = Duration::from_secs(1);
        assert!(Rate::new(1, second).is_ok());
        assert!(Rate::per_second(Rate::MAX_PER_SECOND).is_ok());
        assert!(Rate::per_minute(Rate::MAX_PERMITS).is_ok());
        assert!(Rate::new(1, Rate::MAX_PERIOD).is_ok());
        assert!(Rate::new(2, Duration::from_nanos(1)).is_ok());
        // Products that wrap in 64 bits.
        assert!(Rate::new(1, Duration::from_nanos(1 << 33)).is_ok());
        assert!(Rate::new(3, Duration::from_nanos((1 << 33) + 1)).is_ok());

        let refused = [
            (0, second, "permits is 0: must be from 1 to 2^32"),
            (1 + (1 << 32), second, "permits is 4294967297: must be from 1 to 2^32"),
            (1, Duration::ZERO, "period is 0ns: must be from 1 ns to 100 years"),
            (1, Rate::MAX_PERIOD + second, "period is 3155760001s: must be from 1 ns to 100 years"),
            (
                1 + (1 << 31),
                second,
                "rate is 2147483649 per 1s: must be at most 2^31 permits per second",
            ),
        ];
        for (permits, period, text) in refused {
            assert_eq!(Rate::new(permits, period).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn literals_say_what_they_mean() {
        assert_eq!(rate!(100 / second), Rate::per_second(100).unwrap());
        assert_eq!(rate!(500 / 15 minutes), Rate::new(500, Duration::from_secs(900)).unwrap());
        assert_eq!(rate!(1 / 250 ms), Rate::every(Duration::from_millis(250)).unwrap());
        assert_eq!(rate!(7 / day), Rate::per_day(7).unwrap());
    }

    #[test]
    fn every_unit_is_as_long_as_it_says() {
        let seconds = |rate: Result<Rate, ConfigError>| rate.unwrap().period().as_secs();
        let named = [Rate::per_second(7), Rate::per_minute(7), Rate::per_hour(7), Rate::per_day(7)];
        assert_eq!(named.map(seconds), [1, 60, 3_600, 86_400]);
        assert!(named.iter().all(|rate| rate.unwrap().permits() == 7));
        let literals = [rate!(1 / 9 ns), rate!(1 / us), rate!(1 / ms), rate!(1 / hour)];
        assert_eq!(literals.map(Rate::period_nanos), [9, 1_000, 1_000_000, 3_600_000_000_000]);
    }
}
