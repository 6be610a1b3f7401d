//! The limiters of this project.

use std::thread;
use std::time::Duration;

use sluicegate::clock::{CoarseClock, MonotonicClock, QuantaClock};
use sluicegate::{Clock, Quota, Rate, Refill};

use super::clocks::STEP;
use super::{Limit, Op, Subject, Visitor, shared};
use crate::limiters::buckets;

pub(crate) fn quota(limit: Limit) -> Quota {
    let rate = Rate::new(limit.permits, limit.period).expect("the rate is in range");
    Quota::new(rate).with_burst(limit.burst).expect("the burst is in range")
}

macro_rules! limiter {
    (
        $Subject:ident, $Inner:ty, $name:expr, $baseline:literal,
        |$limit:ident| $make:expr $(, |$op:ident| $other:expr)?
    ) => {
        pub(super) struct $Subject($Inner);

        impl Subject for $Subject {
            const NAME: &'static str = $name;
            const BASELINE: &'static str = $baseline;

            $(fn limit($op: Op) -> Limit {
                $other
            })?

            fn new($limit: Limit) -> $Subject {
                $Subject($make)
            }

            shared!();

            #[inline]
            fn try_one(&self, (): &mut ()) -> bool {
                self.0.try_acquire(1).is_ok()
            }

            #[inline]
            fn try_many(&self, (): &mut (), permits: u64) -> bool {
                self.0.try_acquire(permits).is_ok()
            }
        }
    };
}

/// Defines a subject for each bucket of the list, and shows all of them to a visitor.
macro_rules! subjects {
    ($((
        $Subject:ident, $name:literal, $Bucket:ident,
        |$quota:ident, $clock:ident| $make:block, $change:expr
    ))*) => {
        $(limiter!(
            $Subject,
            sluicegate::bucket::$Bucket<QuantaClock>,
            concat!("sluicegate/", $name),
            "governor",
            |limit| {
                use sluicegate::bucket::*;
                let ($quota, $clock) = (quota(limit), QuantaClock::new());
                $make
            },
            |op| limit_of($name, op)
        );)*

        /// Shows `visitor` every limiter without keys, in the order of the reports.
        pub(super) fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.visit::<$Subject>();)*
            visitor.visit::<TokenBucketCoarse>();
            visitor.visit::<TokenBucketMonotonic>();
            visitor.visit::<Sharded>();
            visitor.visit::<ShardedPerCpu>();
            visitor.visit::<ShardedCoarse>();
        }
    };
}

buckets!(subjects);

/// Returns the limit of a bucket of the list, which for some is not the one for all others.
fn limit_of(name: &str, op: Op) -> Limit {
    match (name, op) {
        ("token_bucket_interval", op) => by_the_millisecond(op),
        // Cells are whole nanoseconds apart.
        ("gcra", Op::Edge) => Limit::new(1, Duration::from_nanos(333), 3_000),
        (_, op) => op.limit(),
    }
}

limiter!(
    TokenBucketCoarse,
    sluicegate::TokenBucket<CoarseClock>,
    "sluicegate/token_bucket_coarse",
    "governor_upkeep",
    |limit| sluicegate::TokenBucket::with_clock(
        quota(limit),
        CoarseClock::start(STEP).expect("a thread can be started")
    )
);

limiter!(
    TokenBucketMonotonic,
    sluicegate::TokenBucket<MonotonicClock>,
    "sluicegate/token_bucket_monotonic",
    "governor_monotonic",
    |limit| sluicegate::TokenBucket::with_clock(quota(limit), MonotonicClock::new())
);

limiter!(
    Sharded,
    sluicegate::Sharded<QuantaClock>,
    "sluicegate/sharded",
    "governor",
    |limit| by_thread(limit, QuantaClock::new()),
    |op| with_more(op)
);

limiter!(
    ShardedPerCpu,
    sluicegate::Sharded<QuantaClock>,
    "sluicegate/sharded_per_cpu",
    "governor",
    |limit| sluicegate::Sharded::with_clock(quota(limit), QuantaClock::new()),
    |op| with_more(op)
);

limiter!(
    ShardedCoarse,
    sluicegate::Sharded<CoarseClock>,
    "sluicegate/sharded_coarse",
    "governor_upkeep",
    |limit| by_thread(limit, CoarseClock::start(STEP).expect("a thread can be started")),
    |op| with_more(op)
);

/// Returns a sharded limiter without shards of processors: with one for each thread that the machine runs at once.
pub(super) fn by_thread<C: Clock>(limit: Limit, clock: C) -> sluicegate::Sharded<C> {
    let shards = thread::available_parallelism().map_or(1, usize::from);
    let builder = sluicegate::Sharded::builder(quota(limit)).shards(shards);
    builder.clock(clock).build().expect("the number of shards is in range")
}

/// Returns a limit of more permits, for limiters that grant them faster than a single word
/// can: with the usual limit they would soon come to the end of their burst.
pub(super) fn with_more(op: Op) -> Limit {
    let limit = op.limit();
    match op {
        Op::Allow => Limit { burst: Quota::MAX_BURST, ..limit },
        Op::Full => Limit { permits: Rate::MAX_PER_SECOND, burst: Quota::MAX_BURST, ..limit },
        _ => limit,
    }
}

/// Returns the same rate in periods of a millisecond, for limiters that refill by the
/// period. The slow rates stay as they are.
pub(super) fn by_the_millisecond(op: Op) -> Limit {
    let limit = op.limit();
    if matches!(op, Op::Deny | Op::Beside) {
        return limit;
    }
    Limit { permits: limit.permits / 1_000, period: Duration::from_millis(1), ..limit }
}
