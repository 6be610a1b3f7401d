//! Capacity and tokens that a call is moving.

use super::per_cpu::{PerCpu, Taken};
use super::shards::Shards;

/// Reserved capacity and tokens in transit. No other call can spend them, and they are put down when this is dropped, at the
/// latest: in the shard of the CPU, or if there is none or it is closed, in the shard at `index`.
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

    /// Takes all capacity and tokens of the caller's shards: that of its CPU, if there is one, and that at its index.
    pub(super) fn take_own(&mut self) {
        if let Some(per_cpu) = self.shards.per_cpu() {
            self.add(per_cpu.take());
        }
        self.take(self.index);
    }

    /// Takes from other shards, until it holds `tokens`, or all that there are.
    pub(super) fn steal(&mut self, tokens: u64) {
        for next in 1..self.shards.count() {
            if self.tokens >= tokens {
                return;
            }
            self.take(self.index.wrapping_add(next));
        }
        if let Some(per_cpu) = self.shards.per_cpu() {
            self.add(per_cpu.steal(tokens.saturating_sub(self.tokens)));
        }
    }

    /// Takes the empty capacity of all shards.
    pub(super) fn take_spare(&mut self) {
        for index in 0..self.shards.count() {
            self.room += self.shards.at(index).take_spare();
        }
        self.add(self.shards.per_cpu().map_or(Taken::default(), PerCpu::take_spare));
    }

    /// Takes everything from all shards.
    pub(super) fn take_all(&mut self) {
        for index in 0..self.shards.count() {
            self.take(index);
        }
        self.add(self.shards.per_cpu().map_or(Taken::default(), PerCpu::take_all));
    }

    fn take(&mut self, index: usize) {
        let taken = self.shards.at(index).take();
        self.add(Taken { room: taken.room(), tokens: taken.left() });
    }

    fn add(&mut self, Taken { room, tokens }: Taken) {
        self.room += room;
        self.tokens += tokens;
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
            self.shards.put(self.index, self.room, self.tokens);
            // Count a return even if the capacity is empty: the next call that would be refused
            // must release it, and so must not get a cached denial.
            self.shards.returned();
        }
    }
}
