//! Where the shards are: there from the start, or made when callers get in each other's way.

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

/// A shard, and what it last refused. On lines apart: this is written with each denial, and
/// the other is looked at by all.
#[derive(Debug)]
pub(super) struct ShardSlot {
    pub(super) line: CachePadded<ShardLine>,
    pub(super) memory: CachePadded<DenialCache>,
}

/// The shards, and what they have in common.
#[derive(Debug)]
pub(super) struct ShardArray {
    pub(super) list: Box<[ShardSlot]>,
    /// How often tokens have come back. On a line of its own.
    pub(super) returns: Box<CachePadded<AtomicWord<u64>>>,
}

#[derive(Debug)]
pub(super) enum ShardSlots {
    Now(ShardArray),
    Later(Later),
}

/// Shards that are made once, when they are needed.
#[derive(Debug)]
pub(super) struct Later {
    /// How many; 0 for as many as the machine runs threads at once.
    count: usize,
    /// 1 when there is a table. The models see this word, and not the pointer, which is
    /// of another crate.
    is_open: AtomicWord<u64>,
    table: OnceBox<ShardArray>,
    races: AtomicWord<Races>,
}

impl ShardArray {
    /// `count` shards, which is a power of two, with nothing in them.
    pub(super) fn new(count: usize) -> ShardArray {
        debug_assert!(count.is_power_of_two() && count <= MAX_PLACES);
        let place = |_| ShardSlot {
            line: CachePadded::new(ShardLine::new(ShardWord::NONE)),
            memory: CachePadded::new(DenialCache::new()),
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

    /// The shards, if there are any yet.
    #[inline(always)]
    pub(super) fn table(&self) -> Option<&ShardArray> {
        match self {
            ShardSlots::Now(table) => Some(table),
            ShardSlots::Later(later) => later.table(),
        }
    }

    /// Makes them, if there are none yet, and no other call is just doing so.
    #[cold]
    pub(super) fn open(&self) {
        if let ShardSlots::Later(later) = self {
            later.open();
        }
    }

    /// Callers have lost `lost` races for the root at `now_nanos`. Makes the shards if
    /// those were too many.
    #[cold]
    pub(super) fn contended(&self, lost: u32, now_nanos: u64) {
        let ShardSlots::Later(later) = self else { return };
        // ORDERING: Relaxed, and the store. A count by which nothing is decided but when
        // the shards are made; one that is overwritten is not missed.
        // MODEL: none; when they are made is of no consequence.
        let races = later.races.load(Relaxed).and(lost, now_nanos);
        // ORDERING: Relaxed, as above.
        // MODEL: none; when they are made is of no consequence.
        later.races.store(races, Relaxed);
        if races.are_many() {
            later.open();
        }
    }

    /// The bytes beside those of the limiter itself.
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
        // ORDERING: Acquire; pairs with `open`, so that who sees that there is a table finds
        // it. A caller that has been refused by the root looks after its Acquire load
        // of the word: had one of the tokens that it lacks been drawn into a shard,
        // it would see the draw's Release, and what came before, which is this.
        // MODEL: `who_finds_the_root_empty_finds_the_shards`.
        if self.is_open.load(Acquire) == 0 { None } else { self.table.get() }
    }

    #[cold]
    fn open(&self) {
        // Counted here, because it takes longer than all else of a small limiter.
        let table = || Box::new(ShardArray::new(places(self.count)));
        if self.table.get().is_none() && self.table.set(table()).is_ok() {
            // ORDERING: Release; pairs with `table`. By who made it: until then another
            // does without.
            // MODEL: `who_finds_the_root_empty_finds_the_shards`.
            self.is_open.store(1, Release);
        }
    }
}
