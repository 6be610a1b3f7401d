//! Windows: counters in one word, a ring of slots, and logs of grants.
//!
//! | file | |
//! |---|---|
//! | `intervals` | the start and the number of a fixed window, or of a slot |
//! | `counter` | counters of one window, in one word |
//! | `ring` | sliding windows of slots |
//! | `log` | logs of grants |
//! | `limit` | the limit of a window, which can be changed live |

pub(crate) mod counter;
mod intervals;
pub(crate) mod limit;
#[cfg(feature = "alloc")]
pub(crate) mod log;
#[cfg(feature = "alloc")]
pub(crate) mod ring;
