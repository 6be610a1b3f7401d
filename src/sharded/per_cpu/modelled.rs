//! Sequences and fences as the models have them.
//!
//! Each CPU has a generation. A thread that enters a sequence raises that of its CPU, as a switch to it interrupts the one
//! before; a fence raises it too. A sequence stores only if the generation is still its own, and the comparison and
//! the store are one step, under a lock. The lock orders memory as the kernel's switches and fences do.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::sharded::shard_word::ShardWord;
use crate::sync::Lock;
use crate::sync::Ordering::{Acquire, Relaxed};
use crate::sync::model;

use super::slot::{OPEN, Slot};

#[derive(Debug)]
pub(super) struct System {
    generations: Box<[Lock<u64>]>,
}

impl System {
    pub(super) const EXISTS: bool = true;

    /// Finds none: only models that ask for CPUs have some.
    pub(super) fn detect() -> Option<System> {
        None
    }

    pub(super) fn of(cpus: usize) -> System {
        System { generations: (0..cpus).map(|_| Lock::new(0)).collect() }
    }

    pub(super) fn cpus(&self) -> usize {
        self.generations.len()
    }

    pub(super) fn cpu(&self) -> usize {
        model::cpu()
    }

    pub(super) fn spend(&self, slots: &[CachePadded<Slot>], permits: u64) -> Option<ShardWord> {
        let cpu = self.cpu();
        self.run(slots.get(cpu)?, cpu, |found| found.spend(permits))
    }

    pub(super) fn store(&self, slot: &Slot, cpu: usize, seen: ShardWord, next: ShardWord) -> bool {
        let next = |found| (found == seen).then_some(next);
        cpu == self.cpu() && self.run(slot, cpu, next).is_some()
    }

    /// Replaces the word of an open slot by `next` of it, if nothing interrupts.
    fn run(
        &self,
        slot: &Slot,
        cpu: usize,
        next: impl FnOnce(ShardWord) -> Option<ShardWord>,
    ) -> Option<ShardWord> {
        let entered = self.interrupt(cpu);
        // ORDERING: Acquire, as all loads are on the processor of the real sequence.
        // MODEL: `a_slot_is_robbed_beside_its_owner`.
        if slot.closer.load(Acquire) != OPEN {
            return None;
        }
        let next = next(slot.word())?;
        let generation = self.generations[cpu].lock();
        if *generation != entered {
            return None;
        }
        // ORDERING: Relaxed. The lock is let go after it.
        // MODEL: `a_slot_is_robbed_beside_its_owner`.
        slot.word.store(next, Relaxed);
        Some(next)
    }

    /// Interrupts the sequence on a CPU, and returns the generation after that.
    fn interrupt(&self, cpu: usize) -> u64 {
        let mut generation = self.generations[cpu].lock();
        *generation += 1;
        *generation
    }

    pub(super) fn fence(&self, cpu: Option<usize>) -> bool {
        let cpus = cpu.map_or(0..self.cpus(), |cpu| cpu..cpu + 1);
        for cpu in cpus {
            self.interrupt(cpu);
        }
        true
    }
}
