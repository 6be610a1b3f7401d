//! Kinds that take little memory, with which numbers are checked.

use std::sync::Arc;

use sluicegate::{ManualClock, Rate};

use super::{Kind, Unbuildable};
use crate::CommonLimiter;

/// The most requests that a weighted log remembers.
const MAX_LINES: u64 = (1 << 24) - 2;

/// The most slots of a window.
const MAX_SLOTS: u32 = 65_536;

/// Returns a rate of the same period with another number of permits, or the same rate if there is none.
pub(super) fn with_permits(rate: Rate, permits: u64) -> Rate {
    Rate::new(permits, rate.period()).unwrap_or(rate)
}

impl Kind {
    /// Checks the numbers as [`limiter`](Kind::limiter) does, without the memory that a limiter of these
    /// numbers takes.
    pub(crate) fn check(&self) -> Result<(), Unbuildable> {
        // The time on the clock does not affect whether it can be built.
        if self.is_common() {
            return CommonLimiter::new(self, Arc::new(ManualClock::new())).map(drop);
        }
        self.small().limiter(Arc::new(ManualClock::new())).map(drop)
    }

    /// Returns a kind that takes little memory, and can be built if and only if this one can. Numbers
    /// that the engine refuses are left as they are: it does so before it allocates.
    fn small(&self) -> Kind {
        /// The largest limit of a sliding window that fits whatever its length and its slots are.
        const FITS_IN_ANY_WINDOW: u64 = 1 << 24;
        match self {
            // The engine checks a limit that it remembers, but nothing else about it.
            Kind::SlidingLog(limit) if limit.permits() <= 1 << 24 => {
                Kind::SlidingLog(with_permits(*limit, 1))
            }
            Kind::WeightedLog { limit, capacity: 1..=MAX_LINES } => {
                Kind::WeightedLog { limit: *limit, capacity: 1 }
            }
            Kind::SlidingWindow { limit, slots: 1..=MAX_SLOTS }
                if limit.permits() <= FITS_IN_ANY_WINDOW =>
            {
                Kind::SlidingWindow { limit: *limit, slots: 1 }
            }
            // The slots of all windows are numbered in the shortest one's, by as many bits as the
            // longest one takes; the largest limit takes the other bits.
            Kind::MultiWindow { limits, slots } if (4..=64).contains(&limits.len()) => {
                let decisive = [
                    limits.iter().min_by_key(|limit| limit.period()),
                    limits.iter().max_by_key(|limit| limit.period()),
                    limits.iter().max_by_key(|limit| limit.permits()),
                ];
                let limits = decisive.into_iter().flatten().copied().collect();
                Kind::MultiWindow { limits, slots: *slots }
            }
            other => other.clone(),
        }
    }
}
