//! Atomics and locks: the only file in the crate that names them, loom or shuttle.
//!
//! All other code uses the types of this file, so `--cfg sluicegate_loom` and `--cfg sluicegate_shuttle` swap all at
//! once. `ci/lint.sh` checks that no other file names them.

#[cfg(sluicegate_loom)]
use loom::sync as source;
#[cfg(sluicegate_shuttle)]
use shuttle::sync as source;
#[cfg(not(any(sluicegate_loom, sluicegate_shuttle)))]
use std::sync as source;

use std::sync::{PoisonError, TryLockError};

pub(crate) use std::sync::atomic::Ordering;

pub(crate) use self::source::atomic::{AtomicBool, AtomicU64};

/// A lock held by one thread.
///
/// A panic does not poison it: its holder leaves the guarded value consistent at every point at
/// which user code runs.
#[derive(Debug)]
pub(crate) struct Lock<T>(source::Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Lock<T> {
        Lock(source::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> source::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `act` with the value, or returns `None` at once if another thread, or a caller up the
    /// stack, has the lock.
    #[inline]
    pub(crate) fn try_with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut guard = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(act(&mut guard))
    }
}

/// A lock held by any number of readers or by one writer.
///
/// A panic does not poison it: a writer leaves the guarded value consistent at every point at which
/// user code runs.
pub(crate) struct SharedLock<T>(source::RwLock<T>);

impl<T> SharedLock<T> {
    pub(crate) fn new(value: T) -> SharedLock<T> {
        SharedLock(source::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> source::RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> source::RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Paces the retries of a compare-and-swap. Under loom and shuttle it does nothing: a model has no time, and explores every
/// order anyway.
pub(crate) struct Backoff(crossbeam_utils::Backoff);

impl Backoff {
    #[inline]
    pub(crate) fn new() -> Backoff {
        Backoff(crossbeam_utils::Backoff::new())
    }

    /// Spins for a little longer each time.
    #[inline]
    pub(crate) fn spin(&self) {
        if !cfg!(any(sluicegate_loom, sluicegate_shuttle)) {
            self.0.spin();
        }
    }
}
