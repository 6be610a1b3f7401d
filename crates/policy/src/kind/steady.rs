//! The part of a steady rate, of exactly the limit, that a limiter refuses.
//!
//! A window that counts whole slots counts a request for up to a slot longer than its length. So the
//! requests of one slot come too early, once in each window.

use std::cmp::Ordering;
use std::time::Duration;

use indicatif::HumanCount;
use sluicegate::Rate;

use super::Kind;
use super::memory::{covering, slot_nanos, slots_of_several};
use super::words::time_in_words;

impl Kind {
    /// Returns the most requests that are refused, and of how many, if they come one at a time at
    /// equal distances and at exactly the rate of the limit. `None` if all are admitted, or if that
    /// is no question of this kind.
    ///
    /// For several windows, returns the part of the one that refuses the most.
    #[must_use]
    pub fn refused_of_steady(&self) -> Option<(u64, u64)> {
        self.strictest().map(|strictest| strictest.refused)
    }

    /// Returns a sentence on what [`refused_of_steady`](Kind::refused_of_steady) returns, if anything.
    #[must_use]
    pub fn about_steady(&self) -> Option<String> {
        let strictest = self.strictest()?;
        let why = match strictest.slot {
            None => {
                "Assumes that its first requests come with all of the previous window's".to_owned()
            }
            Some(slot) => format!("Counts requests for up to a slot ({}) too long", short(slot)),
        };
        let (refused, of) = strictest.refused;
        let (refused, of) = (HumanCount(refused), HumanCount(of));
        let (permits, period) =
            (HumanCount(strictest.limit.permits()), time_in_words(strictest.limit.period()));
        Some(format!(
            "{why}: of a steady rate of exactly {permits} per {period}, it denies up to {refused} in \
             {of}."
        ))
    }

    /// Returns the limit of which it refuses the largest part.
    fn strictest(&self) -> Option<Steady> {
        match self {
            Kind::SlidingWindow { limit, slots } => {
                Some(Steady::of_slots(*limit, slot_nanos(limit.period().as_nanos(), *slots)))
            }
            Kind::MultiWindow { limits, slots } => slots_of_several(limits, *slots)
                .map(|(limit, slot)| Steady::of_slots(limit, slot))
                .max_by(Steady::compare),
            Kind::SlidingCounter(limit) => {
                Some(Steady { limit: *limit, slot: None, refused: (1, limit.permits().max(2)) })
            }
            _ => None,
        }
    }
}

/// The part of a steady rate that is refused.
struct Steady {
    limit: Rate,
    slot: Option<Duration>,
    /// So many, of so many.
    refused: (u64, u64),
}

impl Steady {
    fn of_slots(limit: Rate, slot_nanos: u128) -> Steady {
        let length = limit.period().as_nanos();
        // A request counts until all slots that count have passed, from its own slot on.
        let too_long = u128::from(covering(length, slot_nanos)) * slot_nanos - length;
        let refused = (too_long * u128::from(limit.permits())).div_ceil(length.max(1));
        let refused = u64::try_from(refused).unwrap_or(u64::MAX);
        Steady {
            limit,
            slot: Some(Duration::from_nanos(u64::try_from(slot_nanos).unwrap_or(u64::MAX))),
            refused: (refused, refused.saturating_add(limit.permits())),
        }
    }

    fn compare(&self, other: &Steady) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.refused.0, other.refused.1).cmp(&product(other.refused.0, self.refused.1))
    }
}

/// Returns a time in one unit, rounded to a tenth of it if it is short.
fn short(time: Duration) -> String {
    match time.subsec_nanos() {
        0 => time_in_words(time),
        _ => format!("{time:.1?}"),
    }
}
