//! The range of an adaptive limit.

use crate::concurrency::ConcurrencyLimit;

/// The limits that an algorithm may choose, and the one that it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    initial: u32,
    least: u32,
    most: u32,
}

impl Range {
    /// From 20 permits on, from 1 to 1000 of them.
    pub(super) const DEFAULT: Range = Range { initial: 20, least: 1, most: 1_000 };

    pub(super) fn with_initial(self, initial: u64) -> Range {
        Range { initial: counted(initial), ..self }
    }

    pub(super) fn with_least(self, least: u64) -> Range {
        let least = counted(least);
        Range { least, most: self.most.max(least), ..self }
    }

    pub(super) fn with_most(self, most: u64) -> Range {
        let most = counted(most);
        Range { most, least: self.least.min(most), ..self }
    }

    /// Returns the limit to begin with.
    pub(super) fn initial(self) -> u32 {
        self.initial.clamp(self.least, self.most)
    }

    pub(super) fn clamp(self, limit: u32) -> u32 {
        limit.clamp(self.least, self.most)
    }

    /// Does the same for a limit with a fraction.
    pub(super) fn clamp_fraction(self, limit: f64) -> f64 {
        limit.clamp(f64::from(self.least), f64::from(self.most))
    }
}

/// Returns `limit`, from 1 to the largest.
fn counted(limit: u64) -> u32 {
    limit.clamp(1, ConcurrencyLimit::MAX) as u32
}
