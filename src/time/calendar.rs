//! Windows of a calendar: minutes, hours, days, weeks and months of a time zone.
//!
//! A [`Calendar`] is a pure function from a time to the window that it is in. The
//! windows tile the time line: every second is in exactly one.
//!
//! ```text
//! minutes, hours   a window begins whenever the zone's clock shows a full minute
//!                  or hour, and whenever the zone changes its offset
//! days and above   a window begins at the first instant at which the zone's date
//!                  is its first day or a later one
//! ```
//!
//! So an hour that occurs twice is two windows, and a day has the 23 or 25 hours
//! that its zone gives it. A date that was skipped is no window. A clock set back
//! over midnight does not bring back the day before: the new day has begun.
//!
//! All changes of all zones are at whole seconds, and so are all windows.

pub(crate) mod error;
pub(crate) mod memo;
pub(crate) mod schedule;
pub(crate) mod span;
pub(crate) mod weekday;

use core::ops::Range;
use core::time::Duration;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::units;
use super::units::NANOS_PER_SECOND;

use self::error::CalendarError;
use self::weekday::Weekday;

/// How long the windows of a [`Calendar`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CalendarUnit {
    /// From one full minute to the next.
    Minute,
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// Seven days, from midnight before a Monday, unless
    /// [`weeks_begin_on`](Calendar::weeks_begin_on) says otherwise.
    Week,
    /// From midnight before the first of one month to that of the next.
    Month,
}

/// The minutes, hours, days, weeks or months of a time zone.
///
/// # Accuracy
///
/// To the second, which is exact: no zone has changed its clocks at anything
/// finer. Minutes and hours are those of the zone's own clock, also where it
/// differs from UTC by a part of an hour. They begin anew when the zone changes
/// its clocks, so the hour that occurs twice is two windows, and a change by half
/// an hour makes one of half an hour. A day begins at midnight, or if there is none
/// that day, at its first instant.
///
/// A zone comes from the system's database, or if that does not have it, from the
/// one that is built in. A calendar keeps the zone as it was when it was made: what
/// the authorities decide later needs a new one.
///
/// # Examples
///
/// ```
/// use sluicegate::{Calendar, CalendarError};
/// use std::time::Duration;
///
/// let calendar = Calendar::days("Europe/Berlin")?;
/// // 2026-03-29 12:00 UTC, the day on which summer time begins.
/// let day = calendar.window(Duration::from_secs(1_774_785_600));
/// assert_eq!(day.end - day.start, Duration::from_secs(23 * 60 * 60));
///
/// let error = Calendar::days("Europe/Berln").unwrap_err();
/// assert_eq!(error.field(), "time zone");
/// # Ok::<(), CalendarError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    unit: CalendarUnit,
    /// Of a week.
    first: Weekday,
    zone: TimeZone,
}

impl Calendar {
    /// The windows of `unit` in the time zone with the name `zone`, such as
    /// `"Europe/Berlin"` or `"UTC"`.
    ///
    /// # Errors
    ///
    /// [`CalendarError::TimeZone`] if no database has the name.
    pub fn new(unit: CalendarUnit, zone: &str) -> Result<Calendar, CalendarError> {
        Ok(Calendar::with_time_zone(unit, named(zone)?))
    }

    /// The windows of `unit` in `zone`: for a zone that has no name, such as a
    /// fixed offset or a POSIX rule, or the system's own.
    ///
    /// # Examples
    ///
    /// ```
    /// use jiff::tz::{TimeZone, offset};
    /// use sluicegate::{Calendar, CalendarUnit};
    ///
    /// let zone = TimeZone::fixed(offset(-3));
    /// let calendar = Calendar::with_time_zone(CalendarUnit::Month, zone);
    /// assert_eq!(calendar.unit(), CalendarUnit::Month);
    /// ```
    #[must_use]
    pub fn with_time_zone(unit: CalendarUnit, zone: TimeZone) -> Calendar {
        Calendar { unit, first: Weekday::Monday, zone }
    }

    /// The minutes of `zone`.
    ///
    /// # Errors
    ///
    /// As [`new`](Calendar::new).
    pub fn minutes(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Minute, zone)
    }

    /// The hours of `zone`.
    ///
    /// # Errors
    ///
    /// As [`new`](Calendar::new).
    pub fn hours(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Hour, zone)
    }

    /// The days of `zone`.
    ///
    /// # Errors
    ///
    /// As [`new`](Calendar::new).
    pub fn days(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Day, zone)
    }

    /// The weeks of `zone`, which begin with a Monday.
    ///
    /// # Errors
    ///
    /// As [`new`](Calendar::new).
    pub fn weeks(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Week, zone)
    }

    /// The months of `zone`.
    ///
    /// # Errors
    ///
    /// As [`new`](Calendar::new).
    pub fn months(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Month, zone)
    }

    /// The same with weeks that begin with `first`. Matters to no other unit.
    #[must_use]
    pub fn weeks_begin_on(self, first: Weekday) -> Calendar {
        Calendar { first, ..self }
    }

    /// How long the windows are.
    #[must_use]
    pub fn unit(&self) -> CalendarUnit {
        self.unit
    }

    /// The name of the time zone, if it has one.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.iana_name()
    }

    /// The beginning and the end of the window that the time `since_epoch` is in,
    /// as times since the Unix epoch too.
    ///
    /// A beginning before the epoch is the epoch. Times after the middle of the year
    /// 2554 are in the last window before it. Takes less than a microsecond; does not
    /// allocate; reads no clock.
    #[must_use]
    pub fn window(&self, since_epoch: Duration) -> Range<Duration> {
        self.span((units::nanos(since_epoch) / NANOS_PER_SECOND) as i64).durations()
    }

    /// Whether windows are made of days, and not of seconds.
    pub(crate) fn is_of_days(&self) -> bool {
        !matches!(self.unit, CalendarUnit::Minute | CalendarUnit::Hour)
    }
}

/// The time zone with the name `zone`.
fn named(zone: &str) -> Result<TimeZone, CalendarError> {
    // Known without any database.
    if zone.eq_ignore_ascii_case("UTC") {
        return Ok(TimeZone::UTC);
    }
    // A system may have a database, and not all of it.
    // The database also has a name for an unknown zone, which is none.
    TimeZone::get(zone)
        .or_else(|_| TimeZoneDatabase::bundled().get(zone))
        .ok()
        .filter(|known| !known.is_unknown())
        .ok_or_else(|| CalendarError::TimeZone { name: zone.into() })
}
