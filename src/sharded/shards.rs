//! The shards, and the counts and the quota hint that they share.

use crate::decision::denial_cache::DenialCache;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Relaxed, Release};

use super::line::ShardLine;
use super::shard_slots::{ShardArray, ShardSlot, ShardSlots};

#[derive(Debug)]
pub(super) struct Shards {
    places: ShardSlots,
    /// Number of changes of the terms, after which an earlier denial may no longer hold. (Returns
    /// of tokens are counted where the shards are.)
    changes: AtomicWord<u64>,
    quota_hint: QuotaHint,
}

/// Quota hint: the parts of the quota in force that grants report.
#[derive(Debug)]
struct QuotaHint {
    limit: AtomicWord<u64>,
    fill_nanos: AtomicWord<u64>,
}

impl Shards {
    /// Creates `count` shards, a power of two, with nothing in them.
    pub(super) fn new(count: usize) -> Shards {
        Shards::of(ShardSlots::Now(ShardArray::new(count)))
    }

    /// Creates none until callers contend, and then `count`, or if that is 0 as many as the machine
    /// runs threads at once.
    pub(super) fn later(count: usize) -> Shards {
        Shards::of(ShardSlots::later(count))
    }

    fn of(places: ShardSlots) -> Shards {
        let quota_hint = QuotaHint { limit: AtomicWord::new(0), fill_nanos: AtomicWord::new(0) };
        Shards { places, changes: AtomicWord::new(0), quota_hint }
    }

    pub(super) fn places(&self) -> &ShardSlots {
        &self.places
    }

    #[inline(always)]
    fn list(&self) -> &[ShardSlot] {
        self.places.table().map_or(&[], |table| &table.list)
    }

    pub(super) fn count(&self) -> usize {
        self.list().len()
    }

    /// Returns the slot at `index`, wrapped; `None` while there are no shards.
    #[inline(always)]
    fn place(&self, index: usize) -> Option<&ShardSlot> {
        let list = self.list();
        list.get(index & list.len().wrapping_sub(1))
    }

    /// Returns the shard at `index`, wrapped; `None` while there are no shards.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> Option<&ShardLine> {
        self.place(index).map(|place| &*place.line)
    }

    /// Returns the denial cache of the shard at `index`.
    #[inline(always)]
    pub(super) fn denials(&self, index: usize) -> Option<&DenialCache> {
        self.place(index).map(|place| &*place.denials)
    }

    /// Returns the tokens in all shards except the one at `index`, each as it was when it was read.
    pub(super) fn left_beside(&self, index: usize) -> u64 {
        let left = |next| self.at(index.wrapping_add(next)).map_or(0, |line| line.look().left());
        (1..self.count()).map(left).sum()
    }

    /// Returns the tokens in all shards, and their empty capacity.
    pub(super) fn look(&self) -> (u64, u64) {
        self.list().iter().fold((0, 0), |(left, spare), place| {
            let room = place.line.look();
            (left + room.left(), spare + room.spare())
        })
    }

    /// Returns the number of returns and changes, which end the validity of cached denials.
    #[inline(always)]
    pub(super) fn returns(&self) -> u64 {
        let Some(ShardArray { returns, .. }) = self.places.table() else { return 0 };
        // ORDERING: Acquire. A caller that sees a return counted sees the tokens; a caller that
        // does not will find that the count has moved on. Pairs with `returned`. (The fence in
        // `DenialCache::cached_denial`, which comes next, would also suffice.)
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`.
        let returns = returns.load(Acquire);
        // ORDERING: Acquire; the same, for `changed`.
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`.
        returns.wrapping_add(self.changes.load(Acquire))
    }

    /// Counts a return: tokens can be found where there were none before.
    pub(super) fn returned(&self) {
        // No denial is cached before there are shards.
        let Some(ShardArray { returns, .. }) = self.places.table() else { return };
        // ORDERING: Release; pairs with `returns`.
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`.
        returns.fetch_add(1, Release);
    }

    /// Counts a change of the terms, whether or not there are shards: a caller may be about to
    /// create them, and to cache an earlier denial.
    pub(super) fn changed(&self) {
        // ORDERING: Release; pairs with `returns`.
        // MODEL: `a_denial_by_new_shards_is_forgotten_when_all_is_changed`.
        self.changes.fetch_add(1, Release);
    }

    /// Returns the quota hint: the limit, and the time in which that much is earned.
    pub(super) fn quota_hint(&self) -> (u64, u64) {
        // ORDERING: Relaxed. No decision depends on them.
        // MODEL: none; they are only told.
        let limit = self.quota_hint.limit.load(Relaxed);
        // ORDERING: Relaxed, the same.
        // MODEL: none; they are only told.
        (limit, self.quota_hint.fill_nanos.load(Relaxed))
    }

    pub(super) fn set_quota_hint(&self, limit: u64, fill_nanos: u64) {
        // ORDERING: Relaxed, as in `quota_hint`.
        // MODEL: none; they are only told.
        self.quota_hint.limit.store(limit, Relaxed);
        // ORDERING: Relaxed, as in `quota_hint`.
        // MODEL: none; they are only told.
        self.quota_hint.fill_nanos.store(fill_nanos, Relaxed);
    }
}
