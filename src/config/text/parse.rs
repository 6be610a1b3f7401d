//! Parses rates and quotas.

use core::str::FromStr;
use core::time::Duration;

use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::config::refill::Refill;

use super::number::{Decimal, NotDecimal, whole};
use super::parse_error::ParseError;
use super::unit::nanos_per;

/// Reads a rate in the syntax of its literal; the permits may also have a decimal point, and are
/// not rounded: `33.333 / second` is `33333 / 1000 seconds`.
///
/// Parse a [`Quota`] rather than a rate if a bucket is to be made of it: a rate does not remember
/// that it was a decimal, and the default burst of this one is 33,333, that of the quota 34.
///
/// # Examples
///
/// ```
/// use sluicegate::{Rate, rate};
///
/// assert_eq!("500 / 15 minutes".parse::<Rate>()?, rate!(500 / 15 minutes));
/// assert_eq!("0.5/second".parse::<Rate>()?, rate!(1 / 2 seconds));
///
/// let error = "5 / fortnight".parse::<Rate>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "period is \"fortnight\": must be ns, us, ms, second, minute, hour or day, \
///      or a number of them, such as 15 minutes",
/// );
/// # Ok::<(), sluicegate::ParseError>(())
/// ```
impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Rate, ParseError> {
        Ok(text.parse::<WrittenRate>()?.rate)
    }
}

/// A rate, and the burst of a quota that says nothing else of it than this rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenRate {
    pub(super) rate: Rate,
    /// The permits as they were written, rounded up. The rate's own are more if those were a decimal.
    burst: u64,
}

impl WrittenRate {
    /// Returns the rate of `permits` in each `period`, exactly.
    pub(super) fn new(permits: Decimal, period: Duration) -> Result<WrittenRate, ParseError> {
        let period_nanos = period.as_nanos() * u128::from(permits.scale);
        match Rate::new(permits.digits, crate::time::units::duration(period_nanos)) {
            Ok(rate) => Ok(WrittenRate { rate, burst: permits.ceiling() }),
            Err(error) if permits.scale == 1 => Err(error.into()),
            Err(error) => Err(ParseError::decimal(permits, period, error)),
        }
    }
}

impl From<Rate> for WrittenRate {
    fn from(rate: Rate) -> WrittenRate {
        WrittenRate { rate, burst: rate.permits() }
    }
}

impl FromStr for WrittenRate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<WrittenRate, ParseError> {
        let Some((permits, period)) = text.split_once('/') else {
            return Err(ParseError::value("rate", text));
        };
        let permits = permits_of(permits)?;
        WrittenRate::new(permits, period_of(period)?)
    }
}

/// Reads the permits of a rate, with or without a decimal point.
pub(super) fn permits_of(text: &str) -> Result<Decimal, ParseError> {
    Decimal::of(text).map_err(|reason| match reason {
        NotDecimal::NotANumber => ParseError::value("permits", text),
        NotDecimal::TooManyDigits => ParseError::digits(text),
    })
}

/// Reads a quota in the syntax of its literal; the permits may also have a decimal point. Without a
/// `burst`, it is the permits as written, rounded up to a whole number: 3 for `2.5 / second`.
///
/// # Examples
///
/// ```
/// use sluicegate::{Quota, Refill, quota};
///
/// let quota: Quota = "500 / 15 minutes, burst 50".parse()?;
/// assert_eq!(quota, quota!(500 / 15 minutes, burst 50));
/// assert_eq!(quota.to_string(), "500 / 15 minutes, burst 50");
///
/// let stepped: Quota = "1_000 / hour, refill interval".parse()?;
/// assert_eq!(stepped.refill(), Refill::Interval);
///
/// let decimal: Quota = "2.5 / second".parse()?;
/// assert_eq!(decimal, quota!(5 / 2 seconds, burst 3));
///
/// let error = "5 / second, burst 0".parse::<Quota>().unwrap_err();
/// assert_eq!(error.to_string(), "burst is 0: must be from 1 to 2^32");
/// # Ok::<(), sluicegate::ParseError>(())
/// ```
impl FromStr for Quota {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Quota, ParseError> {
        let mut parts = text.split(',');
        let rate: WrittenRate = parts.next().unwrap_or(text).parse()?;
        let mut given = Parts::default();
        for part in parts {
            given.read(part)?;
        }
        given.quota(rate)
    }
}

/// Reads `smooth` or `interval`.
impl FromStr for Refill {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Refill, ParseError> {
        match text.trim() {
            "smooth" => Ok(Refill::Smooth),
            "interval" => Ok(Refill::Interval),
            _ => Err(ParseError::value("refill", text)),
        }
    }
}

/// The parts that are given after a quota's rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub(super) burst: Option<u64>,
    pub(super) refill: Option<Refill>,
    pub(super) max_debt: Option<u64>,
}

impl Parts {
    fn read(&mut self, part: &str) -> Result<(), ParseError> {
        let part = part.trim();
        let (name, value) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let count = |name| whole(value).ok_or_else(|| ParseError::value(name, value));
        let (name, is_second) = match name {
            "burst" => ("burst", self.burst.replace(count("burst")?).is_some()),
            "refill" => ("refill", self.refill.replace(value.parse()?).is_some()),
            "max_debt" => ("max_debt", self.max_debt.replace(count("max_debt")?).is_some()),
            _ => return Err(ParseError::part(part)),
        };
        if is_second { Err(ParseError::twice(name)) } else { Ok(()) }
    }

    /// Returns the quota of `rate` with these parts.
    pub(super) fn quota(self, written: WrittenRate) -> Result<Quota, ParseError> {
        let mut quota = Quota::new(written.rate).with_burst(self.burst.unwrap_or(written.burst))?;
        if let Some(refill) = self.refill {
            quota = quota.with_refill(refill);
        }
        if let Some(max_debt) = self.max_debt {
            quota = quota.with_max_debt(max_debt)?;
        }
        Ok(quota)
    }
}

/// Reads a period such as `15 minutes` or `hour`, at most the longest that fits.
pub(super) fn period_of(text: &str) -> Result<Duration, ParseError> {
    let text = text.trim();
    let end = text.find(|digit: char| !digit.is_ascii_digit() && digit != '_');
    let (count, unit) = text.split_at(end.unwrap_or(text.len()));
    let count = if count.is_empty() { Some(1) } else { whole(count) };
    match (count, nanos_per(unit.trim_start())) {
        (Some(count), Some(nanos)) => Ok(Duration::from_nanos(count.saturating_mul(nanos))),
        _ => Err(ParseError::value("period", text)),
    }
}
