//! The clock of the models.

use std::cell::Cell;

use sluicegate::{Clock, ManualClock};

/// A second in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

#[cfg(sluicegate_loom)]
use loom::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread_local,
};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

    /// The calling thread's last reading.
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

/// A clock that is never behind: what it shows is the time at which it is read, for
/// all threads. For limiters that decide without reading a clock, whose spans are of
/// the true time.
#[derive(Debug)]
pub struct TrueClock {
    nanos: AtomicU64,
}

impl TrueClock {
    /// A clock at 0.
    #[must_use]
    pub fn new() -> TrueClock {
        TrueClock { nanos: AtomicU64::new(0) }
    }

    /// Sets the time. Publishes nothing.
    pub fn set(&self, nanos: u64) {
        self.nanos.swap(nanos, Relaxed);
    }
}

impl Default for TrueClock {
    fn default() -> TrueClock {
        TrueClock::new()
    }
}

impl Clock for TrueClock {
    fn now_nanos(&self) -> u64 {
        // A load may see an old value; a read-modify-write does not.
        let now_nanos = self.nanos.fetch_add(0, Relaxed);
        // Once more, so that the clock is moved right after the reading too: of an access
        // that a load of the mover hides (see `check`) that would not be tried.
        self.nanos.fetch_add(0, Relaxed);
        now_nanos
    }
}
