//! Limiters around other limiters: all of several, a switch, extra permits, counts.
//!
//! | type | for |
//! |---|---|
//! | `All` | a request that several limiters must grant |
//! | [`Gate`], [`GateMode`] | a switch, turned live: the limiter decides, everything is granted, or everything is denied |
//! | [`TopUp`] | permits that were bought or given, beyond the ones that a limiter earns |
//! | [`Unlimited`] | a caller without a limit, among others that have one |
//! | `Counted` | counts of grants and denials; `AnswerCounters` for a limiter of your own |
//! | `Counts`, `DenialCounts`, `SettledCounts`, `WaitCounts`, `WaitBucket` | exporters of metrics: the values that a `Counted` has counted |
//! | `StripedCounters` | counters of your own on a hot path |

#[cfg(feature = "alloc")]
pub(crate) mod all;
#[cfg(feature = "alloc")]
pub(crate) mod counted;
pub(crate) mod gate;
mod top_up;
mod unlimited;

#[cfg(feature = "alloc")]
pub use self::all::All;
#[cfg(feature = "alloc")]
pub use self::counted::Counted;
#[cfg(feature = "alloc")]
pub use self::counted::answers::{AnswerCounters, Counts, DenialCounts, SettledCounts};
#[cfg(feature = "wait")]
pub use self::counted::waits::{WaitBucket, WaitCounts};
pub use self::gate::{Gate, GateMode};
pub use self::top_up::TopUp;
pub use self::unlimited::Unlimited;
#[cfg(feature = "alloc")]
pub use crate::counters::StripedCounters;
