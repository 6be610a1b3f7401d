//! A token bucket whose callers leave a reserve.

use std::hint::black_box;

use sluicegate::TokenBucket;
use sluicegate::clock::QuantaClock;

use super::ours::quota;
use super::{Limit, Op, Subject, shared};

pub(super) struct Leaving {
    bucket: TokenBucket<QuantaClock>,
    reserve: u64,
}

impl Subject for Leaving {
    const NAME: &'static str = "sluicegate/token_bucket_leaving";
    const BASELINE: &'static str = "sluicegate/token_bucket";

    const OPS: &'static [Op] = &[Op::Allow, Op::Deny];

    /// Leaves half of the burst; nothing of a burst of one permit.
    fn new(limit: Limit) -> Leaving {
        let bucket = TokenBucket::with_clock(quota(limit), QuantaClock::new());
        Leaving { bucket, reserve: limit.burst / 2 }
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.bucket.try_acquire_leaving(1, black_box(self.reserve)).is_ok()
    }
}
