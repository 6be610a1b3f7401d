//! The grants that a window limiter still counts, to be restored elsewhere.

use alloc::vec::Vec;
use core::time::Duration;

use crate::time::units;

/// The permits that a window limiter had granted and still counted, and their ages.
///
/// An age is that of the latest moment at which the permits can have been granted: exact for a log,
/// the end of the slot or window for the others. For a window from the first request, it is the age
/// of that request. A history can be restored to a limiter of another kind, limit or length.
///
/// A restored log, or a restored window from the first request, never grants more than the original
/// would have, and a restored sliding window keeps its limit. Windows that begin at fixed
/// times do the same on a clock on which they begin at the same times as before, such as a
/// `UnixClock`. On a clock with another origin (a `QuantaClock` of another process) a different
/// window may be running, in which the grants of the old one do not count.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, SlidingLog, rate};
///
/// let clock = ManualClock::new();
/// let log = SlidingLog::with_clock(rate!(2 / minute), &clock)?;
/// log.try_acquire(1)?;
/// clock.advance(Duration::from_secs(20));
/// log.try_acquire(1)?;
/// let history = log.snapshot();
///
/// let mut restored = SlidingLog::with_clock(rate!(2 / minute), ManualClock::new())?;
/// restored.restore(&history, Duration::from_secs(10));
/// let denied = restored.try_acquire(1).unwrap_err();
/// assert_eq!(denied.retry_after(), Some(Duration::from_secs(30)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<Spent>", into = "Vec<Spent>"))]
pub struct History {
    /// Grants, oldest first.
    spent: Vec<Spent>,
}

/// Permits that were granted at one time, and their age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Spent {
    age_nanos: u64,
    permits: u64,
}

impl History {
    /// Creates a history from elsewhere, of permits and the time since they were granted. The order
    /// does not matter; entries of 0 permits are left out.
    pub fn new(spent: impl IntoIterator<Item = (Duration, u64)>) -> History {
        History::of(spent.into_iter().map(|(age, permits)| (units::nanos(age), permits)))
    }

    pub(crate) fn of(spent: impl IntoIterator<Item = (u64, u64)>) -> History {
        let mut spent: Vec<_> = spent
            .into_iter()
            .filter(|&(_, permits)| permits > 0)
            .map(|(age_nanos, permits)| Spent { age_nanos, permits })
            .collect();
        // Stable, so permits of one age stay in the order in which they were granted.
        spent.sort_by_key(|spent| core::cmp::Reverse(spent.age_nanos));
        History { spent }
    }

    /// Iterates over the ages, oldest first, and the permits of each.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Duration, u64)> + '_ {
        self.spent.iter().map(|spent| (Duration::from_nanos(spent.age_nanos), spent.permits))
    }

    /// Returns the sum of all permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.spent.iter().fold(0, |sum, spent| sum.saturating_add(spent.permits))
    }

    /// Iterates in nanoseconds, with all ages increased by `away_nanos`.
    pub(crate) fn after(&self, away_nanos: u64) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.spent
            .iter()
            .map(move |spent| (spent.age_nanos.saturating_add(away_nanos), spent.permits))
    }
}

impl From<Vec<Spent>> for History {
    fn from(spent: Vec<Spent>) -> History {
        History::of(spent.into_iter().map(|spent| (spent.age_nanos, spent.permits)))
    }
}

impl From<History> for Vec<Spent> {
    fn from(history: History) -> Vec<Spent> {
        history.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_in_order_and_without_gaps_whatever_it_was_made_of() {
        let second = Duration::from_secs(1);
        let history = History::new([(second, 2), (3 * second, 1), (2 * second, 0)]);
        assert_eq!(history.iter().collect::<Vec<_>>(), [(3 * second, 1), (second, 2)]);
        assert_eq!(history.permits(), 3);
        let endless = History::new([(Duration::MAX, u64::MAX), (second, 1)]);
        assert_eq!(endless.permits(), u64::MAX);
        assert_eq!(endless.after(7).next(), Some((u64::MAX, u64::MAX)));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn serde_keeps_a_history_and_puts_it_in_order() {
        let second = Duration::from_secs(1);
        let history = History::new([(second, 2), (3 * second, 1)]);
        let text = serde_json::to_string(&history).unwrap();
        let ordered =
            r#"[{"age_nanos":3000000000,"permits":1},{"age_nanos":1000000000,"permits":2}]"#;
        assert_eq!(text, ordered);
        let turned =
            r#"[{"age_nanos":1000000000,"permits":2},{"age_nanos":3000000000,"permits":1}]"#;
        assert_eq!(serde_json::from_str::<History>(turned).unwrap(), history);
    }
}
