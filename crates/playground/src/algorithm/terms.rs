//! The terms of a limiter: checked values of its parameters.

use std::collections::BTreeMap;
use std::time::Duration;

use sluicegate::{ConfigError, Quota, Rate, Refill};

use super::Algorithm;

/// Numbers by the `id` of their parameter.
pub(crate) type Values = BTreeMap<&'static str, f64>;

/// The terms of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terms {
    Gcra {
        interval: Duration,
        tolerance: Duration,
    },
    /// Smooth, or in steps.
    TokenBucket {
        quota: Quota,
    },
    LeakyBucket {
        quota: Quota,
    },
    LeakyQueue {
        rate: Rate,
        size: u64,
    },
    FixedWindow {
        limit: Rate,
    },
    SlidingWindow {
        limit: Rate,
        slots: u32,
    },
    SlidingCounter {
        limit: Rate,
    },
    SlidingLog {
        limit: Rate,
    },
    SeveralWindows {
        limits: [Rate; 2],
        slots: u32,
    },
    Concurrency {
        limit: u64,
    },
}

impl Terms {
    /// Returns true if permits are held for a time.
    pub(crate) fn holds(&self) -> bool {
        matches!(self, Terms::Concurrency { .. })
    }

    /// Returns true if a denial tells which window has denied.
    pub(crate) fn has_several_windows(&self) -> bool {
        matches!(self, Terms::SeveralWindows { .. })
    }

    /// Returns the terms for `values`. A parameter without a value has its default.
    ///
    /// # Errors
    ///
    /// Those of the engine, which has bounds of its own.
    pub(crate) fn new(algorithm: Algorithm, values: &Values) -> Result<Terms, ConfigError> {
        let number = |id: &str| {
            let default = || {
                let mut parameters = algorithm.parameters().iter();
                parameters.find(|parameter| parameter.id == id).map(super::Parameter::default)
            };
            values.get(id).copied().or_else(default).unwrap_or_default()
        };
        let permits = |id| number(id) as u64;
        let time = |id| Duration::from_nanos((number(id) * 1e9).round() as u64);
        let rate = |limit, window| Rate::new(permits(limit), time(window));
        let quota = |refill| {
            let quota = Quota::new(rate("permits", "period")?).with_burst(permits("burst"))?;
            Ok::<_, ConfigError>(quota.with_refill(refill))
        };
        Ok(match algorithm {
            Algorithm::Gcra => {
                Terms::Gcra { interval: time("interval"), tolerance: time("tolerance") }
            }
            Algorithm::TokenBucket => Terms::TokenBucket { quota: quota(Refill::Smooth)? },
            Algorithm::IntervalBucket => Terms::TokenBucket { quota: quota(Refill::Interval)? },
            Algorithm::LeakyBucket => Terms::LeakyBucket { quota: quota(Refill::Smooth)? },
            Algorithm::LeakyQueue => {
                Terms::LeakyQueue { rate: rate("permits", "period")?, size: permits("size") }
            }
            Algorithm::FixedWindow => Terms::FixedWindow { limit: rate("limit", "window")? },
            Algorithm::SlidingWindow => Terms::SlidingWindow {
                limit: rate("limit", "window")?,
                slots: number("slots") as u32,
            },
            Algorithm::SlidingCounter => Terms::SlidingCounter { limit: rate("limit", "window")? },
            Algorithm::SlidingLog => Terms::SlidingLog { limit: rate("limit", "window")? },
            Algorithm::SeveralWindows => Terms::SeveralWindows {
                limits: [rate("short_limit", "short_window")?, rate("long_limit", "long_window")?],
                slots: number("slots") as u32,
            },
            Algorithm::Concurrency => Terms::Concurrency { limit: permits("limit") },
        })
    }
}
