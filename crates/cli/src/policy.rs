//! Policies: named limiters, what each keys by, and which lines it judges.

mod check;
mod error;
mod schema;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use humantime::format_duration;
use indicatif::HumanCount;
use sluicegate::{Gcra, LeakyBucket, Limiter, ManualClock, Quota, Rate, Refill, TokenBucket};

pub use self::error::PolicyError;
use crate::log::{Field, Line};

/// The policy that is used when none is given.
pub const BUNDLED: &str = include_str!("../sample/policy.toml");

/// A policy file, checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The limiters, in the order of the file. At least one; no two have the
    /// same name.
    pub rules: Vec<Rule>,
}

/// One named limiter of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name it is reported under.
    pub name: String,
    /// Lines that agree in all of these fields share one limiter.
    pub key: Vec<Field>,
    /// The algorithm and its numbers.
    pub kind: Kind,
    /// Which lines it judges.
    pub filter: Filter,
    /// What a line costs.
    pub cost: Cost,
}

/// An algorithm of the engine and its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`TokenBucket`]
    TokenBucket(Quota),
    /// [`Gcra`]
    Gcra {
        /// Time between permits at the sustained rate.
        interval: Duration,
        /// How much earlier than that they may come.
        tolerance: Duration,
    },
    /// [`LeakyBucket::meter`]
    LeakyMeter(Quota),
    /// [`LeakyBucket::min_interval`]
    LeakyMinInterval(Rate),
}

/// Which lines a limiter judges. An empty list lets every line through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Methods, in capitals.
    pub method: Vec<String>,
    /// Beginnings of paths.
    pub path_prefix: Vec<String>,
    /// As in `4xx`.
    pub status_class: Vec<String>,
}

/// How many permits a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always the same number.
    Permits(u64),
    /// As many as the response has bytes.
    Bytes,
}

impl Policy {
    /// Checks the text of a policy. `path` is what errors call it.
    ///
    /// # Errors
    ///
    /// [`PolicyError`], which shows the place.
    pub fn parse(path: &str, text: &str) -> Result<Policy, PolicyError> {
        check::policy(text).map_err(|problem| PolicyError::new(path, text, problem))
    }
}

impl Kind {
    /// A limiter for one key, which tells the time by `clock`.
    pub(crate) fn limiter(&self, clock: Arc<ManualClock>) -> Box<dyn Limiter> {
        match *self {
            Kind::TokenBucket(quota) => Box::new(TokenBucket::with_clock(quota, clock)),
            Kind::Gcra { interval, tolerance } => Box::new(
                Gcra::with_clock(interval, tolerance, clock)
                    .expect("the policy made one with these numbers"),
            ),
            Kind::LeakyMeter(quota) => Box::new(LeakyBucket::meter_with_clock(quota, clock)),
            Kind::LeakyMinInterval(rate) => {
                Box::new(LeakyBucket::min_interval_with_clock(rate, clock))
            }
        }
    }
}

/// In words.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::TokenBucket(quota) => {
                let (burst, permits) = (HumanCount(quota.burst()), quota.rate().permits());
                let per = match quota.refill() {
                    Refill::Smooth => "per",
                    Refill::Interval => "at once every",
                };
                let period = format_duration(quota.rate().period());
                write!(f, "token bucket: {burst}, then {} {per} {period}", HumanCount(permits))?;
                if quota.initial() != quota.burst() {
                    write!(f, ", starts with {}", HumanCount(quota.initial()))?;
                }
                Ok(())
            }
            Kind::Gcra { interval, tolerance } => {
                let (interval, tolerance) = (format_duration(interval), format_duration(tolerance));
                write!(f, "gcra: every {interval}, up to {tolerance} early")
            }
            Kind::LeakyMeter(quota) => {
                let (holds, rate) = (HumanCount(quota.burst()), quota.rate());
                let (leaks, period) = (HumanCount(rate.permits()), format_duration(rate.period()));
                write!(f, "leaky bucket: holds {holds}, leaks {leaks} per {period}")
            }
            Kind::LeakyMinInterval(rate) if rate.permits() == 1 => {
                write!(f, "leaky bucket: at least {} apart", format_duration(rate.period()))
            }
            Kind::LeakyMinInterval(rate) => {
                let (permits, period) =
                    (HumanCount(rate.permits()), format_duration(rate.period()));
                write!(f, "leaky bucket: {permits} per {period}, evenly apart")
            }
        }
    }
}

impl Filter {
    /// Whether the limiter judges this line.
    #[must_use]
    pub fn lets_through(&self, line: &Line<'_>) -> bool {
        let any = |wanted: &[String], is: &dyn Fn(&[u8]) -> bool| {
            wanted.is_empty() || wanted.iter().any(|wanted| is(wanted.as_bytes()))
        };
        any(&self.method, &|method| line.method == method)
            && any(&self.path_prefix, &|prefix| line.path.starts_with(prefix))
            && any(&self.status_class, &|class| line.field(Field::StatusClass) == class)
    }
}

impl Cost {
    /// The permits that this line asks for.
    #[must_use]
    pub fn of(self, line: &Line<'_>) -> u64 {
        match self {
            Cost::Permits(permits) => permits,
            Cost::Bytes => line.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
