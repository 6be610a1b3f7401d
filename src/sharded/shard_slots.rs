//! The shards' storage: there from the start, or created when callers contend.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;
use once_cell::race::OnceBox;

use crate::decision::denial_cache::DenialCache;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::thread_index::{MAX_PLACES, places};

use super::line::ShardLine;
use super::races::Races;
use super::shard_word::ShardWord;

/// A shard and its denial cache, on separate lines: the cache is written at each denial, while all
/// callers read the shard's line.
#[derive(Debug)]
pub(super) struct ShardSlot {
    pub(super) line: CachePadded<ShardLine>,
    pub(super) denials: CachePadded<DenialCache>,
}

/// The shards, and the count that they share.
#[derive(Debug)]
pub(super) struct ShardArray {
    pub(super) list: Box<[ShardSlot]>,
    /// Number of times that tokens have come back. On its own cache line.
    pub(super) returns: Box<CachePadded<AtomicWord<u64>>>,
}

#[derive(Debug)]
pub(super) enum ShardSlots {
    Now(ShardArray),
    Later(Later),
}

/// Shards that are created once, when they are needed.
#[derive(Debug)]
pub(super) struct Later {
    /// Number of shards; 0 for as many as the machine runs threads at once.
    count: usize,
    /// 1 once `table` is set. The models see this word, and not the pointer, which is of another
    /// crate.
    is_open: AtomicWord<u64>,
    table: OnceBox<ShardArray>,
    races: AtomicWord<Races>,
}

impl ShardArray {
    /// Creates `count` shards, a power of two, with nothing in them.
    pub(super) fn new(count: usize) -> ShardArray {
        debug_assert!(count.is_power_of_two() && count <= MAX_PLACES);
        let place = |_| ShardSlot {
            line: CachePadded::new(ShardLine::new(ShardWord::NONE)),
            denials: CachePadded::new(DenialCache::new()),
        };
        ShardArray {
            list: (0..count).map(place).collect(),
            returns: Box::new(CachePadded::new(AtomicWord::new(0))),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.list) + size_of_val(&*self.returns)
    }
}

impl ShardSlots {
    pub(super) fn later(count: usize) -> ShardSlots {
        ShardSlots::Later(Later {
            count,
            is_open: AtomicWord::new(0),
            table: OnceBox::new(),
            races: AtomicWord::new(Races::NONE),
        })
    }

    /// Returns the shards, if there are any yet.
    #[inline(always)]
    pub(super) fn table(&self) -> Option<&ShardArray> {
        match self {
            ShardSlots::Now(table) => Some(table),
            ShardSlots::Later(later) => later.table(),
        }
    }

    /// Creates the shards, unless they exist or another call is creating them.
    #[cold]
    pub(super) fn open(&self) {
        if let ShardSlots::Later(later) = self {
            later.open();
        }
    }

    /// Counts `lost` more lost races for the root at `now_nanos`. Creates the shards if there were
    /// too many.
    #[cold]
    pub(super) fn contended(&self, lost: u32, now_nanos: u64) {
        let ShardSlots::Later(later) = self else { return };
        // ORDERING: Relaxed, and so is the store. The count only decides when the shards are
        // created; an overwritten count is not missed.
        // MODEL: none; when they are made is of no consequence.
        let races = later.races.load(Relaxed).and(lost, now_nanos);
        // ORDERING: Relaxed, as above.
        // MODEL: none; when they are made is of no consequence.
        later.races.store(races, Relaxed);
        if races.are_many() {
            later.open();
        }
    }

    /// Returns the bytes that are not part of the limiter itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            ShardSlots::Now(table) => table.bytes(),
            ShardSlots::Later(later) => {
                later.table().map_or(0, |table| size_of::<ShardArray>() + table.bytes())
            }
        }
    }
}

impl Later {
    #[inline(always)]
    fn table(&self) -> Option<&ShardArray> {
        // ORDERING: Acquire; pairs with `open`, so that a caller that sees the flag finds the
        // table. A caller that has been refused by the root loads this after its Acquire load of
        // the word: had one of the tokens that it lacks been moved into a shard, it would see that
        // refill's Release, and everything before it, including this flag.
        // MODEL: `who_finds_the_root_empty_finds_the_shards`.
        if self.is_open.load(Acquire) == 0 { None } else { self.table.get() }
    }

    #[cold]
    fn open(&self) {
        // The machine's threads are counted here, because that takes longer than creating the rest
        // of a small limiter.
        let table = || Box::new(ShardArray::new(places(self.count)));
        if self.table.get().is_none() && self.table.set(table()).is_ok() {
            // ORDERING: Release; pairs with `table`. Stored by the call that created the shards;
            // until then other calls do without them.
            // MODEL: `who_finds_the_root_empty_finds_the_shards`.
            self.is_open.store(1, Release);
        }
    }
}
