//! The line of a limiter as it lies there: a lock, and what it guards.

use alloc::boxed::Box;
use core::fmt;
use core::task::Waker;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Lock};

use super::limits::LineLimits;
use super::waiters::Waiters;

/// The line of a limiter. Allocates when it is needed for the first time.
pub(crate) struct WaitQueue {
    pub(super) line: Lock<Option<Box<LineState>>>,
    /// Permits wanted by those in line, for answers of callers that find the line locked.
    pub(super) waiting: AtomicWord<u64>,
}

#[derive(Debug, Default)]
pub(super) struct LineState {
    pub(super) limits: LineLimits,
    pub(super) is_closed: bool,
    /// Reading of the clock since which the first in line has been the first.
    pub(super) since_nanos: u64,
    pub(super) waiters: Waiters,
}

impl WaitQueue {
    pub(crate) fn new() -> WaitQueue {
        WaitQueue { line: Lock::new(None), waiting: AtomicWord::new(0) }
    }

    /// Permits wanted by those in line, as of a moment ago.
    pub(crate) fn permits(&self) -> u64 {
        // ORDERING: Relaxed. Only a forecast is made of it.
        // MODEL: none; no decision depends on it.
        self.waiting.load(Relaxed)
    }

    /// Number of callers in line.
    pub(crate) fn waiters(&self) -> usize {
        self.line.lock().as_deref().map_or(0, |line| line.waiters.len())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.line.lock().as_deref().is_some_and(|line| line.is_closed)
    }

    pub(crate) fn set_limits(&self, limits: LineLimits) {
        self.line.lock().get_or_insert_default().limits = limits;
    }

    /// Wakes the first in line, because more has become available.
    pub(crate) fn wake_first(&self) {
        let waker = self.line.lock().as_deref_mut().and_then(|line| {
            let first = line.waiters.first()?;
            line.waiters.disarm(first)
        });
        waker.into_iter().for_each(Waker::wake);
    }
}

impl LineState {
    pub(super) fn admits(&self, permits: u64) -> bool {
        self.limits.admit(self.waiters.len(), self.waiters.permits(), permits)
    }
}

impl fmt::Debug for WaitQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitQueue").field("permits", &self.permits()).finish_non_exhaustive()
    }
}
