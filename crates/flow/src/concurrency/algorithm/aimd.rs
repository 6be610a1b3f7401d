//! Additive increase, multiplicative decrease.

use std::time::Duration;

use super::range::Range;
use super::{LimitAlgorithm, Sample, is_used, within};

/// A limit that grows by one permit with each call that succeeds, and shrinks by a ratio with each
/// that is dropped: additive increase, multiplicative decrease.
///
/// For services that say when they have too much: that refuse, or time out. It finds the limit at
/// which they do, and swings around it. A call that took longer than the
/// [time-out](Aimd::with_timeout) counts as dropped. The limit does not grow while less than half
/// of it is in use, because calls that succeed then say nothing of a higher one.
///
/// | option | default |
/// |---|---|
/// | [`with_initial`](Aimd::with_initial) | 20 permits |
/// | [`with_min`](Aimd::with_min), [`with_max`](Aimd::with_max) | 1, 1000 |
/// | [`with_backoff`](Aimd::with_backoff) | 0.9 |
/// | [`with_timeout`](Aimd::with_timeout) | 5 s |
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::concurrency::{Aimd, LimitAlgorithm, Sample};
///
/// let mut aimd = Aimd::new().with_initial(30);
/// let success = Sample::new(Duration::from_millis(3), 15);
/// aimd.sample(&success);
/// assert_eq!(aimd.limit(), 31);
/// aimd.sample(&success.dropped());
/// assert_eq!(aimd.limit(), 27); // 31 x 0.9, rounded down
/// ```
#[doc(alias = "AIMDLimit")]
#[derive(Clone, Debug, PartialEq)]
pub struct Aimd {
    range: Range,
    backoff: f64,
    timeout: Duration,
    limit: u32,
}

impl Aimd {
    /// Creates a limit of 20 permits, with the defaults of all options.
    #[must_use]
    pub fn new() -> Aimd {
        Aimd { range: Range::DEFAULT, backoff: 0.9, timeout: Duration::from_secs(5), limit: 0 }
            .begin()
    }

    fn begin(self) -> Aimd {
        Aimd { limit: self.range.initial(), ..self }
    }

    /// Sets the permits to begin with. Outside of the least and the most, the nearer of them is
    /// taken.
    #[must_use]
    pub fn with_initial(self, permits: u64) -> Aimd {
        Aimd { range: self.range.with_initial(permits), ..self }.begin()
    }

    /// Sets the least limit, from 1 to [`ConcurrencyLimit::MAX`](crate::concurrency::ConcurrencyLimit::MAX).
    /// The most is raised to it, if it is less.
    #[must_use]
    pub fn with_min(self, permits: u64) -> Aimd {
        Aimd { range: self.range.with_least(permits), ..self }.begin()
    }

    /// Sets the largest limit, from 1 to [`ConcurrencyLimit::MAX`](crate::concurrency::ConcurrencyLimit::MAX).
    /// The least is lowered to it, if it is more.
    #[must_use]
    pub fn with_max(self, permits: u64) -> Aimd {
        Aimd { range: self.range.with_most(permits), ..self }.begin()
    }

    /// Sets the ratio by which a drop shrinks the limit, from 0.1 to 1. A drop takes off at least
    /// one permit.
    #[must_use]
    pub fn with_backoff(self, ratio: f64) -> Aimd {
        Aimd { backoff: within(ratio, 0.1, 1.0), ..self }
    }

    /// Sets the time above which a call that succeeded counts as dropped.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Aimd {
        Aimd { timeout, ..self }
    }
}

impl Default for Aimd {
    fn default() -> Aimd {
        Aimd::new()
    }
}

impl LimitAlgorithm for Aimd {
    fn limit(&self) -> u64 {
        u64::from(self.limit)
    }

    fn sample(&mut self, sample: &Sample) {
        let limit = if sample.was_dropped || sample.rtt > self.timeout {
            let reduced = (f64::from(self.limit) * self.backoff) as u32;
            reduced.min(self.limit - 1)
        } else if is_used(sample.in_flight, f64::from(self.limit)) {
            self.limit + 1
        } else {
            return;
        };
        self.limit = self.range.clamp(limit);
    }
}
