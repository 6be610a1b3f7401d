//! One shard: a word on its own cache line.

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

    /// Spends `permits` of the tokens here. Returns the permits left, or `None` if there are too
    /// few or another call came in between.
    #[inline(always)]
    pub(super) fn spend(&self, permits: u64) -> Option<u64> {
        // ORDERING: Relaxed, and so is the CAS. It takes tokens that are there at that moment, and
        // reads nothing else through it: the root has counted the tokens as taken, whether or not
        // this caller can see that. All that the last put of tokens released stays visible to the
        // next caller that takes the capacity: a read-modify-write continues the release sequence
        // that it finds.
        // MODEL: `shards_never_admit_more_than_the_bound`.
        let seen = self.room.load(Relaxed);
        let next = seen.spend(permits)?;
        // ORDERING: Relaxed, as above.
        // MODEL: `shards_never_admit_more_than_the_bound`.
        self.room.compare_exchange_weak(seen, next, Relaxed, Relaxed).ok()?;
        Some(next.left())
    }

    pub(super) fn look(&self) -> ShardWord {
        // ORDERING: Relaxed. A caller that finds too few tokens here has loaded the root before,
        // with Acquire, so this load cannot come before that one.
        // MODEL: `a_denial_is_forgotten_when_tokens_come_back`,
        // `what_is_granted_of_some_is_one_at_least`.
        self.room.load(Relaxed)
    }

    /// Takes everything: the capacity, and the tokens in it.
    pub(super) fn take(&self) -> ShardWord {
        self.change(|_| ShardWord::NONE)
    }

    /// Takes the capacity that has no tokens in it.
    pub(super) fn take_spare(&self) -> u64 {
        self.change(ShardWord::closed).spare()
    }

    pub(super) fn put(&self, room: u64, tokens: u64) {
        self.change(|seen| seen.with(room, tokens));
    }

    /// Replaces the word by `next` of it, and returns the previous value.
    fn change(&self, next: impl Fn(ShardWord) -> ShardWord) -> ShardWord {
        let mut pauses = Pauses::new();
        // ORDERING: Relaxed. A call that changes something synchronizes by the CAS; one that finds
        // nothing to change takes nothing from the shard, and concludes nothing from the load.
        // MODEL: `room_given_back_was_empty`, `empty_room_is_given_back_once`.
        let mut seen = self.room.load(Relaxed);
        loop {
            let next = next(seen);
            if next == seen {
                return seen;
            }
            // ORDERING: AcqRel. Release, so that the next caller that takes the capacity sees the
            // root as it was when that capacity was reserved and filled, or later: its load of the
            // root decides whether the capacity may be released. Acquire, to be the caller that
            // sees it. On failure Relaxed, as for the load. (Where nothing has to be cut, the
            // lock of changes orders as much, and no model can tell.)
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
