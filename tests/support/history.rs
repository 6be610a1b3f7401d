//! The permits that real threads were admitted, and the bound on them.

use std::cell::Cell;
use std::sync::Mutex;

use sluicegate::{Clock, Denied, Grant, Quota, Refill};

thread_local! {
    static LAST_READING: Cell<u64> = const { Cell::new(0) };
}

/// A clock that notes what each thread last read from it.
#[derive(Debug, Default)]
pub(crate) struct Noted<C>(pub(crate) C);

impl<C: Clock> Clock for Noted<C> {
    fn now_nanos(&self) -> u64 {
        let now_nanos = self.0.now_nanos();
        LAST_READING.set(now_nanos);
        now_nanos
    }
}

/// The reading that the calling thread's last call was decided by.
pub(crate) fn last_reading() -> u64 {
    LAST_READING.get()
}

/// Permits that were admitted, and the reading that they were admitted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Admission {
    pub(crate) at_nanos: u64,
    pub(crate) permits: u64,
}

/// One thread's admissions.
#[derive(Debug, Default)]
pub(crate) struct Log(Vec<Admission>);

impl Log {
    /// Notes the answer that the calling thread has just got.
    pub(crate) fn note(&mut self, answer: Result<Grant, Denied>) -> bool {
        self.add(answer.map_or(0, |grant| grant.permits()));
        answer.is_ok()
    }

    /// Notes that the calling thread was admitted `permits`.
    pub(crate) fn add(&mut self, permits: u64) {
        if permits > 0 {
            self.0.push(Admission { at_nanos: last_reading(), permits });
        }
    }
}

/// The admissions of all threads.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Vec<Admission>>);

impl History {
    pub(crate) fn add(&self, log: Log) {
        self.0.lock().unwrap().extend(log.0);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.lock().unwrap().iter().map(|admission| admission.permits).sum()
    }

    /// No window of the clock holds more than `burst` permits and what `quota`
    /// earns in it.
    ///
    /// One pass over the admissions by their readings. `ahead` is the most, over
    /// all windows that end here, of what was admitted in excess of what was
    /// earned: it starts anew or goes on, whichever is more.
    pub(crate) fn assert_bounded(&self, quota: Quota, burst: u64, origin_nanos: u64) {
        let mut admissions = self.0.lock().unwrap().clone();
        admissions.sort_unstable();
        let period_nanos = i128::from(nanos(quota));
        // In tokens times the period, so that nothing is rounded.
        let accrued = |at_nanos: u64| {
            let time = i128::from(at_nanos.saturating_sub(origin_nanos));
            let time = match quota.refill() {
                Refill::Smooth => time,
                Refill::Interval => time / period_nanos * period_nanos,
            };
            time * i128::from(quota.rate().permits())
        };
        let (mut ahead, mut last) = (0, 0);
        for Admission { at_nanos, permits } in admissions {
            let accrued = accrued(at_nanos);
            ahead = (ahead - (accrued - last)).max(0) + i128::from(permits) * period_nanos;
            last = accrued;
            let over = ahead - i128::from(burst) * period_nanos;
            // A unit is at most two nanoseconds' worth, or 2^-27 of a token.
            let unit = 2 * i128::from(quota.rate().permits()) + period_nanos / (1 << 27);
            assert!(over <= unit, "{over} / {period_nanos} permits too many at {at_nanos} ns");
        }
    }
}

fn nanos(quota: Quota) -> u64 {
    u64::try_from(quota.rate().period().as_nanos()).expect("at most a hundred years")
}
