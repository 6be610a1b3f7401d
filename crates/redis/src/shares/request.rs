//! A request of a tenant, and its answer.

use std::time::Duration;

use sluicegate::penalty::Standing;
use sluicegate::share::ShareGrant;
use sluicegate::{Denied, Grant};

use crate::error::StoreError;
use crate::limit::RedisLimit;
use crate::script::SHARES;

use super::{Group, Numbers};

/// A request, ready to be sent.
pub(crate) struct Request<'a> {
    pub(super) numbers: &'a Numbers,
    /// Nothing if the tenant has no share.
    pub(super) group: Option<&'a Group>,
    /// The names of the common bucket, and if there is a group of the tenant's own, of the places, and of the ceiling.
    pub(super) names: Vec<String>,
    pub(super) terms: Vec<u8>,
    pub(super) verb: &'static str,
    pub(super) permits: u64,
    pub(super) permits_text: String,
    /// The time that a test sets, or empty.
    pub(super) time: String,
}

/// The reply of the script, but for the buckets.
#[derive(Clone, Copy)]
struct Reply {
    granted: i64,
    now: i64,
}

impl Request<'_> {
    /// Has the script count from `micros` instead of the server's time.
    #[cfg(test)]
    pub(crate) fn at(self, micros: u64) -> Self {
        Request { time: micros.to_string(), ..self }
    }

    pub(crate) fn keys(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    pub(crate) fn arguments(&self) -> [&[u8]; 4] {
        let (permits, time) = (self.permits_text.as_bytes(), self.time.as_bytes());
        [&self.terms, self.verb.as_bytes(), permits, time]
    }

    /// Reads the answer.
    pub(crate) fn answer(&self, reply: &[i64]) -> Result<Result<ShareGrant, Denied>, StoreError> {
        let answer = self.read(reply);
        let not_one = || StoreError::Reply { script: SHARES.name(), reply: reply.to_vec() };
        answer.ok_or_else(not_one)
    }

    /// Reads the answer; `None` if it is none of the script.
    fn read(&self, reply: &[i64]) -> Option<Result<ShareGrant, Denied>> {
        let &[granted, now, is_of_share, free_at, ref buckets @ ..] = reply else { return None };
        let (buckets, []) = buckets.as_chunks::<3>() else { return None };
        let (&common, of_tenant) = buckets.split_first()?;
        let reply = Reply { granted, now };
        let limit = &self.numbers.common;
        if granted >= 0 {
            return match (is_of_share, self.group) {
                (0, group) => {
                    let lent = reply.of(limit, common, self.permits)?.ok()?;
                    let lent = above(&lent, self.numbers.kept);
                    let ceiling = group.and_then(|group| Some((group, group.ceiling.as_ref()?)));
                    let Some((group, ceiling)) = ceiling else {
                        return Some(Ok(ShareGrant::Borrowed(lent.grant(self.permits))));
                    };
                    let limited = reply.of(ceiling, *of_tenant.get(1)?, self.permits)?.ok()?;
                    let limited = above(&limited, group.assured.limit());
                    let tighter = if left(limited) < left(lent) { limited } else { lent };
                    let both = lowered(tighter, left(tighter), lent.limit.min(limited.limit));
                    Some(Ok(ShareGrant::Borrowed(both.grant(self.permits))))
                }
                (1, Some(group)) => {
                    let grant =
                        reply.of(&group.assured, *of_tenant.first()?, self.permits)?.ok()?;
                    Some(Ok(ShareGrant::Assured(grant)))
                }
                _ => None,
            };
        }
        let lent = reply.leaving(limit, common, self.permits, self.numbers.kept)?;
        let Some(group) = self.group else { return Some(Err(lent.err()?)) };
        let (&own, of_ceiling) = of_tenant.split_first()?;
        let of_share = if free_at > 0 {
            // Both are times in microseconds.
            let micros = u64::try_from(free_at.checked_sub(now)?).unwrap_or(0);
            Denied::Full { retry_after: Duration::from_micros(micros) }
        } else {
            reply.of(&group.assured, own, self.permits)?.err()?
        };
        let limited = match (&group.ceiling, of_ceiling) {
            (None, []) => Ok(()),
            (Some(ceiling), &[bucket]) => {
                reply.leaving(ceiling, bucket, self.permits, group.assured.limit())?
            }
            _ => return None,
        };
        // To borrow, it has to pass both; of equal waits, the one for all is told.
        let denials = [limited.err(), lent.err()].into_iter().flatten();
        let remaining = denials.clone().filter_map(|denied| denied.remaining()).min();
        let of_ceiling = |ceiling: &RedisLimit| ceiling.limit() - group.assured.limit();
        let most = group.ceiling.as_ref().map_or(u64::MAX, of_ceiling);
        let most = most.min(limit.limit() - self.numbers.kept);
        let lent = within(denials.max_by_key(order)?, remaining, most, self.permits);
        Some(Err(if order(&lent) < order(&of_share) { lent } else { of_share }))
    }
}

