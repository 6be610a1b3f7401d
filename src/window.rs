//! Limits in windows of time.
//!
//! | type | admits at most |
//! |---|---|
//! | [`FixedWindow`], [`WindowFromFirst`] | the limit in each window, up to twice that across two |
//! | [`SlidingCounter`] | less than twice the limit in any window; one word |
//! | `SlidingWindow` | the limit in any window, which moves on by slots |
//! | `MultiWindow` | each of several limits in any of its windows |
//! | `SlidingLog`, `WeightedLog` | the limit in any window, to the nanosecond |
//!
//! Days and months of a time zone are in `calendar`.

// Windows: counters in one word, a ring of slots, and logs of grants.
//
// | file | |
// |---|---|
// | `intervals` | the start and the number of a fixed window, or of a slot |
// | `counter` | counters of one window, in one word |
// | `ring` | sliding windows of slots |
// | `log` | logs of grants |
// | `gate` | the bit of a counter's word that says that callers wait in line |
// | `revert` | a grant given back, whether or not the gate has moved |
// | `changes` | resets and healings, and the settlements that they wait for |
// | `limit` | the limit of a window, which can be changed live |
//
// The bound of each in a span `W` is proved in its module: [`counter`], [`ring`], [`log`]. Those
// spans are of the time by which permits are dated: the clock of the caller, or the latest date that
// others have left, if that is later. With one clock for all threads that is true time.
//
// **Theorem.** If threads' clocks differ by at most `d`, which is at most a second, what the
// theorems say of a span `W` holds for a span `W - d` of true time.
//
// *Proof.* Take the clock that is furthest ahead. A permit is dated no later than that clock reads
// when it is granted (except for the rounding that makes it count longer), because its date is the
// reading of its caller or that of an earlier one. It is dated no earlier than its caller reads,
// which is at most `d` less. So permits that were granted within `W - d` have dates within `W`.
// Clocks a second apart or less heal nothing. ∎

pub(crate) mod changes;
pub(crate) mod counter;
pub(crate) mod fixed_window;
pub(crate) mod gate;
mod intervals;
pub(crate) mod limit;
#[cfg(feature = "alloc")]
pub(crate) mod log;
#[cfg(feature = "alloc")]
pub(crate) mod multi_window;
#[cfg(feature = "wait")]
mod revert;
#[cfg(feature = "alloc")]
pub(crate) mod ring;
pub(crate) mod sliding_counter;
#[cfg(feature = "alloc")]
pub(crate) mod sliding_log;
#[cfg(feature = "alloc")]
pub(crate) mod sliding_window;
pub(crate) mod verbs;

pub use self::fixed_window::{FixedWindow, WindowFromFirst};
#[cfg(feature = "alloc")]
pub use self::multi_window::MultiWindow;
pub use self::sliding_counter::SlidingCounter;
#[cfg(feature = "alloc")]
pub use self::sliding_log::{SlidingLog, WeightedLog};
#[cfg(feature = "alloc")]
pub use self::sliding_window::{Compact, Padded, Placement, SlidingWindow};
#[cfg(feature = "alloc")]
pub use crate::decision::history::History;
