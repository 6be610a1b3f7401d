//! Limits for each day, month or other unit of a calendar, in a time zone.
//!
//! | type | for |
//! |---|---|
//! | [`CalendarWindow`] | an amount for each day, week, month or other unit |
//! | [`Budget`] | an amount for each day, which may depend on the day of the week |
//! | [`Calendar`] | the unit and the time zone of a `CalendarWindow` |
//! | [`CalendarUnit`], [`Weekday`] | names of units and of days |
//! | [`CalendarError`] | the reason why a time zone or an amount was refused |

mod budget;
mod calendar_window;

pub use self::budget::Budget;
pub use self::calendar_window::CalendarWindow;
pub use crate::time::calendar::error::CalendarError;
pub use crate::time::calendar::weekday::Weekday;
pub use crate::time::calendar::{Calendar, CalendarUnit};
