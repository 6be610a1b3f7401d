//! The restartable sequences, on x86-64: the only assembly of the engine.
//!
//! A thread has an *area* that it shares with the kernel: the CPU on which it runs, at offset 4, and at offset 8 a pointer to the
//! description of the sequence in which it is. The description names the first instruction, the length, and the place at which the
//! thread goes on if it is interrupted in between. The kernel clears the pointer if it finds the thread outside.
//!
//! The pointer stays from one call to the next, which saves a store. So a sequence begins by comparing it: from there to the end
//! the description is in force, or the thread is sent away, and before that nothing was read. If it is another, a call writes
//! its own, and begins again, but only once: under a debugger that goes step by step, the kernel clears it each time.
//!
//! A sequence that is interrupted fails; the caller tries again, or does without.

use core::arch::asm;
use core::mem::offset_of;

use crossbeam_utils::CachePadded;

use crate::sharded::shard_word::ShardWord;
use crate::sync::Word;

use crate::sharded::per_cpu::slot::{OPEN, Slot};

/// Value that `spend` leaves in its register if it fails. A word has no such value after a spend.
const FAILED: u64 = u64::MAX;

const _: () = assert!(size_of::<CachePadded<Slot>>() == 1 << 7, "a sequence shifts by 7 bits");

/// Returns the CPU on which this thread runs; `u32::MAX` or one less if the thread is not registered.
///
/// # Safety
///
/// `area` must be glibc's `__rseq_offset`, and its `__rseq_size` at least 16.
#[inline(always)]
pub(super) unsafe fn cpu(area: isize) -> usize {
    let cpu: u32;
    // SAFETY: every thread has the area at this offset from its thread pointer, whether registered or not; it is only
    // read. Not `pure`, as the kernel changes it at any time.
    unsafe {
        asm!(
            "mov {cpu:e}, dword ptr fs:[{area} + 4]",
            cpu = lateout(reg) cpu,
            area = in(reg) area,
            options(nostack, preserves_flags, readonly),
        );
    }
    cpu as usize
}

/// Runs a sequence. It begins by comparing the pointer; the first list has its other instructions, which go to label 25 to
/// fail. The second list is for a sequence that has failed or was interrupted. `{tries}` is 0 at first, and may be written
/// after the comparison.
macro_rules! sequence {
    ([$($line:expr),* $(,)?], [$($failed:expr),* $(,)?], $($operands:tt)*) => {
        asm!(
            // The description. Addresses are absolute, so a position-independent program writes them at its start.
            ".pushsection __rseq_cs, \"aw\"",
            ".balign 32",
            "20:",
            ".long 0, 0",
            ".quad 22f, 23f - 22f, 24f",
            ".popsection",
            "lea {description}, [rip + 20b]",
            "xor {tries:e}, {tries:e}",
            "22:",
            "cmp qword ptr fs:[{area} + 8], {description}",
            "jne 26f",
            $($line,)*
            "23:",
            ".pushsection __rseq_failure, \"ax\"",
            "26:",
            "test {tries:e}, {tries:e}",
            "jnz 25f",
            "inc {tries:e}",
            "mov qword ptr fs:[{area} + 8], {description}",
            "jmp 22b",
            // An instruction that no program has: `ud1`, with the signature as its operand.
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "24:",
            "25:",
            $($failed,)*
            "jmp 23b",
            ".popsection",
            description = out(reg) _,
            $($operands)*
            options(nostack),
        )
    };
}

/// Spends `permits` of the tokens in the slot of the CPU on which the thread runs. Returns the word after that, or `None`
/// if there are too few, the slot is closed, the CPU has none, or the thread was interrupted; and for 0 permits, too.
///
/// # Safety
///
/// As for `cpu`.
#[inline(always)]
pub(super) unsafe fn spend(
    area: isize,
    slots: &[CachePadded<Slot>],
    permits: u64,
) -> Option<ShardWord> {
    if permits.wrapping_sub(1) >= ShardWord::MAX {
        return None;
    }
    let word: u64;
    // SAFETY: as told at the end of this file; and the slot is one of `slots`, as its number is compared with their count.
    unsafe {
        sequence!(
            [
                "mov {slot:e}, dword ptr fs:[{area} + 4]",
                "cmp {slot}, {cpus}",
                "jae 25f",
                "shl {slot}, 7",
                "add {slot}, {slots}",
                "cmp qword ptr [{slot} + {closer}], {open}",
                "jne 25f",
                "mov {next}, qword ptr [{slot} + {word}]",
                // The tokens are the low half.
                "cmp {next:e}, {permits:e}",
                "jb 25f",
                "sub {next}, {permits}",
                "mov qword ptr [{slot} + {word}], {next}",
            ],
            ["mov {next}, {failed}"],
            tries = out(reg) _,
            slot = out(reg) _,
            next = out(reg) word,
            area = in(reg) area,
            cpus = in(reg) slots.len(),
            slots = in(reg) slots.as_ptr(),
            permits = in(reg) permits,
            word = const offset_of!(Slot, word),
            closer = const offset_of!(Slot, closer),
            open = const OPEN,
            failed = const FAILED as i64,
        );
    }
    (word != FAILED).then(|| ShardWord::from_bits(word))
}

/// Stores `next` as the word of `slot` if the thread runs on `cpu`, the slot is open, and the word is `seen`. Returns false if
/// not, or if the thread was interrupted.
///
/// # Safety
///
/// As for `cpu`.
#[inline(never)]
pub(super) unsafe fn store(
    area: isize,
    slot: &Slot,
    cpu: usize,
    seen: ShardWord,
    next: ShardWord,
) -> bool {
    let is_stored: u32;
    // SAFETY: as told at the end of this file; and the slot is borrowed.
    unsafe {
        sequence!(
            [
                "cmp dword ptr fs:[{area} + 4], {cpu:e}",
                "jne 25f",
                "cmp qword ptr [{slot} + {closer}], {open}",
                "jne 25f",
                "cmp qword ptr [{slot} + {word}], {seen}",
                "jne 25f",
                "mov {tries:e}, 1",
                "mov qword ptr [{slot} + {word}], {next}",
            ],
            ["xor {tries:e}, {tries:e}"],
            tries = out(reg) is_stored,
            area = in(reg) area,
            cpu = in(reg) cpu as u64,
            slot = in(reg) core::ptr::from_ref(slot),
            seen = in(reg) seen.to_bits(),
            next = in(reg) next.to_bits(),
            word = const offset_of!(Slot, word),
            closer = const offset_of!(Slot, closer),
            open = const OPEN,
        );
    }
    is_stored != 0
}

// Why the assembly is sound:
//
// * The area: as for `cpu`. Its pointer is written as the kernel's contract allows: the description is static, aligned to 32
//   bytes, and says version 0 and no flags. It stays valid, as code is not unloaded.
// * The place for interrupted threads is outside of the sequence, and the signature that glibc registered stands before it.
// * A sequence has one store, its last instruction. The registers that it writes before are outputs, which the place for
//   interrupted threads and the one for failures write anew. So a thread that is sent away has changed nothing, and fails.
// * The slot's words are atomics, which others may store meanwhile. The loads and the store are of eight aligned bytes, each in
//   one access; loads acquire and the store releases, as all do on this processor. The table in `per_cpu.rs` says why no store
//   of another is overwritten.
// * Flags and memory are clobbered, as is the default. The stack is not used.
