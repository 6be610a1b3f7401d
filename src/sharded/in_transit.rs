//! What a call has in hand while it moves tokens.

use super::line::ShardLine;
use super::shard_word::ShardWord;
use super::shards::Shards;

/// Room and tokens on their way. Nobody else can spend them, and they are put down in
/// the shard at `index` at the latest when this is dropped.
#[derive(Debug)]
pub(super) struct InTransit<'a> {
    shards: &'a Shards,
    index: usize,
    pub(super) room: u64,
    pub(super) tokens: u64,
}

impl<'a> InTransit<'a> {
    /// A hand that is empty.
    pub(super) fn of(shards: &'a Shards, index: usize) -> InTransit<'a> {
        InTransit { shards, index, room: 0, tokens: 0 }
    }

    /// A hand that holds `tokens` in `room`.
    pub(super) fn with(shards: &'a Shards, index: usize, room: u64, tokens: u64) -> InTransit<'a> {
        InTransit { shards, index, room, tokens }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Takes all that the shard at `index` has.
    pub(super) fn take(&mut self, index: usize) {
        let taken = self.shards.at(index).map_or(ShardWord::NONE, ShardLine::take);
        self.room += taken.room();
        self.tokens += taken.left();
    }

    /// Takes the room of the shard at `index` that has nothing in it.
    pub(super) fn take_spare(&mut self, index: usize) {
        self.room += self.shards.at(index).map_or(0, ShardLine::take_spare);
    }

    /// Parts with up to `permits` tokens, and with as much room: how many they are.
    pub(super) fn part_with(&mut self, permits: u64) -> u64 {
        let parted = self.tokens.min(permits);
        self.tokens -= parted;
        self.room -= parted;
        parted
    }
}

impl Drop for InTransit<'_> {
    fn drop(&mut self) {
        // Who has room in hand has found the shards, or made them.
        if self.room > 0
            && let Some(shard) = self.shards.at(self.index)
        {
            shard.put(self.room, self.tokens);
            // Empty room, too: whoever is refused next is to close it, and so not to be told
            // what was remembered.
            self.shards.returned();
        }
    }
}
