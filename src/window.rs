//! What the windows share: time in ticks, limits that change, and histories.

#[cfg(feature = "alloc")]
mod history;
mod limit;
mod ticks;

#[cfg(feature = "alloc")]
pub use self::history::History;
pub(crate) use self::limit::Limit;
pub(crate) use self::ticks::{Moment, Ticks};
