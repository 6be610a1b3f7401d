//! Smooth token buckets, in exact fractions of a token.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Quota;
use sluicegate::penalty::Standing;

use super::reply::Reply;
use super::{MOST, RedisLimit, Terms, base_for, gcd, packed};
use crate::error::LimitError;
use crate::script;

/// A smooth token bucket. Each microsecond earns `gain / period` tokens, in lowest terms.
///
/// Reply: the time; the whole tokens; the part of the next one, in fractions of `period`; the age of the grant; and lots of
/// permits that were given back, each with its age and its size.
///
/// Its script keeps all numbers below 2^53. The gain is below 2^42, and the period below 2^51, so that
/// `base_for` it is at least 2, as the long division needs. Less than `fill` microseconds earn no more tokens than
/// the bucket holds in addition to the deepest debt, and a fraction: below 2^34.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmoothBucket {
    quota: Quota,
    gain: u64,
    period: u64,
}

impl SmoothBucket {
    pub(super) fn new(quota: Quota) -> Result<SmoothBucket, LimitError> {
        let rate = quota.rate();
        // A `Rate` has at most 2^32 permits, and a period below 2^62 ns.
        let (gain, period) = (rate.permits() * 1_000, rate.period().as_nanos() as u64);
        let divisor = gcd(gain, period);
        let (gain, period) = (gain / divisor, period / divisor);
        if base_for(period).is_none() {
            return Err(LimitError::Period { permits: rate.permits(), period: rate.period() });
        }
        Ok(SmoothBucket { quota, gain, period })
    }

    /// Returns the time after which a bucket is full that had spent everything and its largest debt.
    fn fill_micros(&self) -> u64 {
        let tokens = u128::from(self.quota.burst() + self.quota.max_debt());
        let micros = (tokens * u128::from(self.period)).div_ceil(u128::from(self.gain));
        u64::try_from(micros).unwrap_or(MOST).min(MOST)
    }

    /// Returns the time until `earned` more tokens are earned.
    fn wait(&self, reply: &Reply, earned: i64) -> Option<Duration> {
        let &[at, _, part, ..] = reply.state else { return None };
        // Tokens are below 2^34, and periods below 2^51.
        let missing = i128::from(earned).checked_mul(i128::from(self.period))? - i128::from(part);
        if earned <= 0 || missing <= 0 {
            return Some(Duration::ZERO);
        }
        let nanos = u128::try_from(missing.checked_mul(1_000)?).ok()?.div_ceil(self.gain.into());
        Some(reply.wait(at, i128::try_from(nanos).ok()?))
    }
}

impl Terms for SmoothBucket {
    fn limit(&self) -> u64 {
        self.quota.burst()
    }

    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        Ok(SmoothBucket::new(self.quota.with_burst(limit)?)?.into())
    }

    fn comes_back_together(&self) -> u64 {
        1
    }

    fn standing(&self, reply: &Reply) -> Option<Standing> {
        let left = Left::of(reply)?;
        let limit = i64::try_from(self.limit()).ok()?;
        Some(Standing::new(
            self.limit(),
            u64::try_from(limit.checked_sub(left.after(0))?).ok()?,
            self.wait(reply, limit.checked_sub(left.tokens)?)?,
        ))
    }

    fn retry_after(&self, reply: &Reply, permits: u64) -> Option<Duration> {
        let earned = Left::of(reply)?.least_to_earn(i64::try_from(permits).ok()?);
        self.wait(reply, earned)
    }

    fn max_debt(&self) -> u64 {
        self.quota.max_debt()
    }

    fn balance_after(&self, reply: &Reply, balance: i64) -> Option<Duration> {
        self.wait(reply, balance.checked_sub(Left::of(reply)?.tokens)?)
    }

    fn charged(&self, reply: &Reply) -> Option<Vec<i64>> {
        let &[at, _, part, age, ..] = reply.state else { return None };
        Some(vec![at, age, part])
    }
}

/// The permits that are left: tokens, and lots that were given back.
struct Left<'a> {
    tokens: i64,
    lots: &'a [[i64; 2]],
}

impl Left<'_> {
    fn of<'a>(reply: &Reply<'a>) -> Option<Left<'a>> {
        let [_, tokens, _, _, lots @ ..] = reply.state else { return None };
        let (lots, []) = lots.as_chunks() else { return None };
        Some(Left { tokens: *tokens, lots })
    }

    /// Returns the permits that are left when so many more tokens are earned and nothing is taken.
    fn after(&self, earned: i64) -> i64 {
        // By the time that a request comes, a part of the next token will be earned.
        let dead = if earned > 0 { earned.saturating_add(1) } else { 0 };
        let alive = |&[age, size]: &[i64; 2]| size.min(age.saturating_sub(dead)).max(0);
        let given_back = self.lots.iter().map(alive).fold(0, i64::saturating_add);
        self.tokens.saturating_add(earned).saturating_add(given_back)
    }

    /// Returns the least number of tokens after which `permits` are left.
    ///
    /// While a lot dies, a token earned is a permit lost. So the number is not the permits that are missing; but
    /// between the instants at which a lot begins or ends to die it is found by a subtraction. With lots, it may be one
    /// token too many.
    fn least_to_earn(&self, permits: i64) -> i64 {
        let edges = self.lots.iter().flat_map(|&[age, size]| [age.saturating_sub(size), age]);
        let mut edges: Vec<_> = edges.filter(|&edge| edge > 0).collect();
        edges.sort_unstable();
        let mut from = 0;
        for edge in edges {
            let missing = permits.saturating_sub(self.after(from));
            let earned = from.saturating_add(missing.max(0));
            if earned <= edge && self.after(earned) >= permits {
                return earned;
            }
            from = edge;
        }
        from.saturating_add(permits.saturating_sub(self.after(from)).max(0))
    }
}

impl From<SmoothBucket> for RedisLimit {
    fn from(bucket: SmoothBucket) -> RedisLimit {
        let base = base_for(bucket.period).unwrap_or(2);
        let (burst, debt) = (bucket.quota.burst(), bucket.quota.max_debt());
        let numbers = [burst, bucket.gain, bucket.period, base, bucket.fill_micros(), debt];
        RedisLimit {
            script: &script::TOKEN_BUCKET,
            kind: "tb".to_owned(),
            numbers: packed(&numbers),
            terms: Arc::new(bucket),
        }
    }
}
