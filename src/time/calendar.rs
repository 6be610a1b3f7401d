//! Windows of a calendar: minutes, hours, days, weeks and months of a time zone.
//!
//! A [`Calendar`] is a pure function from a time to the window that contains it. The windows tile
//! the time line: every second is in exactly one.
//!
//! ```text
//! minutes, hours   a window begins whenever the zone's clock shows a full minute
//!                  or hour, and whenever the zone changes its offset
//! days and above   a window begins at the first instant at which the zone's date
//!                  is its first day or a later one
//! ```
//!
//! So an hour that occurs twice is two windows, and a day has the 23 or 25 hours that its zone
//! gives it. A date that the zone skipped has no window. A clock set back over midnight does not
//! bring back the day before: the new day has begun.
//!
//! All changes of all zones are at whole seconds, and so are all windows.

pub(crate) mod day_amounts;
pub(crate) mod error;
pub(crate) mod memo;
pub(crate) mod span;
pub(crate) mod weekday;

use core::ops::Range;
use core::time::Duration;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::units;
use super::units::NANOS_PER_SECOND;

use self::error::CalendarError;
use self::weekday::Weekday;

/// The length of the windows of a [`Calendar`].
///
/// # Examples
///
/// ```
/// use sluicegate::calendar::{Calendar, CalendarUnit};
///
/// assert_eq!(Calendar::new(CalendarUnit::Month, "UTC")?, Calendar::months("UTC")?);
/// # Ok::<(), sluicegate::calendar::CalendarError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CalendarUnit {
    /// From one full minute to the next.
    Minute,
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// Seven days, from the midnight before a Monday, unless
    /// [`weeks_begin_on`](Calendar::weeks_begin_on) sets another day.
    Week,
    /// From the midnight before the first of one month to that of the next.
    Month,
}

/// The minutes, hours, days, weeks or months of a time zone.
///
/// # Examples
///
/// ```
/// use sluicegate::calendar::{Calendar, CalendarError};
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
///
/// # Accuracy
///
/// Exact to the second: no zone has changed its clocks at anything finer. Minutes and hours are
/// those of the zone's own clock, even if it differs from UTC by a fraction of an hour. They begin
/// anew when the zone changes its clocks, so an hour that occurs twice is two windows, and a change
/// by half an hour makes a window of half an hour. A day begins at midnight or, if it has none, at
/// its first instant.
///
/// A zone comes from the system's database or, if that does not have it, from the built-in one. A
/// calendar keeps the zone as it was when the calendar was made: later decisions of the authorities
/// need a new calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    unit: CalendarUnit,
    /// The day on which a week begins.
    first: Weekday,
    zone: TimeZone,
}

impl Calendar {
    /// Creates the calendar of `unit` in the time zone named `zone`, such as `"Europe/Berlin"` or
    /// `"UTC"`.
    ///
    /// # Errors
    ///
    /// [`CalendarError::TimeZone`] if no database has the name.
    pub fn new(unit: CalendarUnit, zone: &str) -> Result<Calendar, CalendarError> {
        Ok(Calendar::with_zone(unit, named(zone)?))
    }

    /// Creates the calendar of `unit` by a POSIX rule, as the variable `TZ` has it: for a zone without a name, such as a
    /// fixed offset. Its hours count to the west of UTC.
    ///
    /// # Errors
    ///
    /// [`CalendarError::PosixZone`] if it is no such rule.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::calendar::{Calendar, CalendarError, CalendarUnit};
    ///
    /// // Three hours behind UTC, all year.
    /// let months = Calendar::with_posix_zone(CalendarUnit::Month, "<-03>3")?;
    /// // Summer time from the second Sunday of March to the first of November.
    /// let days = Calendar::with_posix_zone(CalendarUnit::Day, "EST5EDT,M3.2.0,M11.1.0")?;
    /// # Ok::<(), CalendarError>(())
    /// ```
    pub fn with_posix_zone(unit: CalendarUnit, rule: &str) -> Result<Calendar, CalendarError> {
        match TimeZone::posix(rule) {
            Ok(zone) => Ok(Calendar::with_zone(unit, zone)),
            Err(_) => Err(CalendarError::PosixZone { rule: rule.into() }),
        }
    }

    fn with_zone(unit: CalendarUnit, zone: TimeZone) -> Calendar {
        Calendar { unit, first: Weekday::Monday, zone }
    }

    /// Creates the calendar of the minutes of `zone`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Calendar::new).
    pub fn minutes(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Minute, zone)
    }

    /// Creates the calendar of the hours of `zone`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Calendar::new).
    pub fn hours(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Hour, zone)
    }

    /// Creates the calendar of the days of `zone`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Calendar::new).
    pub fn days(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Day, zone)
    }

    /// Creates the calendar of the weeks of `zone`, which begin on Mondays.
    ///
    /// # Errors
    ///
    /// As for [`new`](Calendar::new).
    pub fn weeks(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Week, zone)
    }

    /// Creates the calendar of the months of `zone`.
    ///
    /// # Errors
    ///
    /// As for [`new`](Calendar::new).
    pub fn months(zone: &str) -> Result<Calendar, CalendarError> {
        Calendar::new(CalendarUnit::Month, zone)
    }

    /// Returns the calendar with weeks that begin on `first`. Other units ignore it.
    #[must_use]
    pub fn weeks_begin_on(self, first: Weekday) -> Calendar {
        Calendar { first, ..self }
    }

    /// Returns the unit of the windows.
    #[must_use]
    pub fn unit(&self) -> CalendarUnit {
        self.unit
    }

    /// Returns the name of the time zone, if it has one.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.iana_name()
    }

    /// Returns the start and the end of the window that contains the time `since_epoch`. Like it,
    /// they are times since the Unix epoch.
    ///
    /// A start before the epoch is the epoch. Times after the middle of the year 2554 are in the
    /// last window before it. Takes less than a microsecond; does not allocate; reads no clock.
    #[must_use]
    pub fn window(&self, since_epoch: Duration) -> Range<Duration> {
        self.span((units::nanos(since_epoch) / NANOS_PER_SECOND) as i64).durations()
    }

    /// Returns whether windows consist of whole days rather than seconds.
    pub(crate) fn is_of_days(&self) -> bool {
        !matches!(self.unit, CalendarUnit::Minute | CalendarUnit::Hour)
    }
}

/// Returns the time zone named `zone`.
fn named(zone: &str) -> Result<TimeZone, CalendarError> {
    // Known without any database.
    if zone.eq_ignore_ascii_case("UTC") {
        return Ok(TimeZone::UTC);
    }
    // The system's database may be incomplete. A database also has a name for the unknown zone,
    // which is not accepted.
    TimeZone::get(zone)
        .or_else(|_| TimeZoneDatabase::bundled().get(zone))
        .ok()
        .filter(|known| !known.is_unknown())
        .ok_or_else(|| CalendarError::TimeZone { name: zone.into() })
}
