//! Shards of CPUs: a slot for each CPU, which callers that run there change without a locked instruction.
//!
//! A slot is a shard whose word only two parties may change, one at a time:
//!
//! | `closer`        | who may change the word                                                                 |
//! |-----------------|-----------------------------------------------------------------------------------------|
//! | `OPEN`          | the thread that runs on this CPU, in a restartable sequence                             |
//! | a process's id  | the thief of that process that wrote it, once its fence has returned                    |
//! | `DEAD`          | nobody any more: a fence has failed. Permits and capacity in the slot are out of reach  |
//!
//! A *restartable sequence* is a few instructions, the last of which stores the word. The system starts the thread elsewhere
//! if it was interrupted before that store: switched out, moved to another CPU, or for a signal. A *fence* does the same to
//! sequences in progress on other CPUs, and orders memory. (`sequence.rs`, `linux.rs`)
//!
//! **Why one at a time.** Sequences of one CPU exclude each other, because a switch between threads interrupts. A thief excludes
//! thieves by the CAS of `closer`. It closes the slot, and then fences. A sequence that began before the fence has stored its
//! word, and the thief sees that, or it is interrupted and stores nothing. One that begins after the fence finds the slot closed. So
//! after the fence nobody else stores, until the thief opens the slot again; a sequence that finds it open finds the
//! thief's word. No party waits for another: a caller that finds its slot closed, and a thief that does, go elsewhere.
//!
//! So each change of the word is one step, and for the theorem of `sharded.rs` a slot is a shard; what a thief is taking is
//! in transit from the moment at which it closes the slot. The step model `per_cpu.rs` shows the same.
//!
//! `closer` is a word of its own, because a sequence stores what it computed from an earlier load: that would overwrite a flag
//! that came into the same word meanwhile. For the same reason no caller may change the word of a closed slot by a CAS.
//!
//! **After `fork`** the child has one thread, and a copy of the slots. A slot that a thief of the parent had closed is
//! opened by the first caller that meets it: no sequence is in progress there, and the word was changed by the
//! thief or was not. What the thief had in transit is not in the child.

#[cfg(all(
    feature = "per-cpu",
    target_os = "linux",
    target_env = "gnu",
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(any(miri, sluicegate_loom, sluicegate_shuttle))
))]
#[path = "per_cpu/linux.rs"]
mod system;

#[cfg(all(feature = "per-cpu", sluicegate_loom))]
#[path = "per_cpu/modelled.rs"]
mod system;

#[cfg(not(any(
    all(feature = "per-cpu", sluicegate_loom),
    all(
        feature = "per-cpu",
        target_os = "linux",
        target_env = "gnu",
        target_arch = "x86_64",
        target_pointer_width = "64",
        not(any(miri, sluicegate_loom, sluicegate_shuttle))
    )
)))]
#[path = "per_cpu/elsewhere.rs"]
mod system;

mod slot;

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use super::shard_word::ShardWord;

use self::slot::Slot;
use self::system::System;

/// Number of tries of a change. Only a thread that is interrupted all the time, such as under a debugger
/// that runs it step by step, needs more.
const TRIES: u32 = 64;

/// Largest number of CPUs with slots.
const MAX_CPUS: usize = 1_024;

/// Capacity, and the tokens in it, that were taken from slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) room: u64,
    pub(super) tokens: u64,
}

/// A set of CPUs.
struct CpuSet([u64; MAX_CPUS / 64]);

#[derive(Debug)]
pub(super) struct PerCpu {
    system: System,
    slots: Box<[CachePadded<Slot>]>,
}

impl PerCpu {
    /// False if `new` always returns `None`.
    pub(super) const EXISTS: bool = System::EXISTS;

    /// Creates an empty slot for each CPU that the machine can have. Returns `None` if the system has no
    /// restartable sequences, or no fence for them.
    pub(super) fn new() -> Option<PerCpu> {
        System::detect().map(PerCpu::with)
    }

    /// Creates an empty slot for each of so many CPUs of a model.
    #[cfg(all(feature = "per-cpu", sluicegate_loom))]
    pub(super) fn modelled(cpus: usize) -> PerCpu {
        PerCpu::with(System::of(cpus))
    }

