//! A lock that nobody waits for.
//!
//! Progress: wait-free. Cost: a try 1 CAS, and 1 store if it succeeded.

#![allow(unsafe_code, reason = "without `std` there is no lock to build on")]

use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, UnsafeCell};

/// A value that one thread at a time has access to, and that others pass by.
///
/// A panic does not poison it.
pub(super) struct TryLock<T> {
    /// 1 while a thread has access, otherwise 0.
    held: AtomicWord<u64>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached by the thread that has changed `held` from 0 to 1, until it
// changes it back; so references to it are sent from thread to thread, and never shared.
unsafe impl<T: Send> Sync for TryLock<T> {}

/// Releases a lock when dropped, in a panic too.
struct Held<'a>(&'a AtomicWord<u64>);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release, so that the next thread to have access finds the value as this one
        // leaves it. Pairs with the CAS in `try_with`. A plain store, as no other thread writes
        // while the lock is held.
        // MODEL: `samples_are_taken_one_after_the_other`.
        self.0.store(0, Release);
    }
}

impl<T> TryLock<T> {
    pub(super) fn new(value: T) -> TryLock<T> {
        TryLock { held: AtomicWord::new(0), value: UnsafeCell::new(value) }
    }

    /// Calls `act` with the value, or returns `None` at once if another thread, or a caller up the
    /// stack, has access to it.
    #[inline]
    pub(super) fn try_with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        // ORDERING: Acquire on success, so that this thread finds the value as the one before it
        // left it. Pairs with the store in `Held`. Relaxed on failure: nothing is looked at.
        // MODEL: `samples_are_taken_one_after_the_other`.
        self.held.compare_exchange(0, 1, Acquire, Relaxed).ok()?;
        let _held = Held(&self.held);
        // SAFETY: this thread has changed `held` from 0 to 1, so no other reference to the value
        // exists until `_held` is dropped, which is after `act`. The pointer is the cell's own.
        Some(self.value.with_mut(|value| act(unsafe { &mut *value })))
    }
}
