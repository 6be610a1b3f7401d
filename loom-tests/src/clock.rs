//! The clock of the models.

use std::cell::Cell;

use sluicegate::{Clock, ManualClock};

/// A second in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

#[cfg(sluicegate_loom)]
use loom::thread_local;

// Not `const`, which loom's macro does not know.
thread_local! {
    #[cfg_attr(not(sluicegate_loom), expect(clippy::missing_const_for_thread_local, reason = "loom"))]
    static AHEAD: Cell<u64> = Cell::new(0);
    #[cfg_attr(not(sluicegate_loom), expect(clippy::missing_const_for_thread_local, reason = "loom"))]
    static LAST: Cell<u64> = Cell::new(0);
}

/// A manual clock that a thread may see ahead of the others, and that remembers
/// what each thread last read.
#[derive(Debug, Default)]
pub struct TestClock {
    shared: ManualClock,
}

impl TestClock {
    /// A clock at 0.
    #[must_use]
    pub fn new() -> TestClock {
        TestClock::default()
    }

    /// Sets the time of all threads, forwards or backwards.
    pub fn set(&self, nanos: u64) {
        self.shared.set_nanos(nanos);
    }

    /// The time of all threads.
    #[must_use]
    pub fn shared_nanos(&self) -> u64 {
        self.shared.now_nanos()
    }

    /// From now on, what the calling thread reads is `nanos` ahead.
    pub fn run_ahead(nanos: u64) {
        AHEAD.with(|ahead| ahead.set(nanos));
    }

    /// What the calling thread last read.
    #[must_use]
    pub fn last_reading() -> u64 {
        LAST.with(Cell::get)
    }
}

impl Clock for TestClock {
    fn now_nanos(&self) -> u64 {
        let now_nanos = self.shared.now_nanos() + AHEAD.with(Cell::get);
        LAST.with(|last| last.set(now_nanos));
        now_nanos
    }
}
