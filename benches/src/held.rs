//! The memory that a process has asked its allocator for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, and how much of it is held. For a program's `global_allocator`.
#[derive(Debug)]
pub struct Counted;

#[expect(unsafe_code, reason = "an allocator is unsafe, and nothing else tells what is asked")]
// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    // Leaves the zeroing to the system: pages that are never touched are not resident.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn take(size: usize) {
    let held = HELD.fetch_add(size, Relaxed) + size;
    MOST.fetch_max(held, Relaxed);
}

/// Returns the bytes that are held now; 0 in a program with another allocator.
#[must_use]
pub fn bytes() -> usize {
    HELD.load(Relaxed)
}

/// Returns the most bytes that were held since [`restart`].
#[must_use]
pub fn most() -> usize {
    MOST.load(Relaxed)
}

/// Lets [`most`] begin anew, and returns the bytes that are held now.
pub fn restart() -> usize {
    let held = bytes();
    MOST.store(held, Relaxed);
    held
}
