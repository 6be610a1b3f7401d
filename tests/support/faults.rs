//! Clocks with the faults that clocks have.

use std::cell::Cell;
use std::thread;

use sluicegate::{Clock, ManualClock};

thread_local! {
    static SKEW_NANOS: Cell<i64> = const { Cell::new(0) };
    static READINGS: Cell<u32> = const { Cell::new(0) };
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

/// A clock that lets others run now and then while it is read: a change of quota reads it between its look at the word and
/// its CAS.
pub(crate) struct Dawdling(pub(crate) ManualClock);

impl Dawdling {
    /// Lets the calling thread go on from that reading.
    pub(crate) fn begin_this_thread_at(reading: u32) {
        READINGS.set(reading);
    }
}

impl Clock for Dawdling {
    fn now_nanos(&self) -> u64 {
        let now_nanos = self.0.now_nanos();
        READINGS.set(READINGS.get() + 1);
        if !READINGS.get().is_multiple_of(3) {
            thread::yield_now();
        }
        now_nanos
    }
}
