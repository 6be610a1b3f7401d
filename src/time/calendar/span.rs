//! The calendar window that contains a second.

use core::ops::Range;
use core::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, Offset, TimeZoneTransition};

use super::weekday::Weekday;
use super::{Calendar, CalendarUnit};

pub(crate) const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// A calendar window, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CalendarSpan {
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// A number that grows from each window to the next: the start of a minute or an hour; for
    /// windows of days, the number of the first day, where 0 is 1970-01-01.
    pub(crate) number: i64,
}

impl CalendarSpan {
    /// Returns the start and the end as times since the epoch, or the epoch if before it.
    pub(crate) fn durations(&self) -> Range<Duration> {
        let since = |second| Duration::from_secs(u64::try_from(second).unwrap_or(0));
        since(self.start)..since(self.end)
    }
}

impl Calendar {
    /// Returns the window that contains `second`.
    pub(crate) fn span(&self, second: i64) -> CalendarSpan {
        match self.unit {
            CalendarUnit::Minute => self.span_of_clock(second, 60),
            CalendarUnit::Hour => self.span_of_clock(second, 60 * 60),
            _ => self.span_of_days(second),
        }
    }

    /// Returns the window with this number.
    pub(crate) fn numbered(&self, number: i64) -> CalendarSpan {
        if self.is_of_days() {
            let (start, end) = (self.begins(number), self.begins(self.next(number)));
            return CalendarSpan { start, end, number };
        }
        self.span(number)
    }

    /// Returns the window between full `length`s of the zone's clock and changes of its offset.
    fn span_of_clock(&self, second: i64, length: i64) -> CalendarSpan {
        let offset = self.offset(second);
        let full = second - (second + offset).rem_euclid(length);
        // Some transitions change only the name of the offset.
        let start = self
            .zone
            .preceding(timestamp(second + 1))
            .map(second_of)
            .take_while(|&at| at > full)
            .find(|&at| self.offset(at - 1) != offset)
            .unwrap_or(full);
        let end = self
            .zone
            .following(timestamp(second))
            .map(second_of)
            .take_while(|&at| at < full + length)
            .find(|&at| self.offset(at) != offset)
            .unwrap_or(full + length);
        CalendarSpan { start, end, number: start }
    }

    fn span_of_days(&self, second: i64) -> CalendarSpan {
        let today = (second + self.offset(second)).div_euclid(SECONDS_PER_DAY);
        let mut number = self.first(today);
        let mut start = self.begins(number);
        loop {
            let next = self.next(number);
            let end = self.begins(next);
            if end > second {
                return CalendarSpan { start, end, number };
            }
            // The clock was set back over midnight, and shows the previous day again.
            (number, start) = (next, end);
        }
    }

    /// Returns the first day of the window that contains `day`.
    fn first(&self, day: i64) -> i64 {
        match self.unit {
            CalendarUnit::Week => day - (Weekday::of(day) as i64 - self.first as i64).rem_euclid(7),
            CalendarUnit::Month => day - i64::from(date(day).day()) + 1,
            _ => day,
        }
    }

    /// Returns the first day of the window after the one that begins on `day`.
    fn next(&self, day: i64) -> i64 {
        match self.unit {
            CalendarUnit::Week => day + 7,
            CalendarUnit::Month => day + i64::from(date(day).days_in_month()),
            _ => day + 1,
        }
    }

    /// Returns the first second at which the date is `day` or later.
    fn begins(&self, day: i64) -> i64 {
        let midnight = day * SECONDS_PER_DAY;
        let datetime = date(day).to_datetime(jiff::civil::Time::midnight());
        match self.zone.to_ambiguous_timestamp(datetime).offset() {
            AmbiguousOffset::Unambiguous { offset: before }
            | AmbiguousOffset::Fold { before, .. } => midnight - seconds(before),
            // The day begins at the change that skipped midnight. That change need not be at a full
            // hour: it is at midnight, or earlier.
            AmbiguousOffset::Gap { before, after } => self
                .zone
                .preceding(timestamp(midnight - seconds(before)))
                .map(second_of)
                .take_while(|&at| at > midnight - seconds(after))
                .last()
                .unwrap_or(midnight - seconds(before)),
        }
    }

    fn offset(&self, second: i64) -> i64 {
        seconds(self.zone.to_offset(timestamp(second)))
    }
}

fn seconds(offset: Offset) -> i64 {
    i64::from(offset.seconds())
}

/// Converts a second. The clocks' range, to the year 2554, is well within that of timestamps.
fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}

#[expect(clippy::needless_pass_by_value, reason = "what the iterators yield")]
fn second_of(transition: TimeZoneTransition<'_>) -> i64 {
    transition.timestamp().as_second()
}

fn date(day: i64) -> Date {
    Offset::UTC.to_datetime(timestamp(day * SECONDS_PER_DAY)).date()
}

#[cfg(test)]
mod tests;
