//! The classic algorithms, each with numbers to start with.

use std::time::Duration;

use sluicegate::{ConfigError, Quota, Rate, SlidingWindow};

use crate::Kind;

/// A classic algorithm, of which a limit and a duration make a limiter.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::Algorithm;
/// use std::time::Duration;
///
/// let kind = Algorithm::SlidingLog.kind(5, Duration::from_secs(60))?;
/// assert_eq!(kind.to_string(), "sliding log: 5 in any 1m");
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// A token bucket that holds the limit, and earns the limit in the duration.
    TokenBucket,
    /// A leaky bucket that overflows at the limit, of which the limit leaks out in the duration.
    LeakyBucket,
    /// The limit in each window of the duration, counted from the clock's origin.
    FixedWindow,
    /// The limit in each window of the duration, which begins with its first request.
    WindowFromFirst,
    /// The limit in any window of the duration, exact to the nanosecond.
    SlidingLog,
    /// The limit in any window of the duration, in 60 slots.
    SlidingWindow,
    /// About the limit in any window of the duration, estimated from two fixed ones.
    SlidingCounter,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::FixedWindow,
        Algorithm::WindowFromFirst,
        Algorithm::SlidingLog,
        Algorithm::SlidingWindow,
        Algorithm::SlidingCounter,
    ];

    /// Returns the algorithm with the default numbers: 100 permits a minute.
    #[must_use]
    pub fn default_kind(self) -> Kind {
        self.of(sluicegate::rate!(100 / minute))
    }

    /// Returns the algorithm with `limit` permits in each `duration`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the limit or the duration is out of range. Whether this algorithm can count
    /// that far is found out when the limiter is built.
    pub fn kind(self, limit: u64, duration: Duration) -> Result<Kind, ConfigError> {
        Ok(self.of(Rate::new(limit, duration)?))
    }

    fn of(self, rate: Rate) -> Kind {
        match self {
            Algorithm::TokenBucket => {
                let quota = Quota::new(rate);
                Kind::TokenBucket { quota, initial: quota.burst() }
            }
            Algorithm::LeakyBucket => Kind::LeakyMeter(Quota::new(rate)),
            Algorithm::FixedWindow => Kind::FixedWindow(rate),
            Algorithm::WindowFromFirst => Kind::WindowFromFirst(rate),
            Algorithm::SlidingLog => Kind::SlidingLog(rate),
            Algorithm::SlidingWindow => {
                Kind::SlidingWindow { limit: rate, slots: SlidingWindow::SLOTS }
            }
            Algorithm::SlidingCounter => Kind::SlidingCounter(rate),
        }
    }
}
