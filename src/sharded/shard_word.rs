//! A shard's word: its reserved capacity, and the tokens in it. No atomics here.
//!
//! ```text
//!  bit 63                     32 31                      0
//!     +--------------------------+--------------------------+
//!     |      ROOM (32 bits)      |      LEFT (32 bits)      |
//!     +--------------------------+--------------------------+
//! ```
//!
//! | from         | `spend(n)`, n <= LEFT | taken  | `with(room, tokens)`         |
//! |--------------|-----------------------|--------|------------------------------|
//! | (ROOM, LEFT) | (ROOM, LEFT - n)      | (0, 0) | (ROOM + room, LEFT + tokens) |
//!
//! LEFT never exceeds ROOM. A value may recur; that is harmless, because each change depends only
//! on the present value, and not on earlier ones.

use core::fmt;

use crate::bits::Field;
use crate::sync::Word;

/// Tokens that may be spent; the root has already counted them as taken.
const LEFT: Field = Field::low(32);

/// Most tokens that may be here: the capacity that the root has reserved for the shard.
const ROOM: Field = LEFT.then(32);

const _: () = assert!(ROOM.end() == u64::BITS, "the fields fill the word");

/// The word's value at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ShardWord(u64);

impl ShardWord {
    /// No capacity, and no tokens.
    pub(super) const NONE: ShardWord = ShardWord(0);

    /// Most capacity that one shard can have.
    pub(super) const MAX: u64 = ROOM.max();

    #[inline(always)]
    pub(super) const fn left(self) -> u64 {
        LEFT.get(self.0)
    }

    pub(super) const fn room(self) -> u64 {
        ROOM.get(self.0)
    }

    /// Returns the capacity that has no tokens in it.
    pub(super) const fn spare(self) -> u64 {
        self.room() - self.left()
    }

    /// Returns the word with `permits` fewer, or `None` if there are too few, or if `permits` is 0.
    #[inline(always)]
    pub(super) const fn spend(self, permits: u64) -> Option<ShardWord> {
        // One comparison covers both: 0 - 1 wraps to the largest value.
        if permits.wrapping_sub(1) < self.left() { Some(ShardWord(self.0 - permits)) } else { None }
    }

    /// Returns the word with `room` more capacity and `tokens` more in it, as far as its bits
    /// allow.
    pub(super) fn with(self, room: u64, tokens: u64) -> ShardWord {
        debug_assert!(tokens <= room);
        let room = self.room().saturating_add(room).min(ShardWord::MAX);
        let left = self.left().saturating_add(tokens).min(room);
        ShardWord(ROOM.put(room) | LEFT.put(left))
    }

    /// Returns the word with only as much capacity as it has tokens.
    pub(super) fn closed(self) -> ShardWord {
        ShardWord(ROOM.put(self.left()) | LEFT.put(self.left()))
    }
}

impl Word for ShardWord {
    #[inline(always)]
    fn from_bits(bits: u64) -> ShardWord {
        ShardWord(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for ShardWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardWord").field("room", &self.room()).field("left", &self.left()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNTS: [u64; 7] = [0, 1, 2, 1_000, (1 << 31) - 1, ShardWord::MAX - 1, ShardWord::MAX];

    #[test]
    fn tokens_are_spent_one_by_one_and_the_room_stays() {
        for room in AMOUNTS {
            for left in AMOUNTS.into_iter().filter(|left| *left <= room) {
                let from = ShardWord::NONE.with(room, left);
                assert_eq!((from.room(), from.left(), from.spare()), (room, left, room - left));
                for permits in AMOUNTS.into_iter().chain([1 << 32, u64::MAX]) {
                    let spent = from.spend(permits).map(|next| (next.room(), next.left()));
                    let is_there = (1..=left).contains(&permits);
                    assert_eq!(spent, is_there.then(|| (room, left - permits)));
                }
                assert_eq!((from.closed().room(), from.closed().left()), (left, left));
            }
        }
    }

    #[test]
    fn what_the_word_has_no_bits_for_is_lost_and_never_more_than_that() {
        for room in AMOUNTS {
            for more in AMOUNTS {
                let next = ShardWord::NONE.with(room, room).with(more, more);
                assert_eq!(next.room(), (room + more).min(ShardWord::MAX));
                assert_eq!(next.left(), next.room());
            }
        }
    }
}
