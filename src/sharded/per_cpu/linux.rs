//! Linux on x86-64 with glibc: which sequences it has, and its fence for them.
//!
//! glibc (2.35 and later) registers each thread for sequences. Where it has not, there are none: a second registration would
//! be in the way of glibc's.

#![allow(unsafe_code, reason = "system calls and symbols of the C library are unsafe")]

use core::ffi::{CStr, c_int, c_long, c_void};

use crossbeam_utils::CachePadded;

use crate::sharded::shard_word::ShardWord;

use super::slot::Slot;

#[path = "sequence.rs"]
mod sequence;

/// Commands of `membarrier(2)`.
const QUERY: c_int = 0;
const FENCE_SEQUENCES: c_int = 1 << 7;
const REGISTER: c_int = 1 << 8;

/// A flag of `FENCE_SEQUENCES`: that of one CPU only.
const ONE_CPU: c_int = 1;

/// Least size of the area of a thread: up to the end of the pointer to its sequence.
const LEAST_SIZE: u32 = 16;

/// The system's sequences and fences.
#[derive(Debug)]
pub(super) struct System {
    /// Offset of a thread's area from its thread pointer.
    area: isize,
    cpus: usize,
    /// A pointer, so that tests can have other fences.
    fence: fn(Option<usize>) -> bool,
}

impl System {
    pub(super) const EXISTS: bool = true;

    /// Looks for what sequences need, and registers the process for the fence. The first time in a process that may take
    /// some milliseconds.
    pub(super) fn detect() -> Option<System> {
        // SAFETY: glibc declares it as `const ptrdiff_t`, and never changes it after the start of the program.
        let area = unsafe { symbol::<isize>(c"__rseq_offset")? };
        // SAFETY: as above, as `const unsigned int`. It is 0 if threads are not registered.
        let size = unsafe { symbol::<u32>(c"__rseq_size")? };
        let commands = c_long::from(FENCE_SEQUENCES | REGISTER);
        let is_there = size >= LEAST_SIZE
            && (membarrier(QUERY, 0, 0).max(0) & commands) == commands
            && membarrier(REGISTER, 0, 0) == 0;
        is_there.then_some(System { area, cpus: cpus(), fence })
    }

    /// Returns the number of CPUs that the machine can have.
    pub(super) fn cpus(&self) -> usize {
        self.cpus
    }

    /// Returns the CPU on which this thread runs, or a number beyond any CPU if the thread is not registered. By the
    /// time of its use, it may run on another.
    #[inline(always)]
    pub(super) fn cpu(&self) -> usize {
        // SAFETY: `detect` found `area`.
        unsafe { sequence::cpu(self.area) }
    }

    /// Spends `permits` of the tokens of this CPU. Returns the word after that, or `None` if there are too few, if the
    /// slot is closed, if the CPU has none, or if the thread was interrupted.
    #[inline(always)]
    pub(super) fn spend(&self, slots: &[CachePadded<Slot>], permits: u64) -> Option<ShardWord> {
        // SAFETY: `detect` found `area`.
        unsafe { sequence::spend(self.area, slots, permits) }
    }

    /// Replaces the word of `slot`, which belongs to `cpu`, if it is `seen`, if this thread runs on that CPU, and if the slot is
    /// open: all at one instant. Returns whether it did; it may fail although all of that holds.
    pub(super) fn store(&self, slot: &Slot, cpu: usize, seen: ShardWord, next: ShardWord) -> bool {
        // SAFETY: `detect` found `area`.
        unsafe { sequence::store(self.area, slot, cpu, seen, next) }
    }

    /// Interrupts the sequences in progress on a CPU, or on all, and orders memory: all that they have stored is visible
    /// afterwards, and they see all that was stored before. Waits for no thread that is not running. Returns false if it
    /// could not.
    pub(super) fn fence(&self, cpu: Option<usize>) -> bool {
        (self.fence)(cpu)
    }
}

fn fence(cpu: Option<usize>) -> bool {
    let result = match cpu {
        Some(cpu) => membarrier(FENCE_SEQUENCES, ONE_CPU, cpu as c_int),
        None => membarrier(FENCE_SEQUENCES, 0, 0),
    };
    result == 0
}

fn cpus() -> usize {
    // SAFETY: a function without conditions.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(cpus).unwrap_or(0)
}

fn membarrier(command: c_int, flags: c_int, cpu: c_int) -> c_long {
    // SAFETY: no command reads or writes memory of this process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, flags, cpu) }
}

/// Returns the value of a variable of the C library, or `None` if it has no such variable. (Named at
/// run time, because an older one would not link.)
///
/// # Safety
///
/// The variable must be a `T`, and nobody may write it.
unsafe fn symbol<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the name ends with a zero, and no library is searched but those that are loaded.
    let found: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: the caller knows the variable, which lives as long as the program.
    (!found.is_null()).then(|| unsafe { found.cast::<T>().read() })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