impl Reply {
    /// Reads the answer of a bucket that decides about `permits`.
    fn of(
        self,
        limit: &RedisLimit,
        [at, tokens, part]: [i64; 3],
        permits: u64,
    ) -> Option<Result<Grant, Denied>> {
        // As that of a token bucket to which nothing was given back.
        let reply = [self.granted, self.now, at, tokens, part, 0];
        limit.read(&reply, permits, Duration::ZERO)
    }

    /// Reads the denial of a bucket in which `kept` permits have to be left, unless it has enough. It tells what is above
    /// these.
    fn leaving(
        self,
        limit: &RedisLimit,
        bucket: [i64; 3],
        permits: u64,
        kept: u64,
    ) -> Option<Result<(), Denied>> {
        let needed = permits.saturating_add(kept);
        if u64::try_from(bucket[1]).is_ok_and(|tokens| tokens >= needed) {
            return Some(Ok(()));
        }
        Some(Err(match self.of(limit, bucket, needed)?.err()? {
            Denied::TooLarge { limit, which } => {
                Denied::TooLarge { limit: limit.saturating_sub(kept), which }
            }
            denied => {
                let standing = Standing::new(
                    denied.limit()?,
                    denied.limit()?.saturating_sub(denied.remaining()?),
                    denied.reset_after()?,
                );
                let left = left(standing).saturating_sub(kept);
                let above = lowered(standing, left, standing.limit.saturating_sub(kept));
                above.denial(permits, denied.retry_after()?)
            }
        }))
    }
}

/// Returns the standing of a bucket for one who leaves `kept` permits.
fn above(grant: &Grant, kept: u64) -> Standing {
    let limit = grant.limit().saturating_sub(kept);
    let left = grant.remaining().saturating_sub(kept);
    let reset_after = grant.reset_after();
    Standing::new(limit, limit.saturating_sub(left), reset_after)
}

fn left(standing: Standing) -> u64 {
    standing.limit.saturating_sub(standing.used)
}

/// Returns the standing with so many permits left, and a limit of at most `limit`.
fn lowered(standing: Standing, left: u64, limit: u64) -> Standing {
    let limit = standing.limit.min(limit);
    Standing::new(limit, limit.saturating_sub(left), standing.reset_after)
}

/// Returns the denial of a request for which two buckets together have so many permits `remaining`, and grant no more
/// than `most`.
fn within(denied: Denied, remaining: Option<u64>, most: u64, permits: u64) -> Denied {
    match (denied, denied.reset_after(), denied.retry_after()) {
        (Denied::TooLarge { limit, which }, ..) => {
            Denied::TooLarge { limit: limit.min(most), which }
        }
        (Denied::Wait(_), Some(reset_after), Some(retry_after)) => {
            let used = most.saturating_sub(remaining.unwrap_or(0));
            Standing::new(most, used, reset_after).denial(permits, retry_after)
        }
        _ => denied,
    }
}

/// The wait; if there is none that suffices, a smaller limit is worse.
fn order(denied: &Denied) -> (Duration, u64) {
    match denied.retry_after() {
        Some(wait) => (wait, 0),
        None => (Duration::MAX, u64::MAX - denied.limit().unwrap_or(0)),
    }
}
