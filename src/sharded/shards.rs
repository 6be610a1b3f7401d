//! The shards, and the counts and the quota hint that they share.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::decision::denial_cache::DenialCache;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Relaxed, Release};

use super::line::ShardLine;
use super::per_cpu::PerCpu;
use super::shard_word::ShardWord;

#[derive(Debug)]
pub(super) struct Shards {
    /// A power of two of them, for threads.
    list: Box<[ShardSlot]>,
    /// Shards of CPUs, which callers spend from first.
    per_cpu: Option<PerCpu>,
    /// Number of times that tokens have come back, or all was changed, after which an earlier
    /// denial may no longer hold. On its own cache line.
    returns: Box<CachePadded<AtomicWord<u64>>>,
    quota_hint: QuotaHint,
}

/// A shard and its denial cache, on separate lines: the cache is written at each denial, while all
/// callers read the shard's line.
#[derive(Debug)]
struct ShardSlot {
    line: CachePadded<ShardLine>,
    denials: CachePadded<DenialCache>,
}

/// Quota hint: the parts of the quota in force that grants report.
#[derive(Debug)]
struct QuotaHint {
    limit: AtomicWord<u64>,
    fill_nanos: AtomicWord<u64>,
}

impl Shards {
    /// Creates `count` shards for threads, a power of two, with nothing in them.
    pub(super) fn new(count: usize, per_cpu: Option<PerCpu>) -> Shards {
        debug_assert!(count.is_power_of_two());
        let slot = |_| ShardSlot {
            line: CachePadded::new(ShardLine::new(ShardWord::NONE)),
            denials: CachePadded::new(DenialCache::new()),
        };
        Shards {
            list: (0..count).map(slot).collect(),
            per_cpu,
            returns: Box::new(CachePadded::new(AtomicWord::new(0))),
            quota_hint: QuotaHint { limit: AtomicWord::new(0), fill_nanos: AtomicWord::new(0) },
        }
    }

    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the bytes that are not part of the limiter itself.
    pub(super) fn bytes(&self) -> usize {
        let per_cpu = self.per_cpu().map_or(0, PerCpu::bytes);
        size_of_val(&*self.list) + size_of_val(&*self.returns) + per_cpu
    }

    /// Returns the shards of CPUs, if there are any.
    #[inline(always)]
    pub(super) fn per_cpu(&self) -> Option<&PerCpu> {
        if PerCpu::EXISTS { self.per_cpu.as_ref() } else { None }
    }

    /// Spends `permits` from the shard of the CPU, if there is one. Returns the permits left, or `None` if it has too
    /// few, or another call came in between.
    #[inline(always)]
    pub(super) fn spend_here(&self, permits: u64) -> Option<u64> {
        self.per_cpu()?.spend(permits)
    }

    /// Returns the slot at `index`, wrapped.
    #[inline(always)]
    fn slot(&self, index: usize) -> &ShardSlot {
        &self.list[index & (self.list.len() - 1)]
    }

    /// Returns the shard at `index`, wrapped.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> &ShardLine {
        &self.slot(index).line
    }

    /// Returns the denial cache of the shard at `index`, wrapped.
    #[inline(always)]
    pub(super) fn denials(&self, index: usize) -> &DenialCache {
        &self.slot(index).denials
    }

    /// Puts tokens and their capacity into the shard of the CPU, or if there is none or it is closed, into the one at `index`.
    pub(super) fn put(&self, index: usize, room: u64, tokens: u64) {
        if !self.per_cpu().is_some_and(|per_cpu| per_cpu.put(room, tokens)) {
            self.at(index).put(room, tokens);
        }
    }

    /// Returns the tokens of a caller of the shard at `index`, which it can spend without asking other shards.
    pub(super) fn left_of(&self, index: usize) -> u64 {
        self.at(index).look().left() + self.per_cpu().map_or(0, PerCpu::left_here)
    }

    /// Returns the tokens in all shards except the one at `index`, each as it was when it was read.
    pub(super) fn left_beside(&self, index: usize) -> u64 {
        let left = |next| self.at(index.wrapping_add(next)).look().left();
        let of_cpus = self.per_cpu().map_or(0, |per_cpu| per_cpu.look().0);
        of_cpus + (1..self.count()).map(left).sum::<u64>()
    }

    /// Returns the tokens in all shards, and their empty capacity.
    pub(super) fn look(&self) -> (u64, u64) {
        let of_cpus = self.per_cpu().map_or((0, 0), PerCpu::look);
        self.list.iter().fold(of_cpus, |(left, spare), slot| {
            let room = slot.line.look();
            (left + room.left(), spare + room.spare())
        })
    }

    /// Returns the number of returns and changes, which end the validity of cached denials.
    #[inline(always)]
    pub(super) fn returns(&self) -> u64 {
        // ORDERING: Acquire. A caller that sees a return counted sees the tokens; a caller that
        // does not will find that the count has moved on. Pairs with `returned`. (The fence in
        // `DenialCache::cached_denial`, which comes next, would also suffice.)
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`.
        self.returns.load(Acquire)
    }

    /// Counts a return, or a change of the whole limiter: tokens can be found where there were none
    /// before.
    pub(super) fn returned(&self) {
        // ORDERING: Release; pairs with `returns`.
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`,
        // `a_denial_is_forgotten_when_all_is_changed`.
        self.returns.fetch_add(1, Release);
    }

    /// Returns the quota hint: the limit, and the time in which that much is earned.
    #[inline]
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
