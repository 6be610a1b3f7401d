//! The answer of a script.

use std::time::Duration;

use sluicegate::{Denied, Grant};

use super::RedisLimit;

/// The answer of a script: what it granted, its time, and the state that it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    /// Permits granted; negative for a denial.
    pub(crate) granted: i64,
    /// Microseconds since 1970.
    pub(crate) now: i64,
    pub(crate) state: &'a [i64],
}

impl<'a> Reply<'a> {
    pub(crate) fn new(numbers: &'a [i64]) -> Option<Reply<'a>> {
        let [granted, now, state @ ..] = numbers else { return None };
        Some(Reply { granted: *granted, now: *now, state })
    }

    /// Returns the wait until `nanos` after `at`, a time in microseconds.
    pub(super) fn wait(&self, at: i64, nanos: i128) -> Duration {
        let wait = (i128::from(at) - i128::from(self.now)) * 1_000 + nanos;
        let nanos = u64::try_from(wait.max(0)).unwrap_or(u64::MAX);
        Duration::from_nanos(nanos)
    }
}

impl RedisLimit {
    /// Reads the answer to a request of which `needed` permits would have been enough, at an instant that is at most
    /// `longest` away; `None` if it is none of the limit's script.
    pub(crate) fn read(
        &self,
        numbers: &[i64],
        needed: u64,
        longest: Duration,
    ) -> Option<Result<Grant, Denied>> {
        let reply = Reply::new(numbers)?;
        let standing = self.terms().standing(&reply)?;
        if let Ok(granted) = u64::try_from(reply.granted) {
            return Some(Ok(standing.grant(granted)));
        }
        if needed == 0 {
            return Some(Ok(standing.grant(0)));
        }
        let mut retry_after = self.terms().retry_after(&reply, needed)?;
        if longest > Duration::ZERO {
            retry_after = retry_after.min(self.reserve_after(&reply, needed, longest)?);
        }
        Some(Err(standing.denial(needed, retry_after)))
    }

    /// Returns the time until `permits` can be taken in advance, `longest` before they are earned.
    fn reserve_after(&self, reply: &Reply, permits: u64, longest: Duration) -> Option<Duration> {
        let (terms, permits) = (self.terms(), i64::try_from(permits).ok()?);
        let least = permits.checked_sub(i64::try_from(terms.max_debt()).ok()?)?;
        let early = terms.balance_after(reply, permits)?.saturating_sub(longest);
        Some(terms.balance_after(reply, least)?.max(early))
    }

    /// Returns the time until the permits of a grant may be used: until the limiter is out of debt.
    pub(crate) fn ready_after(&self, reply: &Reply) -> Option<Duration> {
        let standing = self.terms().standing(reply)?;
        if standing.used <= standing.limit {
            return Some(Duration::ZERO);
        }
        self.terms().balance_after(reply, 0)
    }
}
