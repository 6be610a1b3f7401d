//! Debits that come back: of receipts, of leases, and of reservations that are cancelled.

use super::pieces::Pieces;

/// A limiter, or the part of one that was charged.
pub(crate) trait Undo: Sync {
    /// Takes `debit` back as far as that is exact. Returns false if all of it stays charged.
    fn undo(&self, debit: Debit<'_>) -> bool;
}

/// A debit, as its limiter knows it.
#[derive(Clone, Copy)]
pub(crate) enum Debit<'a> {
    /// A word that was changed from the first of the values to the second.
    Word { before: u64, after: u64 },
    /// The same of the word of a key, in a store that puts back its present worth.
    #[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "a store of keys has some"))]
    Slot { slot: &'a dyn Undo, before: u64, after: u64 },
    /// Units of a bucket.
    Units(Pieces),
    /// Permits of a balance.
    Permits(u64),
    /// Capacity of a shard that a lease has taken along when `limit` was in force, and the `tokens` that
    /// are left in it.
    Shard { index: usize, capacity: u64, tokens: u64, limit: u64 },
}
