//! Spans of time.

use std::time::Duration;

use super::protocol::envoy::service::ratelimit::v3::rate_limit_response::rate_limit;
use super::protocol::envoy::r#type::v3::RateLimitUnit;

/// The span of time of a limit. All windows begin at a multiple of it since 1970.
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

    /// Returns the most requests of the unit that can be a limit: two in a nanosecond, or all that the
    /// protocol can say.
    pub(super) fn max_requests(self) -> u32 {
        if self == Unit::Second { 1 << 31 } else { u32::MAX }
    }

    pub(super) fn length(self) -> Duration {
        const HOUR: u64 = 3_600;
        const DAY: u64 = 24 * HOUR;
        Duration::from_secs(match self {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => HOUR,
            Unit::Day => DAY,
            Unit::Week => 7 * DAY,
            Unit::Month => 30 * DAY,
            Unit::Year => 365 * DAY,
        })
    }
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
