//! Sources of time.
//!
//! | clock | reads | cost | suspend | needs |
//! |---|---|---|---|---|
//! | `QuantaClock` | the processor's counter | a few nanoseconds | not counted | `quanta` |
//! | `CoarseClock` | a word that a thread updates | one load | not counted | `quanta` |
//! | `MonotonicClock` | the operating system | tens of nanoseconds | as the system says | `std` |
//! | `UnixClock` | the operating system, since 1970 | tens of nanoseconds | counted | `std` |
//! | `TokioClock` | tokio's time, which tests can pause | tens of nanoseconds | as the system says | `tokio` |
//! | [`ManualClock`] | the time that was set | one load | | nothing |

pub(crate) mod default;
pub(crate) mod manual;
#[cfg(feature = "std")]
mod monotonic;
#[cfg(feature = "quanta")]
mod quanta;

#[cfg(feature = "quanta")]
mod coarse;
#[cfg(feature = "quanta")]
mod counter;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(feature = "std")]
pub(crate) mod unix;

#[cfg(feature = "quanta")]
pub use self::coarse::{ClockError, CoarseClock};
pub use self::default::DefaultClock;
pub use self::manual::ManualClock;
#[cfg(feature = "std")]
pub use self::monotonic::MonotonicClock;
#[cfg(feature = "quanta")]
pub use self::quanta::QuantaClock;
#[cfg(feature = "tokio")]
pub use self::tokio::TokioClock;
#[cfg(feature = "std")]
pub use self::unix::UnixClock;

/// A source of time.
///
/// A limiter reads it once per call. Readings should not go back, but a limiter copes if they do:
///
/// * **Threads that disagree** (counters of two processors are rarely equal to the nanosecond): the
///   bound holds for any reading, as long as each was taken during the call that uses it.
/// * **A jump back, or a frozen clock:** nothing is earned until the clock has caught up. After a
///   jump of more than a second, a limiter may find its level further ahead of the clock than any
///   call could have put it, or the clock before the limiter's origin. It then starts a new history
///   from full, and counts that in `healed()`. Healing writes, and reads the clock again; it waits for
///   no other call, except for settlements of a window in progress, and for the line's lock if
///   callers wait in line. A window starts no new history: it keeps its counts, and no caller waits
///   longer than two window lengths and a second (three, and a second, for a `SlidingCounter`, as its last window counts
///   for a further one). If it moves its counts to an earlier window, that too is counted in `healed()`. When the clock
///   later returns to the right time, that is a jump forward.
/// * **A jump forward:** earns what that time would have earned, at most the burst, or the limit of
///   a window. More than 146 years from its origin, a limiter starts again. A `KeyTable` does so
///   where its 146 years wrap, which is at least 73 years after and 36 years before the time at
///   which it was made. A bucket that grants nothing for decades (at the highest rates 34 years
///   from empty, or 17 from full with the largest burst) may do so too: it is full by then.
/// * **Suspend:** depends on the clock. One that does not count suspended time earns nothing for
///   it.
/// * **Locks:** a store of keys may hold a lock while it reads the clock, so a clock calls no limiter that is
///   on it.
///
/// # Examples
///
/// Implement a clock of your own:
///
/// ```
/// use sluicegate::{Clock, TokenBucket, quota};
///
/// struct Tick;
///
/// impl Clock for Tick {
///     fn now_nanos(&self) -> u64 {
///         7 // from a timer of the board, say
///     }
/// }
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), Tick);
/// assert!(bucket.try_acquire(10).is_ok());
/// ```
pub trait Clock {
    /// Returns the nanoseconds since a fixed origin. Must not block, nor call the limiter, which may
    /// hold a lock.
    fn now_nanos(&self) -> u64;

    /// Returns the timeline that the clock reads. Tasks that wait for a limiter on this clock sleep on it, unless
    /// they name a timer.
    fn timeline(&self) -> Timeline {
        Timeline::System
    }
}

/// A course of time that a clock reads, and that sleeps take place in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timeline {
    /// The system's, which nobody stops.
    #[default]
    System,
    /// Tokio's, which `tokio::time::pause` stops.
    #[cfg(feature = "tokio")]
    Tokio,
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now_nanos(&self) -> u64 {
        (**self).now_nanos()
    }
    fn timeline(&self) -> Timeline {
        (**self).timeline()
    }
}

#[cfg(feature = "alloc")]
impl<C: Clock + ?Sized> Clock for alloc::boxed::Box<C> {
    #[inline]
    fn now_nanos(&self) -> u64 {
        (**self).now_nanos()
    }
    fn timeline(&self) -> Timeline {
        (**self).timeline()
    }
}

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<C: Clock + ?Sized> Clock for alloc::sync::Arc<C> {
    #[inline]
    fn now_nanos(&self) -> u64 {
        (**self).now_nanos()
    }
    fn timeline(&self) -> Timeline {
        (**self).timeline()
    }
}
