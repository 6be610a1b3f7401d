//! What a call has in hand while it moves tokens, and what a lease has.

use super::shards::Shards;

/// Room and tokens on their way. Nobody else can spend them, and they are put down in
/// the shard at `index` at the latest when this is dropped.
#[derive(Debug)]
pub(super) struct Hand<'a> {
    shards: &'a Shards,
    index: usize,
    pub(super) room: u64,
    pub(super) tokens: u64,
}

impl<'a> Hand<'a> {
    /// A hand that is empty.
    pub(super) fn of(shards: &'a Shards, index: usize) -> Hand<'a> {
        Hand { shards, index, room: 0, tokens: 0 }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Takes all that the shard at `index` has.
    pub(super) fn take(&mut self, index: usize) {
        let taken = self.shards.at(index).take();
        self.room += taken.room();
        self.tokens += taken.left();
    }

    /// Takes up to `permits` tokens of the shard at `index`.
    pub(super) fn take_up_to(&mut self, index: usize, permits: u64) {
        let taken = self.shards.at(index).take_up_to(permits);
        self.room += taken;
        self.tokens += taken;
    }

    /// Takes the room of the shard at `index` that has nothing in it.
    pub(super) fn take_spare(&mut self, index: usize) {
        self.room += self.shards.at(index).take_spare();
    }

    /// What is in hand, for good: who has it now puts it down.
    pub(super) fn keep(mut self) -> Home<'a> {
        let home = Home { shards: self.shards, index: self.index, room: self.room };
        (self.room, self.tokens) = (0, 0);
        home
    }

    /// Room that has nothing in it.
    pub(super) fn spare(&self) -> u64 {
        self.room - self.tokens
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        if self.room > 0 {
            self.shards.at(self.index).put(self.room, self.tokens);
        }
        if self.tokens > 0 {
            self.shards.returned();
        }
    }
}

/// Where what a lease leaves is put down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home<'a> {
    shards: &'a Shards,
    index: usize,
    /// What the lease took with it.
    room: u64,
}

impl Home<'_> {
    /// Puts the room of a lease back, with the `tokens` that it leaves.
    pub(crate) fn put_back(self, tokens: u64) {
        drop(Hand { shards: self.shards, index: self.index, room: self.room, tokens });
    }
}
