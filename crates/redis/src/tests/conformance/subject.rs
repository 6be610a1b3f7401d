//! The limiters of the cases.

use std::time::Duration;

use serde_json::Value;
use sluicegate::compose::All;
use sluicegate::wait::Reserve;
use sluicegate::window::WindowFromFirst;
use sluicegate::{
    FixedWindow, Gcra, LeakyBucket, Limiter, ManualClock, Quota, Rate, Refill, SlidingCounter,
    TokenBucket,
};

use super::SCALE;
use crate::request::KeyedLimit;
use crate::{KeySpace, RedisLimit};

/// The limiter of a case: the engine's, and those of the scripts.
pub(super) struct Subject<'a> {
    pub(super) engine: Engine<'a>,
    pub(super) limits: Vec<KeyedLimit>,
    /// Permits of each limit that are gone at the beginning.
    pub(super) gone: Vec<u64>,
}

pub(super) enum Engine<'a> {
    Reserves(Box<dyn Reserve + 'a>),
    Other(Box<dyn Limiter + 'a>),
}

impl Engine<'_> {
    pub(super) fn limiter(&self) -> &dyn Limiter {
        match self {
            Engine::Reserves(limiter) => &**limiter,
            Engine::Other(limiter) => &**limiter,
        }
    }
}

pub(super) fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

fn time(value: &Value, name: &str) -> Option<Duration> {
    Some(Duration::from_nanos(number(value, name)?.checked_mul(SCALE)?))
}

fn rate(spec: &Value) -> Option<Rate> {
    Rate::new(number(spec, "permits")?, time(spec, "period_nanos")?).ok()
}

fn quota(spec: &Value) -> Option<Quota> {
    let refill = match spec.get("refill").and_then(Value::as_str) {
        Some("interval") => Refill::Interval,
        _ => Refill::Smooth,
    };
    let quota = Quota::new(rate(spec)?).with_refill(refill);
    let quota = quota.with_burst(number(spec, "burst")?).ok()?;
    match number(spec, "max_debt") {
        Some(debt) => quota.with_max_debt(debt).ok(),
        None => Some(quota),
    }
}

/// Returns a bucket of which so many permits are gone, and these.
fn bucket<'a>(
    spec: &Value,
    clock: &'a ManualClock,
) -> Option<(TokenBucket<&'a ManualClock>, Quota, u64)> {
    let quota = quota(spec)?;
    let gone = quota.burst() - number(spec, "initial").unwrap_or(quota.burst());
    let bucket = TokenBucket::with_clock(quota, clock);
    bucket.try_acquire(gone).unwrap();
    Some((bucket, quota, gone))
}

/// Returns the limiter of a case; nothing if the scripts have none of its kind, or the case is one that is refused.
pub(super) fn subject<'a>(case: &Value, clock: &'a ManualClock) -> Option<Subject<'a>> {
    if case.get("refused").is_some_and(|refused| !refused.is_null()) {
        return None;
    }
    let (kind, spec) = case["limiter"].as_object()?.iter().next()?;
    let mut gone = Vec::new();
    let (engine, limits) = match kind.as_str() {
        "gcra" => {
            let interval = time(spec, "interval_nanos")?;
            let tolerance = interval * u32::try_from(number(spec, "max_burst")?).ok()?;
            let engine = Gcra::with_clock(interval, tolerance, clock).ok()?;
            (Engine::Reserves(Box::new(engine)), vec![RedisLimit::gcra(interval, tolerance)])
        }
        "paced" => {
            let rate = rate(spec)?;
            let nanos = rate.period().as_nanos() as u64;
            if !nanos.is_multiple_of(rate.permits()) {
                return None;
            }
            let interval = Duration::from_nanos(nanos / rate.permits());
            let engine = LeakyBucket::min_interval_with_clock(rate, clock);
            (Engine::Reserves(Box::new(engine)), vec![RedisLimit::gcra(interval, Duration::ZERO)])
        }
        "bucket" => {
            let (engine, quota, permits) = bucket(spec, clock)?;
            gone = vec![permits];
            (Engine::Reserves(Box::new(engine)), vec![RedisLimit::token_bucket(quota)])
        }
        "fixed_window" => {
            let engine = FixedWindow::with_clock(rate(spec)?, clock).ok()?;
            (Engine::Other(Box::new(engine)), vec![RedisLimit::fixed_window(rate(spec)?)])
        }
        "window_from_first" => {
            let engine = WindowFromFirst::with_clock(rate(spec)?, clock).ok()?;
            (Engine::Other(Box::new(engine)), vec![RedisLimit::window_from_first(rate(spec)?)])
        }
        "sliding_counter" => {
            let engine = SlidingCounter::with_clock(rate(spec)?, clock).ok()?;
            (Engine::Other(Box::new(engine)), vec![RedisLimit::sliding_counter(rate(spec)?)])
        }
        "all_buckets" => {
            let mut buckets = Vec::new();
            let mut limits = Vec::new();
            for spec in spec.as_array()? {
                let (engine, quota, permits) = bucket(spec, clock)?;
                buckets.push(engine);
                limits.push(RedisLimit::token_bucket(quota));
                gone.push(permits);
            }
            (Engine::Other(Box::new(All::new(buckets).ok()?)), limits)
        }
        "all_windows" => {
            let rates: Vec<_> = spec.as_array()?.iter().map(rate).collect::<Option<_>>()?;
            let windows: Result<Vec<_>, _> =
                rates.iter().map(|&rate| WindowFromFirst::with_clock(rate, clock)).collect();
            let limits = rates.iter().map(|&rate| RedisLimit::window_from_first(rate)).collect();
            (Engine::Other(Box::new(All::new(windows.ok()?).ok()?)), limits)
        }
        _ => return None,
    };
    let limits: Vec<_> = limits.into_iter().collect::<Result<_, _>>().unwrap();
    let keys = |index: usize| KeySpace::new(&index.to_string()).unwrap();
    let keyed = |(index, limit)| KeyedLimit { limit, keys: keys(index) };
    gone.resize(limits.len(), 0);
    Some(Subject { engine, gone, limits: limits.into_iter().enumerate().map(keyed).collect() })
}
