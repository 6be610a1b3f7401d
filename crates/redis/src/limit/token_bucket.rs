//! Smooth token buckets, in exact fractions of a token.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{Quota, Standing};

use super::reply::Reply;
use super::{MOST, RedisLimit, Terms, base_for, gcd};
use crate::error::LimitError;
use crate::script;

/// A smooth token bucket. Each microsecond earns `gain / period` tokens, in lowest terms.
///
/// State: the time, the whole tokens, and the part of the next one in fractions of `period`.
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

    fn wait(&self, reply: &Reply, wanted: u64) -> Option<Duration> {
        let &[at, tokens, part] = reply.state else { return None };
        // Tokens are below 2^34, and periods below 2^51.
        let missing = i128::from(wanted) - i128::from(tokens);
        let missing = missing.checked_mul(i128::from(self.period))? - i128::from(part);
        if missing <= 0 {
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

    fn standing(&self, reply: &Reply) -> Option<Standing> {
        let &[_, tokens, _] = reply.state else { return None };
        let used = i128::from(self.limit()) - i128::from(tokens);
        Some(Standing {
            limit: self.limit(),
            used: u64::try_from(used).ok()?,
            reset_after: self.wait(reply, self.limit())?,
        })
    }

    fn retry_after(&self, reply: &Reply, permits: u64) -> Option<Duration> {
        self.wait(reply, permits)
    }
}

impl From<SmoothBucket> for RedisLimit {
    fn from(bucket: SmoothBucket) -> RedisLimit {
        let base = base_for(bucket.period).unwrap_or(2);
        let numbers =
            [bucket.quota.burst(), bucket.gain, bucket.period, base, bucket.fill_micros()];
        RedisLimit {
            script: &script::TOKEN_BUCKET,
            kind: "tb".to_owned(),
            arguments: numbers.map(|number| number.to_string()).to_vec(),
            terms: Arc::new(bucket),
        }
    }
}
