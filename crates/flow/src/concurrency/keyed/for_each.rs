//! One step for the limits of several keys.

use std::sync::Arc;
use std::vec::IntoIter;

use crate::concurrency::ConcurrencyLimit;

/// Acts on limits without a lock: those that are woken may run meanwhile, and use other keys. If a
/// waker panics, goes on with the rest.
pub(super) struct ForEach {
    limits: IntoIter<Arc<ConcurrencyLimit>>,
    act: fn(&ConcurrencyLimit),
}

impl ForEach {
    pub(super) fn new(limits: Vec<Arc<ConcurrencyLimit>>, act: fn(&ConcurrencyLimit)) -> ForEach {
        ForEach { limits: limits.into_iter(), act }
    }

    pub(super) fn run(&mut self) {
        for limit in self.limits.by_ref() {
            (self.act)(&limit);
        }
    }
}

impl Drop for ForEach {
    fn drop(&mut self) {
        self.run();
    }
}
