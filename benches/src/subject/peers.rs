//! The peers, each set up for its fastest way to ask for one permit.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{MonotonicClock, QuantaClock, QuantaUpkeepClock};
use governor::state::{InMemoryState, NotKeyed};

use super::clocks::STEP;
use super::ours::by_the_millisecond;
use super::{Limit, Op, Subject, shared};

type Direct<C> = governor::RateLimiter<NotKeyed, InMemoryState, C, NoOp<C>>;
type NoOp<C> = governor::middleware::NoOpMiddleware<<C as governor::clock::Clock>::Instant>;

macro_rules! governor {
    ($Governor:ident, $Clock:ty, $name:literal, $clock:expr) => {
        pub(super) struct $Governor(Direct<$Clock>);

        impl Subject for $Governor {
            const NAME: &'static str = $name;
            const BASELINE: &'static str = $name;

            fn new(limit: Limit) -> $Governor {
                let permits = u32::try_from(limit.permits).expect("rates here fit 32 bits");
                let burst = u32::try_from(limit.burst).expect("bursts here fit 32 bits");
                // As its `per_second` does, with the interval in whole nanoseconds.
                let quota = governor::Quota::with_period(limit.period / permits)
                    .expect("no period here is 0")
                    .allow_burst(NonZeroU32::new(burst).expect("no burst here is 0"));
                $Governor(governor::RateLimiter::direct_with_clock(quota, $clock))
            }

            shared!();

            #[inline]
            fn try_one(&self, (): &mut ()) -> bool {
                self.0.check().is_ok()
            }

            #[inline]
            fn try_many(&self, (): &mut (), permits: u64) -> bool {
                let permits = NonZeroU32::new(permits as u32);
                permits.is_some_and(|permits| matches!(self.0.check_n(permits), Ok(Ok(()))))
            }
        }
    };
}

governor!(Governor, QuantaClock, "governor", QuantaClock::default());
governor!(
    GovernorUpkeep,
    QuantaUpkeepClock,
    "governor_upkeep",
    QuantaUpkeepClock::from_interval(STEP).expect("a thread can be started")
);
governor!(GovernorMonotonic, MonotonicClock, "governor_monotonic", MonotonicClock);

/// Keyed only: one key, inserted beforehand, of the cheapest type.
pub(super) struct Quota(quota::QuotaPool<u64>);

impl Subject for Quota {
    const NAME: &'static str = "quota";
    const BASELINE: &'static str = "governor";

    #[expect(clippy::cast_precision_loss, reason = "its rates are floating-point")]
    fn new(limit: Limit) -> Quota {
        let per_nano = limit.permits as f64 / limit.period.as_nanos() as f64;
        let policy = quota::QuotaPolicy::new()
            .set_capacity(limit.burst as f64)
            .set_refill_rate(quota::RefillRate::per_nano(per_nano));
        let pool = quota::QuotaPool::with_key_type(policy, limit.burst);
        pool.insert_key(&0);
        Quota(pool)
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.0.check(&0, 1)
    }

    #[inline]
    fn try_many(&self, (): &mut (), permits: u64) -> bool {
        self.0.check(&0, permits)
    }
}

/// Starts full here; empty is its default.
pub(super) struct Ratelimit(ratelimit::Ratelimiter);

impl Subject for Ratelimit {
    const NAME: &'static str = "ratelimit";
    const BASELINE: &'static str = "governor_monotonic";

    fn new(limit: Limit) -> Ratelimit {
        let limiter = ratelimit::Ratelimiter::builder(limit.permits)
            .period(limit.period)
            .max_tokens(limit.burst)
            .initial_available(limit.burst)
            .build();
        Ratelimit(limiter.expect("the limit is in range"))
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.0.try_wait().is_ok()
    }

    #[inline]
    fn try_many(&self, (): &mut (), permits: u64) -> bool {
        self.0.try_wait_n(permits).is_ok()
    }
}

pub(super) struct Ratelock(ratelock::RateLimiter<ratelock::StdClock>);

impl Subject for Ratelock {
    const NAME: &'static str = "ratelock";
    const BASELINE: &'static str = "governor_monotonic";

    fn limit(op: Op) -> Limit {
        by_the_second(op)
    }

    fn new(limit: Limit) -> Ratelock {
        Ratelock(ratelock::RateLimiter::new(limit.burst, limit.per_second()))
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.0.allow()
    }

    #[inline]
    fn try_many(&self, (): &mut (), permits: u64) -> bool {
        self.0.allow_n(permits)
    }
}

/// Keyed only: one key. Its `check` is a plain function, not a future.
pub(super) struct TokioRateLimit(tokio_rate_limit::RateLimiter);

impl Subject for TokioRateLimit {
    const NAME: &'static str = "tokio-rate-limit";
    const BASELINE: &'static str = "governor_monotonic";

    fn limit(op: Op) -> Limit {
        let limit = by_the_second(op);
        // It takes no burst below the rate.
        Limit { burst: limit.burst.max(limit.permits), ..limit }
    }

    fn new(limit: Limit) -> TokioRateLimit {
        let config = tokio_rate_limit::RateLimiterConfig {
            requests_per_second: limit.per_second(),
            burst: limit.burst,
        };
        TokioRateLimit(tokio_rate_limit::RateLimiter::new(config).expect("the limit is in range"))
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.0.check("key").permitted
    }

    #[inline]
    fn try_many(&self, (): &mut (), permits: u64) -> bool {
        self.0.check_with_cost("key", permits).permitted
    }
}

macro_rules! leaky_bucket {
    ($LeakyBucket:ident, $name:literal, $is_fair:literal) => {
        pub(super) struct $LeakyBucket(leaky_bucket::RateLimiter);

        impl Subject for $LeakyBucket {
            const NAME: &'static str = $name;
            const BASELINE: &'static str = "governor_monotonic";

            fn limit(op: Op) -> Limit {
                by_the_millisecond(op)
            }

            fn new(limit: Limit) -> $LeakyBucket {
                let limiter = leaky_bucket::RateLimiter::builder()
                    .max(limit.burst as usize)
                    .initial(limit.burst as usize)
                    .refill(limit.permits as usize)
                    .interval(limit.period)
                    .fair($is_fair)
                    .build();
                $LeakyBucket(limiter)
            }

            shared!();

            #[inline]
            fn try_one(&self, (): &mut ()) -> bool {
                self.0.try_acquire(1)
            }

            #[inline]
            fn try_many(&self, (): &mut (), permits: u64) -> bool {
                self.0.try_acquire(permits as usize)
            }
        }
    };
}

leaky_bucket!(LeakyBucket, "leaky-bucket", true);

/// Returns a limit for limiters that support only permits per second, and at least one.
fn by_the_second(op: Op) -> Limit {
    match op {
        Op::Deny => Limit::new(1, Duration::from_secs(1), 1),
        _ => op.limit(),
    }
}
