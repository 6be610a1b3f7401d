//! No verb allocates. Counted by an allocator of our own, for the calling thread
//! only, because the test harness has threads too.

#![allow(unsafe_code, reason = "a global allocator is an unsafe trait; it only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use sluicegate::*;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: `System` does all of the work, with the arguments that were given. The
// counter is a `Cell` without a destructor that is initialised at compile time,
// so touching it does not allocate and is allowed at any time of a thread's life.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are `System`'s conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer is from `alloc`, so from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

fn every_verb(limiter: &TokenBucket<&ManualClock>) {
    for permits in [0, 1, 3, 10, u64::MAX] {
        for answer in [
            limiter.try_acquire(permits),
            limiter.try_acquire_up_to(permits),
            limiter.peek(permits),
            limiter.force(permits),
        ] {
            let _ = answer.map(|grant| (grant.reset_after(), grant.ready_after()));
            let _ = answer.map_err(|denied| denied.retry_after());
        }
    }
    limiter.clock().advance(Duration::from_millis(700));
    limiter.drain();
    limiter.reset();
    limiter.reconfigure(quota!(7 / minute), Carry::Scale);
    let saved = Snapshot::from_bytes(limiter.snapshot().to_bytes()).unwrap();
    limiter.restore(&saved, Duration::from_secs(5));
    limiter.reconfigure(quota!(10 / second).with_refill(Refill::Interval), Carry::Keep);
    let _ = (limiter.quota(), limiter.healed());
    // One that heals.
    limiter.clock().rewind(Duration::from_secs(3_600));
    let _ = limiter.try_acquire(1);
}

#[test]
fn no_verb_allocates() {
    let clock = ManualClock::at(86_400_000_000_000);
    assert!(allocations(|| drop(Box::new(1))) == 1, "the counter counts");
    let made = allocations(|| {
        let limiter = TokenBucket::with_clock(quota!(10 / second), &clock);
        (0..10).for_each(|_| every_verb(&limiter));
        assert!(limiter.healed() > 0);
    });
    assert_eq!(made, 0);
}

#[test]
#[cfg(feature = "quanta")]
fn no_clock_allocates_once_it_is_made() {
    let bucket = TokenBucket::new(quota!(10 / second));
    let made = allocations(|| {
        for _ in 0..20 {
            let _ = bucket.try_acquire(1);
        }
    });
    assert_eq!(made, 0);
}
