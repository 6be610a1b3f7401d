//! Limits for each day, month or other unit of a calendar, in a time zone.

mod budget;
mod calendar_window;

pub use self::budget::Budget;
pub use self::calendar_window::CalendarWindow;
pub use crate::time::calendar::error::CalendarError;
pub use crate::time::calendar::weekday::Weekday;
pub use crate::time::calendar::{Calendar, CalendarUnit};
