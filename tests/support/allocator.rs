//! An allocator that counts, for the calling thread only: the test harness has threads too.

#![allow(unsafe_code, reason = "a global allocator is an unsafe trait; it only counts")]
#![allow(dead_code, reason = "every test binary uses its own part of the support")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: `System` does all of the work, with the arguments that were given. The
// counters are `Cell`s without a destructor that are initialised at compile time, so
// touching them does not allocate and is allowed at any time of a thread's life.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are `System`'s conditions.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            BYTES.set(BYTES.get() + layout.size() as i64);
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get() - layout.size() as i64);
        // SAFETY: the pointer is from `alloc`, so from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts the allocations of `run`.
pub(crate) fn allocations(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

/// Returns how often this thread has allocated.
pub(crate) fn allocated() -> u64 {
    ALLOCATIONS.get()
}

/// The bytes that this thread has allocated and not freed.
pub(crate) fn held_bytes() -> i64 {
    BYTES.get()
}
