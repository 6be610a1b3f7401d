//! Token buckets that are refilled at the end of each interval.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Quota;
use sluicegate::penalty::Standing;

use super::reply::Reply;
use super::{MOST, RedisLimit, Terms, micros, packed};
use crate::error::LimitError;
use crate::script;

/// A token bucket that gains tokens at the end of each interval.
///
/// State: the time of the last refill, and the tokens.
///
/// Its script keeps all numbers below 2^53: intervals are counted only up to one more than fill the bucket, so the tokens
/// that they gain stay below 2^34. Their time is at most 2^52, which is checked here, and that of the clock less
/// until the year 2112.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntervalBucket {
    quota: Quota,
    interval: u64,
}

impl IntervalBucket {
    pub(super) fn new(quota: Quota) -> Result<IntervalBucket, LimitError> {
        let period = quota.rate().period();
        let interval = micros("interval", period)?;
        let bucket = IntervalBucket { quota, interval };
        let most_missing = quota.burst() + quota.max_debt();
        let intervals = most_missing.div_ceil(quota.rate().permits()) + 1;
        if u128::from(intervals) * u128::from(interval) > u128::from(MOST) {
            let most = Duration::from_micros(MOST / intervals);
            return Err(LimitError::TooLong { what: "interval", value: period, most });
        }
        Ok(bucket)
    }

    fn wait(&self, reply: &Reply, wanted: i64) -> Option<Duration> {
        let &[at, tokens] = reply.state else { return None };
        let missing = u64::try_from(i128::from(wanted) - i128::from(tokens)).unwrap_or(0);
        if missing == 0 {
            return Some(Duration::ZERO);
        }
        let intervals = missing.div_ceil(self.quota.rate().permits());
        let nanos = i128::from(intervals) * i128::from(self.interval) * 1_000;
        Some(reply.wait(at, nanos))
    }
}

impl Terms for IntervalBucket {
    fn limit(&self) -> u64 {
        self.quota.burst()
    }

    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        Ok(IntervalBucket::new(self.quota.with_burst(limit)?)?.into())
    }

    fn comes_back_together(&self) -> u64 {
        self.quota.rate().permits().min(self.limit())
    }

    fn standing(&self, reply: &Reply) -> Option<Standing> {
        let &[_, tokens] = reply.state else { return None };
        let used = i128::from(self.limit()) - i128::from(tokens);
        Some(Standing::new(
            self.limit(),
            u64::try_from(used).ok()?,
            self.wait(reply, i64::try_from(self.limit()).ok()?)?,
        ))
    }

    fn retry_after(&self, reply: &Reply, permits: u64) -> Option<Duration> {
        self.wait(reply, i64::try_from(permits).ok()?)
    }

    fn max_debt(&self) -> u64 {
        self.quota.max_debt()
    }

    fn balance_after(&self, reply: &Reply, balance: i64) -> Option<Duration> {
        self.wait(reply, balance)
    }

    fn charged(&self, reply: &Reply) -> Option<Vec<i64>> {
        Some(reply.state.to_vec())
    }
}

impl From<IntervalBucket> for RedisLimit {
    fn from(bucket: IntervalBucket) -> RedisLimit {
        let quota = bucket.quota;
        let numbers = [quota.burst(), quota.rate().permits(), bucket.interval, quota.max_debt()];
        RedisLimit {
            script: &script::INTERVAL_BUCKET,
            kind: "ib".to_owned(),
            numbers: packed(&numbers),
            terms: Arc::new(bucket),
        }
    }
}
