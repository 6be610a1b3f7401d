//! Buckets.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::{Gcra, Grant, LeakyBucket, Limiter, Quota, Refill, TokenBucket};
use sluicegate_flow::shaper::Shaper;
use sluicegate_http::fields::QuotaPolicy;

use super::parameter::*;
use super::{Algorithm, AnyLimiter, Drawn, Numbers, SharedClock};
use crate::units::{nanos, per_seconds, real, seconds};
use crate::wire::Shape;

pub(super) static BUCKETS: [Algorithm; 5] = [
    Algorithm {
        id: "token_bucket",
        name: "Token bucket",
        summary: "Earns tokens at a steady rate, up to the burst, and spends one for each permit. Tokens saved while idle can be spent at once.",
        good_for: "APIs: bursts pass, and the rate holds",
        bad_for: "servers that cannot take a whole burst at once",
        parameters: &[BURST, REFILL, PERIOD],
        limiter: |numbers, clock| {
            Ok(AnyLimiter::rate(TokenBucket::with_clock(numbers.quota(Refill::Smooth)?, clock)))
        },
        policies: |numbers| of_quota(numbers, Refill::Smooth),
    },
    Algorithm {
        id: "interval_bucket",
        name: "Token bucket, refilled in steps",
        summary: "Earns tokens in steps: those of a period all at its end, and none before.",
        good_for: "quotas in portions, such as 100 each minute",
        bad_for: "even traffic: callers come back all at once",
        parameters: &[BURST, STEP, PERIOD.by_default(5.0)],
        limiter: |numbers, clock| {
            Ok(AnyLimiter::rate(TokenBucket::with_clock(numbers.quota(Refill::Interval)?, clock)))
        },
        policies: |numbers| of_quota(numbers, Refill::Interval),
    },
    Algorithm {
        id: "gcra",
        name: "GCRA",
        summary: "Lets one permit pass in each interval, and up to the tolerance early. Decides as a token bucket does, but stores a time instead of tokens.",
        good_for: "stores that keep one number for each key",
        bad_for: "people who think in tokens: it tells times",
        parameters: &[INTERVAL, TOLERANCE],
        limiter: |numbers, clock| {
            let [interval, tolerance] = CELLS.map(|id| numbers.time(id));
            Ok(AnyLimiter::rate(Gcra::with_clock(interval, tolerance, clock)?))
        },
        policies: |numbers| {
            let [interval, tolerance] = CELLS.map(|id| numbers.time(id));
            let burst = 1 + tolerance.as_nanos() / interval.as_nanos().max(1);
            let burst = u32::try_from(burst).unwrap_or(u32::MAX);
            vec![QuotaPolicy::new(burst.into()).per(interval.saturating_mul(burst))]
        },
    },
    Algorithm {
        id: "leaky_bucket",
        name: "Leaky bucket as a meter",
        summary: "Each permit fills the bucket, which leaks at a steady rate. A request that would overflow it is refused.",
        good_for: "what a token bucket is, told as a rising level",
        bad_for: "smooth output: it refuses, and delays nothing",
        parameters: &[BURST, LEAK, PERIOD],
        limiter: |numbers, clock| {
            Ok(AnyLimiter::rate(LeakyBucket::meter_with_clock(
                numbers.quota(Refill::Smooth)?,
                clock,
            )))
        },
        policies: |numbers| of_quota(numbers, Refill::Smooth),
    },
    Algorithm {
        id: "leaky_queue",
        name: "Leaky bucket as a queue",
        summary: "Requests wait in a queue and leave it at a steady rate, even if all come at once. When the queue is full, more are refused.",
        good_for: "servers that need requests one by one",
        bad_for: "callers who cannot wait for an answer",
        parameters: &[SIZE, LEAK, PERIOD.by_default(2.0)],
        limiter: |numbers, clock| {
            let rate = numbers.rate("permits", "period")?;
            Ok(AnyLimiter::Queue(Shaper::with_clock(rate, numbers.permits("size"), clock)))
        },
        policies: |numbers| {
            let (size, permits) = (numbers.permits("size"), numbers.permits("permits"));
            let period = numbers.time("period");
            let seconds = period.as_secs_f64() * real(size) / real(permits);
            let window = Duration::try_from_secs_f64(seconds).unwrap_or(period);
            vec![QuotaPolicy::new(size).per(window)]
        },
    },
];

/// The parameters of a GCRA.
const CELLS: [&str; 2] = ["interval", "tolerance"];

fn of_quota(numbers: &Numbers, refill: Refill) -> Vec<QuotaPolicy> {
    numbers.quota(refill).map(QuotaPolicy::from).into_iter().collect()
}

impl Drawn for TokenBucket<SharedClock> {
    fn shape(&self, _: &Numbers, now_nanos: u64) -> Shape {
        of_bucket(self, self.quota(), now_nanos)
    }

    fn reconfigure(&self, _: &Numbers, new: &Numbers) -> bool {
        new.quota(self.quota().refill()).map(|quota| self.reconfigure(quota, Carry::Keep)).is_ok()
    }
}

impl Drawn for LeakyBucket<SharedClock> {
    fn shape(&self, _: &Numbers, now_nanos: u64) -> Shape {
        of_bucket(self, self.quota(), now_nanos)
    }

    fn reconfigure(&self, _: &Numbers, new: &Numbers) -> bool {
        new.quota(Refill::Smooth).map(|quota| self.reconfigure(quota, Carry::Keep)).is_ok()
    }
}

impl Drawn for Gcra<SharedClock> {
    fn shape(&self, _: &Numbers, now_nanos: u64) -> Shape {
        let Ok(grant) = self.peek(0) else { return Shape::empty() };
        let interval = self.interval().as_secs_f64();
        let capacity = 1.0 + self.tolerance().as_secs_f64() / interval;
        smooth(&grant, capacity, (1, interval), now_nanos)
    }

    fn reconfigure(&self, _: &Numbers, new: &Numbers) -> bool {
        let [interval, tolerance] = CELLS.map(|id| new.time(id));
        self.reconfigure(interval, tolerance, Carry::Keep).is_ok()
    }
}

fn of_bucket(bucket: &impl Limiter, quota: Quota, now_nanos: u64) -> Shape {
    // Asking for no permits is always granted, and changes nothing.
    let Some(grant) = bucket.peek(0).ok() else { return Shape::empty() };
    let rate = per_seconds(quota.rate());
    let capacity = real(quota.burst());
    match quota.refill() {
        Refill::Smooth => smooth(&grant, capacity, rate, now_nanos),
        Refill::Interval => Shape::IntervalBucket {
            level: real(grant.remaining()),
            capacity,
            next_refill_at: grant
                .next_permit_after()
                .map(|wait| seconds(now_nanos.saturating_add(nanos(wait)))),
            refill: rate,
        },
    }
}

/// Returns the state of a bucket that earns continuously. The grant tells to the nanosecond when it is full,
/// and so how much it lacks, with the fraction.
pub(super) fn smooth(grant: &Grant, capacity: f64, rate: (u64, f64), now_nanos: u64) -> Shape {
    let full_after = grant.reset_after();
    let level = capacity - full_after.as_secs_f64() * real(rate.0) / rate.1;
    Shape::Bucket {
        level,
        capacity,
        rate,
        debt: (-level).max(0.0),
        full_at: seconds(now_nanos.saturating_add(nanos(full_after))),
    }
}
