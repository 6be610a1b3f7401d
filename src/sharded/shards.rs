//! The shards, and what they have in common.

use crate::decision::denial_cache::DenialCache;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Relaxed, Release};

use super::line::ShardLine;
use super::shard_slots::{ShardArray, ShardSlot, ShardSlots};

/// The most tokens that a shard draws at once. What a draw costs, shared among so many
/// permits, is a small part of a nanosecond; more would only be missing elsewhere.
const MAX_DRAW: u64 = 1_024;

/// What a shard draws first; each time twice as many. So one that is seldom asked keeps
/// little from the others.
const FIRST_DRAW: u64 = 16;

/// Less is not worth a draw, which is four read-modify-writes, one of them of the
/// root's line; one more of that if it borrows.
const MIN_DRAW: u64 = 4;

/// Of what the root holds, the shards together draw at most one in so many, each time
/// that all of them draw once.
const SHARE: u64 = 4;

#[derive(Debug)]
pub(super) struct Shards {
    places: ShardSlots,
    /// How often the terms have changed. (How often tokens have come back is counted where
    /// the shards are.) What was refused before may be granted since.
    changes: AtomicWord<u64>,
    told: Told,
}

/// What grants tell of the quota in force.
#[derive(Debug)]
struct Told {
    limit: AtomicWord<u64>,
    fill_nanos: AtomicWord<u64>,
}

impl Shards {
    /// `count` of them, which is a power of two, with nothing in them.
    pub(super) fn new(count: usize) -> Shards {
        Shards::of(ShardSlots::Now(ShardArray::new(count)))
    }

    /// None, until callers get in each other's way; and then `count`, or if that is 0 as
    /// many as the machine runs threads at once.
    pub(super) fn later(count: usize) -> Shards {
        Shards::of(ShardSlots::later(count))
    }

    fn of(places: ShardSlots) -> Shards {
        let told = Told { limit: AtomicWord::new(0), fill_nanos: AtomicWord::new(0) };
        Shards { places, changes: AtomicWord::new(0), told }
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

    /// The place at `index`, counted round; `None` as long as there are no shards.
    #[inline(always)]
    fn place(&self, index: usize) -> Option<&ShardSlot> {
        let list = self.list();
        list.get(index & list.len().wrapping_sub(1))
    }

    /// The shard at `index`, counted round; `None` as long as there are none.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> Option<&ShardLine> {
        self.place(index).map(|place| &*place.line)
    }

    /// What the shard at `index` last refused.
    #[inline(always)]
    pub(super) fn memory(&self, index: usize) -> Option<&DenialCache> {
        self.place(index).map(|place| &*place.memory)
    }

    /// How many tokens a shard may draw from a root that holds `permits`: many far
    /// from the limit, none near it.
    pub(super) fn draw_of(&self, permits: u64) -> u64 {
        match permits / (SHARE * self.count().max(1) as u64) {
            ..MIN_DRAW => 0,
            share => share.min(MAX_DRAW),
        }
    }

    /// The same for a shard that has `room`, and was asked for `asked`.
    pub(super) fn next_draw_of(&self, permits: u64, room: u64, asked: u64) -> u64 {
        self.draw_of(permits).min(2 * room.max(asked).max(FIRST_DRAW / 2))
    }

    /// The tokens in all shards but the one at `index`, as each was when it was looked at.
    pub(super) fn left_beside(&self, index: usize) -> u64 {
        let left = |next| self.at(index.wrapping_add(next)).map_or(0, |line| line.look().left());
        (1..self.count()).map(left).sum()
    }

    /// The tokens in all of them, and the room that has nothing in it.
    pub(super) fn look(&self) -> (u64, u64) {
        self.list().iter().fold((0, 0), |(left, spare), place| {
            let room = place.line.look();
            (left + room.left(), spare + room.spare())
        })
    }

    /// How often something has come back.
    #[inline(always)]
    pub(super) fn returns(&self) -> u64 {
        let Some(ShardArray { returns, .. }) = self.places.table() else { return 0 };
        // ORDERING: Acquire. Who sees a return counted sees the tokens; and who does not
        // will find that the count has moved on. Pairs with `returned`. (The fence in
        // `DenialCache::recall`, which comes next, would do as well.)
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`.
        let returns = returns.load(Acquire);
        // ORDERING: Acquire; the same, of `changed`.
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`.
        returns.wrapping_add(self.changes.load(Acquire))
    }

    /// Tokens are where they can be found, that were not there before.
    pub(super) fn returned(&self) {
        // Nobody remembers anything before there are shards.
        let Some(ShardArray { returns, .. }) = self.places.table() else { return };
        // ORDERING: Release; pairs with `returns`.
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`.
        returns.fetch_add(1, Release);
    }

    /// The terms have changed. Counted whether there are shards or not: a caller may be
    /// about to make them, and to remember a denial of before.
    pub(super) fn changed(&self) {
        // ORDERING: Release; pairs with `returns`.
        // MODEL: `a_denial_by_new_shards_is_forgotten_when_all_is_changed`.
        self.changes.fetch_add(1, Release);
    }

    /// The limit that grants tell, and the time in which as much is earned.
    pub(super) fn told(&self) -> (u64, u64) {
        // ORDERING: Relaxed. Nothing is decided by them.
        // MODEL: none; they are only told.
        let limit = self.told.limit.load(Relaxed);
        // ORDERING: Relaxed, the same.
        // MODEL: none; they are only told.
        (limit, self.told.fill_nanos.load(Relaxed))
    }

    pub(super) fn tell(&self, limit: u64, fill_nanos: u64) {
        // ORDERING: Relaxed, as in `told`.
        // MODEL: none; they are only told.
        self.told.limit.store(limit, Relaxed);
        // ORDERING: Relaxed, as in `told`.
        // MODEL: none; they are only told.
        self.told.fill_nanos.store(fill_nanos, Relaxed);
    }
}
