//! A clock with the faults that clocks have.

use std::cell::Cell;

use sluicegate::{Clock, ManualClock};

thread_local! {
    static SKEW_NANOS: Cell<i64> = const { Cell::new(0) };
}

/// A clock that each thread reads with a skew of its own.
#[derive(Debug)]
pub(crate) struct Skewed(pub(crate) ManualClock);

impl Skewed {
    /// From now on the calling thread is so far ahead, or behind.
    pub(crate) fn skew_this_thread(nanos: i64) {
        SKEW_NANOS.set(nanos);
    }
}

impl Clock for Skewed {
    fn now_nanos(&self) -> u64 {
        self.0.now_nanos().saturating_add_signed(SKEW_NANOS.get())
    }
}
