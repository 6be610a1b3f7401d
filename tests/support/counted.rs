//! Clocks that count how often they are read, and fail when told to.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use sluicegate::{Clock, ManualClock};

/// A clock that counts its readings.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) manual: ManualClock,
    readings: AtomicU64,
}

impl Counted {
    pub(crate) fn at(nanos: u64) -> Counted {
        Counted { manual: ManualClock::at(nanos), readings: AtomicU64::new(0) }
    }

    /// Returns the value of `run`, and how often it read the clock.
    pub(crate) fn readings<T>(&self, run: impl FnOnce() -> T) -> (T, u64) {
        let before = self.readings.load(Relaxed);
        let value = run();
        (value, self.readings.load(Relaxed) - before)
    }
}

impl Clock for Counted {
    fn now_nanos(&self) -> u64 {
        self.readings.fetch_add(1, Relaxed);
        self.manual.now_nanos()
    }
}

/// A clock that panics at one of its next readings, once.
#[derive(Debug)]
pub(crate) struct Failing {
    pub(crate) manual: ManualClock,
    left: AtomicI64,
}

impl Failing {
    pub(crate) fn at(nanos: u64) -> Failing {
        Failing { manual: ManualClock::at(nanos), left: AtomicI64::new(i64::MAX) }
    }

    /// Panics after so many readings that succeed.
    pub(crate) fn fail_after(&self, readings: i64) {
        self.left.store(readings, Relaxed);
    }
}

impl Clock for Failing {
    fn now_nanos(&self) -> u64 {
        assert!(self.left.fetch_sub(1, Relaxed) != 0, "the clock fails");
        self.manual.now_nanos()
    }
}
