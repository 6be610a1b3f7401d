//! Limiters of every shape, made of plain numbers.

use std::time::Duration;

use num_bigint::BigInt;
use sluicegate::bucket::{Carry, SettleableBucket};
use sluicegate::*;

use super::super::reference::{Mirror, Plan, nanos};

/// The type of a limiter, and its terms. Any values will do: they are brought into range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) shape: Shape,
    pub(crate) permits: u64,
    pub(crate) period_nanos: u64,
    /// The burst, or a GCRA's tolerance in nanoseconds.
    pub(crate) room: u64,
    pub(crate) max_debt: u64,
    pub(crate) initial: u64,
    pub(crate) refill: Refill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Bucket,
    Settleable,
    Meter,
    MinInterval,
    Cells,
}

impl Shape {
    /// All shapes, and how often random tests take each.
    pub(crate) const ALL: [(u32, Shape); 5] = [
        (4, Shape::Bucket),
        (2, Shape::Settleable),
        (2, Shape::Meter),
        (1, Shape::MinInterval),
        (3, Shape::Cells),
    ];
}

impl Setup {
    fn rate(self) -> Rate {
        let period_nanos = self.period_nanos.clamp(1, nanos(Rate::MAX_PERIOD));
        let fastest = u128::from(period_nanos) * u128::from(Rate::MAX_PER_SECOND) / 1_000_000_000;
        let most = u64::try_from(fastest).unwrap_or(u64::MAX).min(Rate::MAX_PERMITS);
        Rate::new(self.permits.clamp(1, most), Duration::from_nanos(period_nanos)).unwrap()
    }

    pub(crate) fn quota(self) -> Quota {
        let quota = Quota::new(self.rate());
        if self.shape == Shape::MinInterval {
            return quota.with_burst(1).unwrap();
        }
        let burst = self.room.clamp(1, Quota::MAX_BURST);
        let quota = quota.with_burst(burst).unwrap().with_refill(self.refill);
        quota.with_max_debt(self.max_debt.min(Quota::MAX_DEBT)).unwrap()
    }

    /// The interval and the tolerance of a GCRA.
    pub(crate) fn cells(self) -> (u64, u64) {
        let longest = nanos(Rate::MAX_PERIOD);
        let interval_nanos = self.period_nanos.clamp(1, longest);
        let tolerance = u128::from(interval_nanos) << 32;
        let most = u64::try_from(tolerance - 1).unwrap_or(u64::MAX).min(longest);
        (interval_nanos, self.room.min(most))
    }

    pub(crate) fn plan(self) -> Plan {
        let (interval_nanos, tolerance_nanos) = self.cells();
        match self.shape {
            Shape::Cells => Plan::of_cells(interval_nanos, tolerance_nanos),
            _ => Plan::of_quota(self.quota()),
        }
    }

    pub(crate) fn initial(self) -> u64 {
        match self.shape {
            Shape::Cells => u64::MAX,
            Shape::MinInterval => 1,
            _ => self.initial.min(self.quota().burst()),
        }
    }
}

/// A limiter of any shape.
#[derive(Debug)]
pub(crate) enum Subject<'a> {
    Bucket(TokenBucket<&'a ManualClock>),
    Settleable(SettleableBucket<&'a ManualClock>),
    Leaky(LeakyBucket<&'a ManualClock>),
    Cells(Gcra<&'a ManualClock>),
}

/// The same call of whichever limiter it is.
macro_rules! each {
    ($subject:expr, $limiter:ident => $call:expr) => {
        match $subject {
            Subject::Bucket($limiter) => $call,
            Subject::Settleable($limiter) => $call,
            Subject::Leaky($limiter) => $call,
            Subject::Cells($limiter) => $call,
        }
    };
}

pub(crate) use each;

impl<'a> Subject<'a> {
    pub(crate) fn new(setup: Setup, clock: &'a ManualClock) -> Subject<'a> {
        let quota = setup.quota();
        match setup.shape {
            Shape::Bucket => {
                let bucket = TokenBucket::with_clock(quota, clock);
                Subject::Bucket(bucket.starting_with(setup.initial()).unwrap())
            }
            Shape::Settleable => {
                let bucket = SettleableBucket::with_clock(quota, clock);
                Subject::Settleable(bucket.starting_with(setup.initial()).unwrap())
            }
            Shape::Meter => {
                let meter = LeakyBucket::meter_with_clock(quota, clock);
                Subject::Leaky(meter.starting_with(setup.initial()).unwrap())
            }
            Shape::MinInterval => {
                Subject::Leaky(LeakyBucket::min_interval_with_clock(quota.rate(), clock))
            }
            Shape::Cells => {
                let (interval, tolerance) = setup.cells();
                let [interval, tolerance] = [interval, tolerance].map(Duration::from_nanos);
                Subject::Cells(Gcra::with_clock(interval, tolerance, clock).unwrap())
            }
        }
    }

    pub(crate) fn reconfigure(&self, setup: Setup, carry: Carry) {
        match self {
            Subject::Bucket(bucket) => bucket.reconfigure(setup.quota(), carry),
            Subject::Settleable(bucket) => bucket.reconfigure(setup.quota(), carry),
            Subject::Leaky(bucket) => bucket.reconfigure(setup.quota(), carry),
            Subject::Cells(cells) => {
                let (interval, tolerance) = setup.cells();
                let [interval, tolerance] = [interval, tolerance].map(Duration::from_nanos);
                cells.reconfigure(interval, tolerance, carry).unwrap();
            }
        }
    }

    /// Asserts that the limiter says that it enforces what it was given.
    pub(crate) fn assert_enforces(&self, setup: Setup, mirror: &mut Mirror, now_nanos: u64) {
        let expected = setup.quota();
        let quota = match self {
            Subject::Bucket(bucket) => bucket.quota(),
            Subject::Settleable(bucket) => bucket.quota(),
            Subject::Leaky(bucket) => {
                assert_eq!(bucket.level(), mirror.level(now_nanos));
                bucket.quota()
            }
            Subject::Cells(cells) => {
                let (interval_nanos, tolerance_nanos) = setup.cells();
                assert_eq!(nanos(cells.interval()), interval_nanos);
                let short = tolerance_nanos - nanos(cells.tolerance());
                let unit_nanos = BigInt::from(interval_nanos) / &mirror.plan().token;
                assert!(unit_nanos + 1 > short.into(), "a tolerance is within a unit");
                return;
            }
        };
        assert_eq!((quota.rate(), quota.burst()), (expected.rate(), expected.burst()));
        assert_eq!((quota.refill(), quota.max_debt()), (expected.refill(), expected.max_debt()));
    }
}
