//! Windows: counters in one word, a ring of slots, logs of what was granted.

pub(crate) mod counter;
pub(crate) mod limit;
#[cfg(feature = "alloc")]
pub(crate) mod log;
#[cfg(feature = "alloc")]
pub(crate) mod ring;
mod ticks;
