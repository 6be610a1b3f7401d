//! Spans of time.

use std::time::Duration;

use super::protocol::envoy::service::ratelimit::v3::rate_limit_response::rate_limit;
use super::protocol::envoy::r#type::v3::RateLimitUnit;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second = 1,
    Minute = 2,
    Hour = 3,
    Day = 4,
    /// 30 days, as envoyproxy/ratelimit counts.
    Month = 5,
    /// 365 days.
    Year = 6,
    Week = 7,
}

impl Unit {
    pub(super) const NAMES: &str = "second, minute, hour, day, week, month or year";

    /// Returns the unit of that name, whose case makes no difference.
    pub(super) fn from_name(name: &str) -> Option<Unit> {
        let number = rate_limit::Unit::from_str_name(&name.to_ascii_uppercase())?;
        Unit::from_number(number as i32)
    }

    /// Returns the unit of that number in the protocol; `None` for the one that is not known.
    pub(super) fn from_number(number: i32) -> Option<Unit> {
        Some(match RateLimitUnit::try_from(number).ok()? {
            RateLimitUnit::Unknown => return None,
            RateLimitUnit::Second => Unit::Second,
            RateLimitUnit::Minute => Unit::Minute,
            RateLimitUnit::Hour => Unit::Hour,
            RateLimitUnit::Day => Unit::Day,
            RateLimitUnit::Month => Unit::Month,
            RateLimitUnit::Year => Unit::Year,
            RateLimitUnit::Week => Unit::Week,
        })
    }

    pub(super) fn number(self) -> i32 {
        self as i32
    }

    fn seconds(self) -> u64 {
        const HOUR: u64 = 3_600;
        const DAY: u64 = 24 * HOUR;
        match self {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => HOUR,
            Unit::Day => DAY,
            Unit::Week => 7 * DAY,
            Unit::Month => 30 * DAY,
            Unit::Year => 365 * DAY,
        }
    }
}

/// The span of time of a limit: so many units. All windows begin at a multiple of it since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    unit: Unit,
    multiplier: u32,
}

impl Span {
    /// 100 years, the longest window.
    const MAX_SECONDS: u64 = 36_525 * 86_400;

    /// Returns a span of so many units; `None` for none of them, or too many.
    pub(super) fn new(unit: Unit, multiplier: u32) -> Option<Span> {
        (1..=Span::max_multiplier(unit)).contains(&multiplier).then_some(Span { unit, multiplier })
    }

    /// Returns the most units of a span.
    pub(super) fn max_multiplier(unit: Unit) -> u32 {
        u32::try_from(Span::MAX_SECONDS / unit.seconds()).unwrap_or(u32::MAX)
    }

    pub(super) fn unit(self) -> Unit {
        self.unit
    }

    pub(super) fn seconds(self) -> u64 {
        self.unit.seconds() * u64::from(self.multiplier)
    }

    pub(super) fn length(self) -> Duration {
        Duration::from_secs(self.seconds())
    }

    /// Returns the most requests that can be a limit: two in a nanosecond, or all that the protocol can say.
    pub(super) fn max_requests(self) -> u32 {
        max_requests(self.seconds())
    }
}

/// Returns the most requests of a window of so many seconds.
pub(super) fn max_requests(seconds: u64) -> u32 {
    if seconds == 1 { 1 << 31 } else { u32::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_its_name_and_its_number() {
        let names = ["second", "Minute", "HOUR", "day", "month", "year", "week"];
        for (number, name) in (1..).zip(names) {
            let unit = Unit::from_name(name).unwrap();
            assert_eq!((unit.number(), Unit::from_number(number)), (number, Some(unit)), "{name}");
        }
        for wrong in ["", "unknown", "seconds", "millisecond", " day"] {
            assert_eq!(Unit::from_name(wrong), None, "{wrong:?}");
        }
        for wrong in [-1, 0, 8, i32::MAX] {
            assert_eq!(Unit::from_number(wrong), None, "{wrong}");
        }
    }
}
