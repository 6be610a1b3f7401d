//! A clock whose callers are held up.

use std::sync::Mutex;

use sluicegate::{Clock, ManualClock};

/// A clock whose caller is held up after one of its readings, in which time something happens.
pub(crate) struct HeldUp {
    pub(crate) manual: ManualClock,
    next: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl HeldUp {
    pub(crate) fn at(nanos: u64) -> HeldUp {
        HeldUp { manual: ManualClock::at(nanos), next: Mutex::new(None) }
    }

    /// Has it happen right after the next reading.
    pub(crate) fn meanwhile(&self, happens: impl FnOnce() + Send + 'static) {
        *self.next.lock().unwrap() = Some(Box::new(happens));
    }

    /// Returns whether what was to happen has, or has begun to.
    pub(crate) fn has_happened(&self) -> bool {
        self.next.lock().unwrap().is_none()
    }
}

impl Clock for HeldUp {
    fn now_nanos(&self) -> u64 {
        let now_nanos = self.manual.now_nanos();
        // It may want to read the clock, or to have something else happen next.
        let next = self.next.lock().unwrap().take();
        if let Some(next) = next {
            next();
        }
        now_nanos
    }
}
