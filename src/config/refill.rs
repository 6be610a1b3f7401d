//! The two ways in which tokens arrive.

/// The moments at which the tokens of a period arrive.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, TokenBucket, quota};
///
/// let at_once = TokenBucket::with_clock(quota!(60 / minute, refill interval), ManualClock::new());
/// at_once.try_acquire(60)?;
/// at_once.clock().advance(Duration::from_secs(59));
/// assert_eq!(at_once.peek(0)?.remaining(), 0);
/// at_once.clock().advance(Duration::from_secs(1));
/// assert_eq!(at_once.peek(0)?.remaining(), 60);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Refill {
    /// Continuously: a tenth of the period earns a tenth of its tokens.
    #[default]
    Smooth,
    /// All at once, at the end of each whole period. Periods are counted from the limiter's
    /// creation, and a part of one is never lost. If the period is changed, counting starts anew,
    /// from a point at which the elapsed part is worth as much as before.
    Interval,
}