    fn with(system: System) -> PerCpu {
        let cpus = system.cpus().min(MAX_CPUS);
        PerCpu { system, slots: (0..cpus).map(|_| CachePadded::new(Slot::new())).collect() }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Spends `permits` of the tokens of this CPU. Returns the permits left, or `None` if there are too few, if the
    /// slot is closed, or if the thread was interrupted.
    #[inline(always)]
    pub(super) fn spend(&self, permits: u64) -> Option<u64> {
        self.system.spend(&self.slots, permits).map(ShardWord::left)
    }

    /// Takes everything from this CPU's slot. Returns nothing if it is closed.
    pub(super) fn take(&self) -> Taken {
        let taken = self.change(|_| ShardWord::NONE).unwrap_or(ShardWord::NONE);
        Taken { room: taken.room(), tokens: taken.left() }
    }

    /// Puts tokens and their capacity into this CPU's slot. Returns false if it is closed.
    pub(super) fn put(&self, room: u64, tokens: u64) -> bool {
        self.change(|seen| seen.with(room, tokens)).is_some()
    }

    /// Replaces the word of this CPU by `next` of it, and returns the previous value.
    fn change(&self, next: impl Fn(ShardWord) -> ShardWord) -> Option<ShardWord> {
        for _ in 0..TRIES {
            let cpu = self.system.cpu();
            let slot = self.slots.get(cpu)?;
            if !slot.is_open() {
                return None;
            }
            let seen = slot.word();
            let next = next(seen);
            if next == seen || self.system.store(slot, cpu, seen, next) {
                return Some(seen);
            }
        }
        None
    }

    /// Returns the tokens in this CPU's slot.
    pub(super) fn left_here(&self) -> u64 {
        self.slots.get(self.system.cpu()).map_or(0, |slot| slot.look().left())
    }

    /// Returns the tokens in all slots, and their empty capacity, except what is out of reach or in transit.
    pub(super) fn look(&self) -> (u64, u64) {
        self.slots.iter().fold((0, 0), |(left, spare), slot| {
            let seen = slot.look();
            (left + seen.left(), spare + seen.spare())
        })
    }

    /// Takes tokens until there are `needed`, or all that there are; and half of what a slot has, if
    /// that is more, so that two CPUs near the limit do not rob each other for each permit. Fences only CPUs in whose
    /// slots it sees tokens.
    pub(super) fn steal(&self, needed: u64) -> Taken {
        let (mut to_find, mut to_take) = (needed, needed);
        let is_wanted = |seen: ShardWord| {
            let is_wanted = to_find > 0 && seen.left() > 0;
            to_find = to_find.saturating_sub(seen.left());
            is_wanted
        };
        let stays = |found: ShardWord| {
            let taken = found.left().min(to_take.max(found.left().div_ceil(2)));
            to_take = to_take.saturating_sub(taken);
            let left = found.left() - taken;
            ShardWord::NONE.with(left, left)
        };
        self.rob(is_wanted, stays)
    }

    /// Takes the empty capacity of all slots.
    pub(super) fn take_spare(&self) -> Taken {
        self.rob(|seen| seen.spare() > 0, ShardWord::closed)
    }

    /// Takes everything from all slots.
    pub(super) fn take_all(&self) -> Taken {
        self.rob(|seen| seen.room() > 0, |_| ShardWord::NONE)
    }

    /// Takes from each slot that is wanted what does not stay. Leaves out slots that other thieves have closed. Takes nothing if
    /// the fence fails, and then never again.
    fn rob(
        &self,
        mut is_wanted: impl FnMut(ShardWord) -> bool,
        mut stays: impl FnMut(ShardWord) -> ShardWord,
    ) -> Taken {
        let mut closed = CpuSet::new();
        let mut last = None;
        for (cpu, slot) in self.slots.iter().enumerate() {
            if is_wanted(slot.look()) && slot.close() {
                closed.add(cpu);
                last = Some((cpu, last.is_none()));
            }
        }
        let mut taken = Taken::default();
        let Some((cpu, is_only_one)) = last else { return taken };
        if !self.system.fence(is_only_one.then_some(cpu)) {
            self.give_up(&closed);
            return taken;
        }
        for (_, slot) in self.slots.iter().enumerate().filter(|(cpu, _)| closed.has(*cpu)) {
            // Nobody else stores since the fence.
            let found = slot.word();
            let stays = stays(found);
            slot.open_with(stays);
            taken.room += found.room() - stays.room();
            taken.tokens += found.left() - stays.left();
        }
        taken
    }

    /// Ends the use of all slots. A sequence in progress may still spend from one, so nobody may take what is there;
    /// but nothing more is put there. (Those that other thieves have closed are left to them.)
    #[cold]
    fn give_up(&self, closed: &CpuSet) {
        for (cpu, slot) in self.slots.iter().enumerate() {
            if closed.has(cpu) || slot.close() {
                slot.end();
            }
        }
    }
}

impl CpuSet {
    fn new() -> CpuSet {
        CpuSet([0; MAX_CPUS / 64])
    }

    fn add(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    fn has(&self, cpu: usize) -> bool {
        self.0[cpu / 64] & (1 << (cpu % 64)) != 0
    }
}
