//! One shard: a word on a cache line of its own.

use crate::contention::Pauses;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{AcqRel, Relaxed};

use super::shard_word::ShardWord;

#[derive(Debug)]
pub(super) struct ShardLine {
    room: AtomicWord<ShardWord>,
}

impl ShardLine {
    pub(super) fn new(room: ShardWord) -> ShardLine {
        ShardLine { room: AtomicWord::new(room) }
    }

    /// Spends `permits` that are here; the permits left, or `None` if there are too few,
    /// or another call came in between.
    #[inline(always)]
    pub(super) fn spend(&self, permits: u64) -> Option<u64> {
        // ORDERING: Relaxed, and so the CAS. It takes what is there at that moment, and
        // reads nothing by it: that the tokens are paid for does not depend on who
        // can see the payment. What the last put of tokens made visible stays so to
        // whoever takes the room next: a read-modify-write goes on with the release
        // sequence that it finds.
        // MODEL: `shards_never_admit_more_than_the_bound`.
        let seen = self.room.load(Relaxed);
        let next = seen.spend(permits)?;
        // ORDERING: Relaxed, as above.
        // MODEL: `shards_never_admit_more_than_the_bound`.
        self.room.compare_exchange_weak(seen, next, Relaxed, Relaxed).ok()?;
        Some(next.left())
    }

    pub(super) fn look(&self) -> ShardWord {
        // ORDERING: Relaxed. A caller that finds too little here has looked at the root
        // before, by an Acquire load, and so not at this earlier.
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`,
        // `what_is_granted_of_some_is_one_at_least`.
        self.room.load(Relaxed)
    }

    /// Takes all there is: the room, and the tokens in it.
    pub(super) fn take(&self) -> ShardWord {
        self.change(|_| ShardWord::NONE)
    }

    /// Takes the room that has nothing in it.
    pub(super) fn take_spare(&self) -> u64 {
        self.change(ShardWord::closed).spare()
    }

    pub(super) fn put(&self, room: u64, tokens: u64) {
        self.change(|seen| seen.with(room, tokens));
    }

    /// Puts what `next` makes of the word in its place, and returns what it was.
    fn change(&self, next: impl Fn(ShardWord) -> ShardWord) -> ShardWord {
        let mut pauses = Pauses::new();
        // ORDERING: Relaxed. Who takes nothing learns nothing; who does takes it by the CAS.
        // MODEL: `room_given_back_was_empty`, `empty_room_is_given_back_once`.
        let mut seen = self.room.load(Relaxed);
        loop {
            let next = next(seen);
            if next == seen {
                return seen;
            }
            // ORDERING: AcqRel. Release, so that whoever takes the room next sees the
            // root as it was when that room was lent and filled, or a later one: its look
            // at the root decides whether the room may be given back. Acquire, to
            // be the one who sees it. On failure Relaxed, as for the load. (Where nothing has
            // to be settled, the lock of changes orders as much, and no model tells.)
            // MODEL: `room_given_back_was_empty`, `room_is_given_back_by_a_look_that_is_no_older`.
            if self.room.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok() {
                return seen;
            }
            pauses.lost_race();
            // ORDERING: Relaxed, as before.
            // MODEL: `room_given_back_was_empty`.
            seen = self.room.load(Relaxed);
        }
    }
}
