//! The processor's prefetch instruction, and no more.
//!
//! `keyed/table/line.rs` and `keyed/exact/slots.rs` give the hint. Which lines a call prefetches,
//! and how many at a time, is decided in `keyed/table/batch.rs`, `keyed/table/lines.rs`,
//! `keyed/exact/store/group.rs` and `keyed/exact/group_map.rs`.

#![allow(unsafe_code, reason = "the processor's hint is an unsafe function")]

/// Prefetches the cache line of `item`. Does nothing where there is no such instruction.
#[inline(always)]
pub(crate) fn prefetch<T>(item: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri), not(any(sluicegate_loom, sluicegate_shuttle))))]
    // SAFETY: a hint that reads nothing and faults on no address; every x86-64 has it.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(item).cast());
    }
    #[cfg(not(all(
        target_arch = "x86_64",
        not(miri),
        not(any(sluicegate_loom, sluicegate_shuttle))
    )))]
    let _ = item;
}
