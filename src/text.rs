//! Rates and quotas as text, in the grammar of their literals.
//!
//! ```text
//! rate   = permits "/" period          100 / second      500 / 15 minutes      0.5 / hour
//! quota  = rate *( "," part )          500 / 15 minutes, burst 50, refill interval
//! period = [ count ] unit
//! unit   = ns us ms second minute hour day, or a plural of the last four
//! part   = "burst" count | "refill" ( "smooth" | "interval" )
//!        | "initial" count | "max_debt" count
//! ```
//!
//! Digits may be in groups: `5_000`. Permits may have a decimal point, and nothing is rounded:
//! `2.5 / second` is `5 / 2 seconds`.
//!
//! What is displayed is read as the same rate or quota.

mod number;
mod parse_error;
#[cfg(feature = "serde")]
mod serde;

use core::fmt;
use core::str::FromStr;

use crate::quota::{Quota, Refill};
use crate::rate::Rate;
use crate::time::{NANOS_PER_DAY, NANOS_PER_HOUR, NANOS_PER_MINUTE, NANOS_PER_SECOND};

use self::number::{Decimal, whole};
pub use self::parse_error::ParseError;

/// Each unit's name for one, its name for several, and its length in nanoseconds.
const UNITS: [(&str, &str, u64); 7] = [
    ("day", "days", NANOS_PER_DAY),
    ("hour", "hours", NANOS_PER_HOUR),
    ("minute", "minutes", NANOS_PER_MINUTE),
    ("second", "seconds", NANOS_PER_SECOND),
    ("ms", "milliseconds", 1_000_000),
    ("us", "microseconds", 1_000),
    ("ns", "nanoseconds", 1),
];

/// Displays the rate as its literal is written: `500 / 15 minutes`.
///
/// # Examples
///
/// ```
/// use sluicegate::rate;
///
/// assert_eq!(rate!(100 / second).to_string(), "100 / second");
/// assert_eq!(rate!(1 / 1500 ms).to_string(), "1 / 1500 ms");
/// ```
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.period_nanos();
        let is_whole = |(.., unit): &&(&str, &str, u64)| nanos.is_multiple_of(*unit);
        // A nanosecond divides every period.
        let &(one, several, unit) = UNITS.iter().find(is_whole).unwrap_or(&UNITS[6]);
        let is_short = unit < NANOS_PER_SECOND;
        match (nanos / unit, is_short) {
            (1, _) => write!(f, "{} / {one}", self.permits()),
            (count, true) => write!(f, "{} / {count} {one}", self.permits()),
            (count, false) => write!(f, "{} / {count} {several}", self.permits()),
        }
    }
}

/// Displays the quota as its literal is written: `500 / 15 minutes, burst 50`. Parts that are
/// as they would be anyway are left out.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Quota::new(self.rate());
        write!(f, "{}", self.rate())?;
        if self.burst() != plain.burst() {
            write!(f, ", burst {}", self.burst())?;
        }
        if self.refill() != plain.refill() {
            write!(f, ", refill {}", self.refill())?;
        }
        if self.initial() != self.burst() {
            write!(f, ", initial {}", self.initial())?;
        }
        if self.max_debt() != self.burst().min(Quota::MAX_DEBT) {
            write!(f, ", max_debt {}", self.max_debt())?;
        }
        Ok(())
    }
}

/// Displays the word of the quota literal: `smooth` or `interval`.
impl fmt::Display for Refill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refill::Smooth => "smooth",
            Refill::Interval => "interval",
        })
    }
}

/// Reads a rate as its literal is written; permits may have a decimal point, exactly.
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
        let Some((permits, period)) = text.split_once('/') else {
            return Err(ParseError::value("rate", text));
        };
        let Some(Decimal { digits, scale }) = Decimal::of(permits) else {
            return Err(ParseError::value("permits", permits));
        };
        let period_nanos = u128::from(period_nanos(period)?) * u128::from(scale);
        let period = crate::time::duration(period_nanos);
        Ok(Rate::new(digits, period)?)
    }
}

/// Reads a quota as its literal is written.
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
/// let error = "5 / second, burst 0".parse::<Quota>().unwrap_err();
/// assert_eq!(error.to_string(), "burst is 0: must be from 1 to 2^32");
/// # Ok::<(), sluicegate::ParseError>(())
/// ```
impl FromStr for Quota {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Quota, ParseError> {
        let mut parts = text.split(',');
        let rate: Rate = parts.next().unwrap_or(text).parse()?;
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

/// The parts of a quota that are given beside its rate.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    burst: Option<u64>,
    refill: Option<Refill>,
    initial: Option<u64>,
    max_debt: Option<u64>,
}

impl Parts {
    fn read(&mut self, part: &str) -> Result<(), ParseError> {
        let part = part.trim();
        let (name, value) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let count = |name| whole(value).ok_or_else(|| ParseError::value(name, value));
        let (name, is_second) = match name {
            "burst" => ("burst", self.burst.replace(count("burst")?).is_some()),
            "refill" => ("refill", self.refill.replace(value.parse()?).is_some()),
            "initial" => ("initial", self.initial.replace(count("initial")?).is_some()),
            "max_debt" => ("max_debt", self.max_debt.replace(count("max_debt")?).is_some()),
            _ => return Err(ParseError::part(part)),
        };
        if is_second { Err(ParseError::twice(name)) } else { Ok(()) }
    }

    fn quota(self, rate: Rate) -> Result<Quota, ParseError> {
        let mut quota = Quota::new(rate);
        if let Some(burst) = self.burst {
            quota = quota.with_burst(burst)?;
        }
        if let Some(refill) = self.refill {
            quota = quota.with_refill(refill);
        }
        if let Some(initial) = self.initial {
            quota = quota.with_initial(initial)?;
        }
        if let Some(max_debt) = self.max_debt {
            quota = quota.with_max_debt(max_debt)?;
        }
        Ok(quota)
    }
}

/// The length of a period such as `15 minutes` or `hour`; the most that fits, if it is longer.
fn period_nanos(text: &str) -> Result<u64, ParseError> {
    let text = text.trim();
    let end = text.find(|digit: char| !digit.is_ascii_digit() && digit != '_');
    let (count, unit) = text.split_at(end.unwrap_or(text.len()));
    let is_named = |(one, several, _): &&(&str, &str, u64)| {
        let unit = unit.trim_start();
        unit == *one || unit == *several
    };
    let count = if count.is_empty() { Some(1) } else { whole(count) };
    match (count, UNITS.iter().find(is_named)) {
        (Some(count), Some((.., nanos))) => Ok(count.saturating_mul(*nanos)),
        _ => Err(ParseError::value("period", text)),
    }
}

/// A period of so many nanoseconds, as text says it.
#[cfg(feature = "serde")]
fn period(text: &str) -> Result<core::time::Duration, ParseError> {
    period_nanos(text).map(core::time::Duration::from_nanos)
}
