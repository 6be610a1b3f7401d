//! Sources of time.
//!
//! | clock | reads | cost | suspend | needs |
//! |---|---|---|---|---|
//! | [`QuantaClock`] | the processor's counter | a few nanoseconds | not counted | `quanta` |
//! | [`CoarseClock`] | a word that a thread keeps up | one load | not counted | `quanta` |
//! | [`MonotonicClock`] | the operating system | tens of nanoseconds | as the system says | `std` |
//! | [`UnixClock`] | the operating system, since 1970 | tens of nanoseconds | counted | `std` |
//! | [`ManualClock`] | what it was told | one load | | nothing |

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
#[cfg(feature = "std")]
pub use self::unix::UnixClock;

/// A source of time.
///
/// A limiter reads it once per call. Readings should not go back, but a limiter
/// survives it if they do:
///
/// * **Threads that disagree** (counters of two processors are rarely equal to
///   the nanosecond): the bound holds for any reading, as long as each was taken
///   during the call that uses it.
/// * **A jump back, or a frozen clock:** nothing is earned until the clock has
///   caught up. After a jump of more than a second a limiter may find its level
///   further ahead of the clock than any call could have put it, or the clock
///   before its own beginning. It then starts again from full, a new history, and
///   counts that in `healed()`. Healing writes, waits for no other call, and reads
///   the clock again.
///   A window starts no new history: it goes on counting what it had counted, and
///   nobody waits for longer than two of its lengths; that too is in `healed()`. When
///   the clock comes forward again, that is a jump forward.
/// * **A jump forward:** earns what the time would have earned, at most the
///   burst, or the limit of a window. Beyond 146 years from its beginning a limiter starts
///   again; a `KeyTable` does so where its 146 years come round, 73 of them at least after it
///   was made and 36 before.
/// * **Suspend:** whatever the clock says. One that does not count it earns
///   nothing in it.
///
/// # Examples
///
/// A clock of one's own:
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
    /// Nanoseconds since an origin that stays the same. Must not block.
    fn now_nanos(&self) -> u64;
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now_nanos(&self) -> u64 {
        (**self).now_nanos()
    }
}

#[cfg(feature = "std")]
impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    #[inline]
    fn now_nanos(&self) -> u64 {
        (**self).now_nanos()
    }
}
