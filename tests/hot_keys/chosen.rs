//! A clock whose readings are chosen, call by call, and counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sluicegate::Clock;

#[derive(Debug, Default)]
pub(crate) struct Chosen {
    nanos: AtomicU64,
    /// By how much each reading is later than the last.
    step_nanos: AtomicU64,
    readings: AtomicU64,
}

impl Chosen {
    pub(crate) fn at(nanos: u64) -> Chosen {
        Chosen { nanos: AtomicU64::new(nanos), ..Chosen::default() }
    }

    pub(crate) fn set(&self, nanos: u64) {
        self.nanos.store(nanos, Relaxed);
    }

    pub(crate) fn pass(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Relaxed);
    }

    /// From now on, time passes with each reading.
    pub(crate) fn step(&self, nanos: u64) {
        self.step_nanos.store(nanos, Relaxed);
    }

    /// Returns the next reading.
    pub(crate) fn next(&self) -> u64 {
        self.nanos.load(Relaxed)
    }

    /// Runs `run`, and counts its readings of this clock.
    pub(crate) fn readings<T>(&self, run: impl FnOnce() -> T) -> (T, u64) {
        let before = self.readings.load(Relaxed);
        let result = run();
        (result, self.readings.load(Relaxed) - before)
    }
}

impl Clock for Chosen {
    fn now_nanos(&self) -> u64 {
        self.readings.fetch_add(1, Relaxed);
        self.nanos.fetch_add(self.step_nanos.load(Relaxed), Relaxed)
    }
}
