//! A record of what was admitted, and when.

use sluicegate::{Denied, Grant, Quota, Refill};

use crate::TestClock;

/// Permits that were granted, and the reading of the clock that it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The reading.
    pub at_nanos: u64,
    /// The permits; 0 for a denial.
    pub permits: u64,
}

impl Admission {
    /// Nothing.
    pub const NONE: Admission = Admission { at_nanos: 0, permits: 0 };

    /// The outcome of a verb that the calling thread has just called.
    #[must_use]
    pub fn of(outcome: Result<Grant, Denied>) -> Admission {
        let permits = outcome.map_or(0, |grant| grant.permits());
        Admission { at_nanos: TestClock::last_reading(), permits }
    }
}

/// All that a limiter admitted.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Vec<Admission>);

impl Ledger {
    /// Adds an admission.
    pub fn push(&mut self, admission: Admission) {
        self.0.push(admission);
    }

    /// The sum of the permits that one reading of the clock was good for.
    #[must_use]
    pub fn at(&self, nanos: u64) -> u64 {
        let then = self.0.iter().filter(|admission| admission.at_nanos == nanos);
        then.map(|admission| admission.permits).sum()
    }

    /// The sum of the permits.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(|admission| admission.permits).sum()
    }

    /// The theorem of the one-word core, for a limiter that was made at 0 and
    /// whose quota was never changed.
    ///
    /// # Panics
    ///
    /// If more was admitted in a span of the clock than burst, `debt` and what
    /// was earned in it.
    pub fn assert_bounded(&self, quota: Quota, debt: u64) {
        for from in self.0.iter().map(|admission| admission.at_nanos) {
            for to in self.0.iter().map(|admission| admission.at_nanos) {
                let span = from..=to;
                let inside = self.0.iter().filter(|admission| span.contains(&admission.at_nanos));
                let admitted: u64 = inside.map(|admission| admission.permits).sum();
                let bound = quota.burst() + debt + earned(quota, from, to);
                assert!(
                    admitted <= bound,
                    "admitted {admitted} of {bound} from {from} ns to {to} ns: {self:?}",
                );
            }
        }
    }
}

impl FromIterator<Admission> for Ledger {
    fn from_iter<I: IntoIterator<Item = Admission>>(admissions: I) -> Ledger {
        Ledger(admissions.into_iter().collect())
    }
}

/// Whole permits earned from one time to another, by plain division.
fn earned(quota: Quota, from_nanos: u64, to_nanos: u64) -> u64 {
    let permits = u128::from(quota.rate().permits());
    let period_nanos = quota.rate().period().as_nanos();
    let [from_nanos, to_nanos] = [from_nanos, to_nanos.max(from_nanos)].map(u128::from);
    let earned = if quota.refill() == Refill::Interval {
        (to_nanos / period_nanos - from_nanos / period_nanos) * permits
    } else {
        (to_nanos - from_nanos) * permits / period_nanos
    };
    u64::try_from(earned).unwrap_or(u64::MAX)
}
