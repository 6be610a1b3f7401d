//! Answers for the time in which the server gives none.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::penalty::Standing;
use sluicegate::{ConfigError, Denied, Grant, KeyedLimiter, Quota, Rate};

use crate::decision::Verb;

/// The answers of a [`RedisLimiter`](crate::RedisLimiter) while its server gives none.
///
/// A request that failed may have taken its permits, and its fallback may take them a second time: so fewer
/// are granted than might be. No request is sent twice.
///
/// | fallback | admitted by all machines together, in a span of `t` in which the server fails, beside what it admits itself |
/// |---|---|
/// | [`Fallback::Closed`] | nothing |
/// | [`Fallback::Open`] | everything |
/// | [`Fallback::Local`] | what the local limiters of all machines admit: burst + what `t` earns, for shares by [`share_of`] |
///
/// A server that lost its data when it failed begins from full: once more the limit, for each such loss.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Fallback {
    /// The failure, as an error: nothing is granted. By default.
    #[default]
    Closed,
    /// A grant of everything up to the limit.
    Open,
    /// The answers of a limiter of this machine, such as a [`KeyTable`](sluicegate::KeyTable) of a share of the
    /// limit: see [`share_of`].
    Local(Arc<dyn KeyedLimiter<str>>),
}

impl Fallback {
    /// Returns the answer of a limiter that grants at most `limit`; nothing if it is closed.
    pub(crate) fn answer(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
        limit: u64,
    ) -> Option<Result<Grant, Denied>> {
        match self {
            Fallback::Closed => None,
            Fallback::Open => {
                let granted = if verb == Verb::UpTo { permits.min(limit) } else { permits };
                if granted > limit {
                    return Some(Err(Denied::TooLarge { limit, which: 0 }));
                }
                let standing = Standing::new(limit, granted, Duration::ZERO);
                Some(Ok(standing.grant(granted)))
            }
            Fallback::Local(limiter) => Some(match verb {
                Verb::Take => limiter.try_acquire(key, permits),
                Verb::UpTo => limiter.try_acquire_up_to(key, permits),
                Verb::Peek => limiter.peek(key, permits),
            }),
        }
    }
}

impl Fallback {
    /// Returns the answer to a request that leaves `reserve` permits. A limiter of this machine is looked at first: between that
    /// and the answer another caller may take a part of the reserve.
    pub(crate) fn answer_leaving(
        &self,
        (verb, key): (Verb, &str),
        (permits, reserve): (u64, u64),
        limit: u64,
    ) -> Option<Result<Grant, Denied>> {
        if permits > 0
            && let Fallback::Local(limiter) = self
            && let Err(denied) = limiter.peek(key, permits.saturating_add(reserve))
        {
            return Some(Err(match denied {
                Denied::TooLarge { limit, which } => {
                    Denied::TooLarge { limit: limit.saturating_sub(reserve), which }
                }
                denied => denied,
            }));
        }
        self.answer(verb, key, permits, limit)
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fallback::Closed => "Closed",
            Fallback::Open => "Open",
            Fallback::Local(_) => "Local",
        })
    }
}

/// Returns the share of `quota` that each of a number of machines has: the rate divided by them, exactly, and the
/// burst, rounded down.
///
/// All shares together admit no more than the quota, unless its burst is less than the number of machines: then
/// each has a burst of 1.
///
/// # Errors
///
/// [`ConfigError::Period`] if the rate of a share is less than one permit in 100 years.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate_redis::share_of;
///
/// assert_eq!(share_of(quota!(100 / second, burst 50), 4)?, quota!(100 / 4 seconds, burst 12));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub fn share_of(quota: impl Into<Quota>, machines: u32) -> Result<Quota, ConfigError> {
    let (quota, machines) = (quota.into(), machines.max(1));
    let rate = quota.rate();
    let period = rate.period().checked_mul(machines).unwrap_or(Duration::MAX);
    let burst = (quota.burst() / u64::from(machines)).max(1);
    let share = Quota::new(Rate::new(rate.permits(), period)?).with_refill(quota.refill());
    share.with_burst(burst)?.with_max_debt(quota.max_debt() / u64::from(machines))
}

#[cfg(test)]
mod tests {
    use sluicegate::quota;

    use super::*;

    #[test]
    fn shares_are_the_quota_together_or_one_permit_each() {
        assert_eq!(share_of(quota!(10 / second), 0).unwrap(), quota!(10 / second));
        assert_eq!(share_of(quota!(10 / second), 1).unwrap(), quota!(10 / second));
        let share = share_of(quota!(10 / second, max_debt 7), 3).unwrap();
        assert_eq!(share, quota!(10 / 3 seconds, burst 3, max_debt 2));
        assert_eq!(share_of(quota!(2 / second), 5).unwrap().burst(), 1);
        let error = share_of(quota!(1 / 365 days), u32::MAX).unwrap_err();
        assert!(matches!(error, ConfigError::Period { .. }), "{error}");
    }

    #[test]
    fn an_open_fallback_grants_the_limit_and_no_more() {
        let open = |verb, permits| Fallback::Open.answer(verb, "ada", permits, 10)?.ok();
        assert_eq!(open(Verb::Take, 10).unwrap().permits(), 10);
        assert!(open(Verb::Take, 11).is_none());
        assert_eq!(open(Verb::UpTo, 11).unwrap().permits(), 10);
        assert_eq!(open(Verb::Peek, 0).unwrap().remaining(), 10);
    }
}
