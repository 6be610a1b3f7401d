//! Capacity and tokens that a call is moving.

use super::shards::Shards;

/// Reserved capacity and tokens in transit. No other call can spend them, and they are put down in
/// the shard at `index` when this is dropped, at the latest.
#[derive(Debug)]
pub(super) struct InTransit<'a> {
    shards: &'a Shards,
    index: usize,
    pub(super) room: u64,
    pub(super) tokens: u64,
}

impl<'a> InTransit<'a> {
    /// Creates an `InTransit` that holds nothing.
    pub(super) fn of(shards: &'a Shards, index: usize) -> InTransit<'a> {
        InTransit { shards, index, room: 0, tokens: 0 }
    }

    /// Creates an `InTransit` that holds `tokens` in capacity `room`.
    pub(super) fn with(shards: &'a Shards, index: usize, room: u64, tokens: u64) -> InTransit<'a> {
        InTransit { shards, index, room, tokens }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Takes all capacity and tokens of the shard at `index`.
    pub(super) fn take(&mut self, index: usize) {
        let taken = self.shards.at(index).take();
        self.room += taken.room();
        self.tokens += taken.left();
    }

    /// Takes the empty capacity of the shard at `index`.
    pub(super) fn take_spare(&mut self, index: usize) {
        self.room += self.shards.at(index).take_spare();
    }

    /// Removes up to `permits` tokens, with as much capacity. Returns how many.
    pub(super) fn part_with(&mut self, permits: u64) -> u64 {
        let parted = self.tokens.min(permits);
        self.tokens -= parted;
        self.room -= parted;
        parted
    }
}

impl Drop for InTransit<'_> {
    fn drop(&mut self) {
        if self.room > 0 {
            self.shards.at(self.index).put(self.room, self.tokens);
            // Count a return even if the capacity is empty: the next call that would be refused
            // must release it, and so must not get a cached denial.
            self.shards.returned();
        }
    }
}
