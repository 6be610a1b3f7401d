//! Locks: the only file in the crate that names them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock held by one thread.
///
/// A panic does not poison it: its holder leaves the guarded value consistent at every point at
/// which user code runs.
#[derive(Debug)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Lock<T> {
        Lock(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
