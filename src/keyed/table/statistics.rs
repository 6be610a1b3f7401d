//! Scans of a table: its live keys one by one, and counts of its slots.

use core::time::Duration;

use crate::time::clock::Clock;

use super::key_word::Kind;
use super::line::PLACES;
use super::lines::LineTable;

/// Number of slots of a [`KeyTable`](super::KeyTable), by what they hold.
///
/// The slots of a table in use are not all read at one instant.
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, quota};
///
/// let table = KeyTable::<str>::with_keys(quota!(10 / hour), 1_000)?;
/// assert!(table.try_acquire("ada", 1).is_ok());
/// let occupancy = table.occupancy();
/// assert_eq!((occupancy.live, occupancy.expired), (1, 0));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// All slots.
    pub places: usize,
    /// Live keys: those whose buckets are not full, which need their slots. (Not full under the
    /// slowest of the quotas for which the table was made.)
    pub live: usize,
    /// Keys that have become idle since. Their slots are reused on demand, from two skews of the
    /// clock after they did.
    pub expired: usize,
    /// Slots that are being taken, or were when their caller was held up.
    pub pending: usize,
}

/// A live key of a [`KeyTable`](super::KeyTable), as far as the table knows it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{KeyTable, quota};
///
/// let table = KeyTable::<str>::with_keys(quota!(10 / hour), 1_000)?;
/// assert!(table.try_acquire("ada", 5).is_ok());
/// let entry = table.iter().next().expect("one key is live");
/// assert!(entry.full_after() <= Duration::from_secs(31 * 60));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEntry {
    pub(super) fingerprint: u32,
    pub(super) full_after: Duration,
}

impl TableEntry {
    /// Returns the key's fingerprint: 24 bits of its hash.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Returns the time until the key's bucket is full, if no permits are taken: under the slowest
    /// of the quotas for which the table was made, if there are several.
    #[must_use]
    pub fn full_after(&self) -> Duration {
        self.full_after
    }
}

impl<C: Clock> LineTable<C> {
    /// Iterates over the live keys: their fingerprints, and the ticks that they could spend under
    /// the slowest quota.
    pub(super) fn live(&self) -> impl Iterator<Item = (u32, i64)> {
        self.lines().iter().flat_map(move |line| {
            let words = line.words();
            let now = self.moment().now;
            words.into_iter().filter_map(move |word| {
                let age = self.ticks.age(now, word.level());
                let is_live = word.kind() == Kind::Charged && age < self.ticks.span;
                is_live.then_some((word.fingerprint(), age))
            })
        })
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        let mut found = Occupancy { places: self.lines().len() * PLACES, ..Occupancy::default() };
        for line in self.lines() {
            let words = line.words();
            let now = self.moment().now;
            for word in words {
                match word.kind() {
                    Kind::Charged if self.ticks.age(now, word.level()) < self.ticks.span => {
                        found.live += 1;
                    }
                    Kind::Charged => found.expired += 1,
                    Kind::Marker => found.pending += 1,
                    Kind::Empty | Kind::Tombstone => {}
                }
            }
        }
        found
    }
}
