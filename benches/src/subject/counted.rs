//! A token bucket whose answers are counted.

use sluicegate::clock::QuantaClock;
use sluicegate::compose::Counted as Counts;
use sluicegate::{Limiter, TokenBucket};

use super::ours::quota;
use super::{Limit, Op, Subject, shared};

pub(super) struct Counted(Counts<TokenBucket<QuantaClock>>);

impl Subject for Counted {
    const NAME: &'static str = "sluicegate/token_bucket_counted";
    const BASELINE: &'static str = "sluicegate/token_bucket";

    const OPS: &'static [Op] = &[Op::Allow, Op::Deny];

    fn new(limit: Limit) -> Counted {
        Counted(Counts::new(TokenBucket::with_clock(quota(limit), QuantaClock::new())))
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.0.try_acquire(1).is_ok()
    }
}
