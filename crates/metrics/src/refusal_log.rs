//! Refusals as events, as many as a log can stand.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sluicegate::clock::DefaultClock;
use sluicegate::keyed::Observe;
use sluicegate::{Clock, Denied, Grant, Limiter, Quota, TokenBucket};
use tracing::{Level, enabled, event};

/// A log of refusals, through `tracing`, whose own rate is limited.
///
/// Each event has the target `sluicegate`, and the fields `limiter`, `reason`, `retry_after_ms` (if
/// waiting helps), `class` (of a layer's limit with classes of requests) and `suppressed`: the refusals since the event before
/// that the quota of the log left out.
/// Keys are not logged, as they may be addresses or secrets; [`with_keys`](RefusalLog::with_keys) says
/// otherwise.
///
/// A refusal that is left out costs a look at the bucket of the log, which writes nothing, and one addition. If
/// nobody listens at the level, it costs less. A grant costs nothing.
///
/// # Examples
///
/// As the observer of a store:
///
/// ```
/// use sluicegate::{Keyed, quota};
/// use sluicegate::keyed::Buckets;
/// use sluicegate_metrics::RefusalLog;
///
/// let log = RefusalLog::new("logins", quota!(1 / second, burst 10));
/// let logins = Keyed::<String, _>::builder(Buckets::new(quota!(5 / minute))).observer(log).build()?;
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct RefusalLog<C: Clock = DefaultClock> {
    limiter: String,
    level: Level,
    is_with_keys: bool,
    quota: TokenBucket<C>,
    suppressed: AtomicU64,
}

impl RefusalLog {
    /// Returns a log for the refusals of the limiter `limiter`, of at most as many events as `quota` says,
    /// at the level `WARN`.
    #[must_use]
    pub fn new(limiter: impl Into<String>, quota: impl Into<Quota>) -> RefusalLog {
        RefusalLog::with_clock(limiter, quota, DefaultClock::default())
    }
}

impl<C: Clock + Send + Sync> RefusalLog<C> {
    /// Does the same as [`new`](RefusalLog::new), by a clock.
    #[must_use]
    pub fn with_clock(
        limiter: impl Into<String>,
        quota: impl Into<Quota>,
        clock: C,
    ) -> RefusalLog<C> {
        RefusalLog {
            limiter: limiter.into(),
            level: Level::WARN,
            is_with_keys: false,
            quota: TokenBucket::with_clock(quota, clock),
            suppressed: AtomicU64::new(0),
        }
    }

    /// Sets the level of its events.
    #[must_use]
    pub fn level(self, level: Level) -> RefusalLog<C> {
        RefusalLog { level, ..self }
    }

    /// Logs the keys of stores too, in the field `key`. They are what clients send: addresses, names,
    /// perhaps secrets.
    #[must_use]
    pub fn with_keys(self) -> RefusalLog<C> {
        RefusalLog { is_with_keys: true, ..self }
    }

    /// Logs a refusal of a limiter, if the quota of the log allows it.
    pub fn denied(&self, denied: &Denied) {
        self.log(reason(denied), denied.retry_after(), None, None);
    }

    /// Logs a refusal of a layer, if the quota of the log allows it: for
    /// [`RateLimitLayer::observe`](sluicegate_http::layer::RateLimitLayer::observe).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_http::layer::{Limit, RateLimitLayer};
    /// use sluicegate_metrics::RefusalLog;
    ///
    /// let log = RefusalLog::new("api", quota!(1 / second, burst 10));
    /// let layer = RateLimitLayer::new(Limit::of_all(TokenBucket::new(quota!(100 / second))))
    ///     .observe(move |refusal, _| log.refused(refusal));
    /// ```
    #[cfg(feature = "http")]
    pub fn refused(&self, refusal: &sluicegate_http::layer::Refusal<'_>) {
        self.log(refusal.reason().name(), refusal.retry_after(), refusal.class(), None);
    }

    fn log(
        &self,
        reason: &str,
        retry_after: Option<std::time::Duration>,
        class: Option<&str>,
        key: Option<&dyn fmt::Debug>,
    ) {
        /// Writes the event at each level, which `tracing` has to know when it is compiled.
        macro_rules! at_level {
            ($($level:ident)*) => {
                match self.level {
                    $(Level::$level => {
                        if !enabled!(target: "sluicegate", Level::$level) {
                            return;
                        }
                        let Some(suppressed) = self.admit() else { return };
                        let retry_after_ms = retry_after.map(|wait| {
                            // Rounded up, so that it is not too early.
                            u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
                        });
                        let key = key.map(tracing::field::debug);
                        event!(
                            target: "sluicegate",
                            Level::$level,
                            limiter = self.limiter.as_str(),
                            reason,
                            retry_after_ms,
                            class,
                            key,
                            suppressed,
                            "refused"
                        );
                    })*
                }
            };
        }
        at_level!(ERROR WARN INFO DEBUG TRACE);
    }

    /// Returns the number of refusals that were left out since the last event, if there may be one now.
    fn admit(&self) -> Option<u64> {
        // Statistics; nothing is decided by them.
        if Limiter::try_acquire(&self.quota, 1).is_ok() {
            return Some(self.suppressed.swap(0, Relaxed));
        }
        self.suppressed.fetch_add(1, Relaxed);
        None
    }
}

fn reason(denied: &Denied) -> &'static str {
    match denied {
        Denied::Wait(_) => "rate",
        Denied::TooLarge { .. } => "too_large",
        Denied::Leased { .. } => "leased",
        Denied::Full { .. } => "no_space",
        _ => "other",
    }
}

/// Logs the refusals of a store.
impl<K: fmt::Debug + ?Sized, C: Clock + Send + Sync> Observe<K> for RefusalLog<C> {
    fn decided(&self, key: &K, _permits: u64, answer: Result<&Grant, &Denied>) {
        let Err(denied) = answer else { return };
        if self.is_with_keys {
            self.log(reason(denied), denied.retry_after(), None, Some(&key));
        } else {
            self.denied(denied);
        }
    }
}

/// Shows the name and the level.
impl<C: Clock> fmt::Debug for RefusalLog<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusalLog")
            .field("limiter", &self.limiter)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}
