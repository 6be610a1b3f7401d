//! What the windows share: time in ticks, limits that change, and histories.

#[cfg(feature = "alloc")]
mod history;
mod limit;
mod ticks;

#[cfg(feature = "alloc")]
pub use self::history::History;
#[cfg(feature = "alloc")]
pub(crate) use self::limit::check_between;
pub(crate) use self::limit::{Limit, check_max};
pub(crate) use self::ticks::{Moment, Ticks};
