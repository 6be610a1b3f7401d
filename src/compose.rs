//! Limiters around other limiters: all of several, a switch, extra permits, counts.

#[cfg(feature = "alloc")]
pub(crate) mod all;
#[cfg(feature = "alloc")]
pub(crate) mod counted;
pub(crate) mod gate;
mod top_up;

#[cfg(feature = "alloc")]
pub use self::all::All;
#[cfg(feature = "alloc")]
pub use self::counted::Counted;
#[cfg(feature = "alloc")]
pub use self::counted::answers::{AnswerCounters, Counts, DenialCounts, SettledCounts};
#[cfg(feature = "wait")]
pub use self::counted::waits::{WaitBucket, WaitCounts};
pub use self::gate::{Gate, GateMode, Unlimited};
pub use self::top_up::TopUp;
#[cfg(feature = "alloc")]
pub use crate::counters::StripedCounters;
