//! A slow reference for windows of one length: what is kept of each window.

use std::collections::BTreeMap;

use sluicegate::wait::AcquireError;

/// A reservation, or an estimate, that was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) at_nanos: u64,
    window: u64,
    permits: u64,
    /// The last window before, and what was kept of the last one afterwards.
    last_before: u64,
    kept_after: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) limit: u64,
    length: u64,
    ahead: u64,
    /// The last window of which anything was taken. Those before it are closed.
    last: u64,
    /// Permits of each window that were taken and not given back.
    kept: BTreeMap<u64, u64>,
}

impl Reference {
    pub(crate) fn new(limit: u64, length: u64, ahead: u64, now: u64) -> Reference {
        Reference { limit, length, ahead, last: now / length, kept: BTreeMap::new() }
    }

    pub(crate) fn kept(&self, window: u64) -> u64 {
        self.kept.get(&window).copied().unwrap_or(0)
    }

    fn take(&mut self, window: u64, permits: u64, at_nanos: u64) -> Taken {
        let last_before = self.last;
        self.last = window;
        let kept = self.kept.entry(window).or_default();
        *kept += permits;
        assert!(*kept <= self.limit, "{kept} of {} in window {window}", self.limit);
        Taken { at_nanos, window, permits, last_before, kept_after: *kept }
    }

    fn has(&self, window: u64, permits: u64) -> bool {
        self.kept(window) + permits <= self.limit
    }

    /// Takes `permits` of the present window.
    pub(crate) fn acquire(&mut self, now: u64, permits: u64) -> Option<Taken> {
        let present = now / self.length;
        let is_there = self.last <= present && self.has(present, permits);
        is_there.then(|| self.take(present, permits, now))
    }

    /// The least wait after which `permits` can be taken.
    pub(crate) fn wait(&self, now: u64, permits: u64) -> Option<u64> {
        let latest = now + self.ahead + 3 * self.length;
        (now..latest).find(|&at| self.clone().acquire(at, permits).is_some()).map(|at| at - now)
    }

    pub(crate) fn reserve(
        &mut self,
        now: u64,
        permits: u64,
        longest: u64,
    ) -> Result<Taken, AcquireError> {
        if permits > self.limit {
            return Err(AcquireError::TooLarge { limit: self.limit });
        }
        let front = self.last.max(now / self.length);
        let window = (front..front + 2).find(|&window| self.has(window, permits)).unwrap();
        let at_nanos = now.max(window * self.length);
        let wait = at_nanos - now;
        if wait > self.ahead {
            let retry_after = std::time::Duration::from_nanos(wait - self.ahead);
            return Err(AcquireError::LineFull { retry_after });
        }
        if wait > longest {
            let retry_after = std::time::Duration::from_nanos(wait);
            return Err(AcquireError::TimedOut { retry_after });
        }
        Ok(self.take(window, permits, at_nanos))
    }

    /// Gives a reservation back. Returns whether it did.
    pub(crate) fn cancel(&mut self, now: u64, taken: Taken) -> bool {
        if self.last != taken.window {
            return false;
        }
        let is_newest = self.kept(taken.window) == taken.kept_after;
        if !is_newest && now / self.length > taken.window {
            return false;
        }
        *self.kept.get_mut(&taken.window).unwrap() -= taken.permits;
        if is_newest {
            self.last = taken.last_before;
        }
        true
    }

    /// Gives back all of an estimate. Returns how much that is.
    pub(crate) fn settle(&mut self, now: u64, taken: Taken) -> u64 {
        if self.last != taken.window || now / self.length > taken.window {
            return 0;
        }
        *self.kept.get_mut(&taken.window).unwrap() -= taken.permits;
        taken.permits
    }

    /// Takes `permits` that were used beyond an estimate. Returns how many.
    pub(crate) fn overdraw(&mut self, now: u64, permits: u64) -> u64 {
        let front = self.last.max(now / self.length);
        let mut left = permits;
        for window in front.. {
            if left == 0 || (window * self.length).saturating_sub(now) > self.ahead {
                break;
            }
            let more = left.min(self.limit.saturating_sub(self.kept(window)));
            if more > 0 {
                self.take(window, more, now);
                left -= more;
            }
        }
        permits - left
    }

    pub(crate) fn reset(&mut self, now: u64) {
        self.last = now / self.length;
        self.kept.clear();
    }
}
