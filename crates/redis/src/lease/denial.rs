//! Denials of the server, remembered until they can change, and for a second at most.

use std::time::Duration;

use sluicegate::Denied;
use sluicegate::penalty::Standing;

use super::terms::LeaseTerms;
use crate::limit::reply::Reply;

/// The longest that a denial is remembered. Another machine may reset the key meanwhile, give permits back or raise the
/// limit, or somebody empties the server: nobody tells this one.
const MAX_AGE: Duration = Duration::from_secs(1);

/// An answer that left the server with too few permits.
#[derive(Debug)]
pub(super) struct CachedDenial {
    reply: Vec<i64>,
    /// Permits that the server lacked: of fewer than these it was not asked.
    least: u64,
    /// Times at which it was asked, and at which it had answered.
    sent: u64,
    received: u64,
}

impl CachedDenial {
    pub(super) fn new(reply: Vec<i64>, least: u64, sent: u64, received: u64) -> CachedDenial {
        CachedDenial { reply, least, sent, received }
    }

    /// Returns the denial of `permits` by a key with a lease of which `held` are left, if the server would certainly deny
    /// those that are missing. (Unless somebody gives permits back, or resets the key.)
    ///
    /// The server decided between the two times that are known here. So it is not asked until the wait has passed from
    /// the first on, or [`MAX_AGE`], and the wait that is told counts from the second on.
    pub(super) fn answer(
        &self,
        terms: &LeaseTerms,
        permits: u64,
        held: u64,
        now: u64,
    ) -> Option<Denied> {
        let missing = permits.checked_sub(held).filter(|&missing| missing >= self.least)?;
        let wait = terms.limit.terms().retry_after(&Reply::new(&self.reply)?, missing)?;
        if since(self.sent, now) >= wait.min(MAX_AGE) {
            return None;
        }
        self.of_counted(terms, permits, held, now)
    }

    /// Returns the denial of `permits` to a caller whose need was counted when the server decided, and for which `held` are
    /// left: also if it could be granted by now, or a server that is further away than the wait would never
    /// deny. None if the server had as many.
    pub(super) fn of_counted(
        &self,
        terms: &LeaseTerms,
        permits: u64,
        held: u64,
        now: u64,
    ) -> Option<Denied> {
        let missing = permits.checked_sub(held)?;
        let reply = Reply::new(&self.reply)?;
        let Standing { limit, used, reset_after, .. } = terms.limit.terms().standing(&reply)?;
        if missing <= limit.saturating_sub(used) {
            return None;
        }
        let wait = terms.limit.terms().retry_after(&reply, missing)?;
        let passed = since(self.received, now);
        let used = limit - limit.saturating_sub(used).saturating_add(held).min(limit);
        let standing = Standing::new(limit, used, reset_after.saturating_sub(passed).max(wait));
        // More than nothing, or callers would spin.
        let wait = wait.saturating_sub(passed).max(Duration::from_nanos(1));
        Some(standing.denial(permits, wait))
    }
}

fn since(then: u64, now: u64) -> Duration {
    Duration::from_nanos(now.saturating_sub(then))
}
