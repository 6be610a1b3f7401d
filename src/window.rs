//! Windows: counters in one word, a ring of slots, and logs of grants.

pub(crate) mod counter;
pub(crate) mod limit;
#[cfg(feature = "alloc")]
pub(crate) mod log;
#[cfg(feature = "alloc")]
pub(crate) mod ring;
mod ticks;
