//! Windows of a calendar, by asking `jiff` what a wall clock would show.
//! Times are nanoseconds since 1970.

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Unit, Zoned};
use sluicegate::calendar::{Calendar, CalendarUnit};

pub(super) struct Days {
    unit: CalendarUnit,
    zone: TimeZone,
    /// The amounts from Monday on, for a budget.
    amounts: Option<[u64; 7]>,
    /// The windows of the times that were asked for, of which there are few.
    known: RefCell<HashMap<i128, Name>>,
}

/// The identity of a window: the clock's reading at its beginning and, for minutes and
/// hours, the offset, because a reading that occurs twice has two.
type Name = (DateTime, i32);

impl Days {
    fn new(unit: CalendarUnit, zone: &str, amounts: Option<[u64; 7]>) -> Days {
        Days { unit, zone: TimeZone::get(zone).unwrap(), amounts, known: RefCell::default() }
    }

    pub(super) fn of_calendar(calendar: &Calendar) -> Days {
        Days::new(calendar.unit(), calendar.zone().unwrap(), None)
    }

    pub(super) fn of_budget(amounts: [u64; 7], zone: &str) -> Days {
        Days::new(CalendarUnit::Day, zone, Some(amounts))
    }

    /// Returns the amount of the day, if days have amounts.
    pub(super) fn amount(&self, now: i128) -> Option<u64> {
        let weekday = self.window(now).0.weekday().to_monday_zero_offset();
        self.amounts.map(|amounts| amounts[weekday as usize])
    }

    /// Returns the greatest amount of any day.
    pub(super) fn most(&self) -> Option<u64> {
        self.amounts.and_then(|amounts| amounts.into_iter().max())
    }

    pub(super) fn has_amounts(&self) -> bool {
        self.amounts.is_some()
    }

    /// Returns the window that a time is in.
    pub(super) fn window(&self, now: i128) -> Name {
        *self.known.borrow_mut().entry(now).or_insert_with(|| match self.unit {
            CalendarUnit::Minute => self.shown(now, Unit::Minute),
            CalendarUnit::Hour => self.shown(now, Unit::Hour),
            _ => (self.first_date(now).to_datetime(Time::midnight()), 0),
        })
    }

    /// Returns the beginning of the day after.
    pub(super) fn next_day(&self, now: i128) -> i128 {
        self.start_of(self.date(now).tomorrow().unwrap())
    }

    fn shown(&self, now: i128, unit: Unit) -> Name {
        let zoned = self.zoned(now);
        let time = zoned.datetime();
        let shown = match unit {
            Unit::Hour => time.date().at(time.hour(), 0, 0, 0),
            _ => time.date().at(time.hour(), time.minute(), 0, 0),
        };
        (shown, zoned.offset().seconds())
    }

    fn first_date(&self, now: i128) -> Date {
        let date = self.date(now);
        match self.unit {
            CalendarUnit::Week => date - i64::from(date.weekday().to_monday_zero_offset()).days(),
            CalendarUnit::Month => date.first_of_month(),
            _ => date,
        }
    }

    /// Returns the date. Once a day has begun, a clock that is set back over midnight does
    /// not bring back the one before.
    fn date(&self, now: i128) -> Date {
        let date = self.zoned(now).date();
        let tomorrow = date.tomorrow().unwrap();
        if self.start_of(tomorrow) <= now { tomorrow } else { date }
    }

    fn start_of(&self, date: Date) -> i128 {
        date.to_zoned(self.zone.clone())
            .and_then(|midnight| midnight.start_of_day())
            .unwrap()
            .timestamp()
            .as_nanosecond()
    }

    fn zoned(&self, now: i128) -> Zoned {
        Timestamp::from_nanosecond(now).unwrap().to_zoned(self.zone.clone())
    }
}
