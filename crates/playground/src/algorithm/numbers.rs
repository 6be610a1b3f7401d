//! The numbers of a limiter: checked values of its parameters.

use std::collections::BTreeMap;
use std::time::Duration;

use sluicegate::{ConfigError, Quota, Rate, Refill};

/// Numbers by the `id` of their parameter: one for each that the algorithm has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Numbers(pub(crate) BTreeMap<&'static str, f64>);

impl Numbers {
    fn number(&self, id: &str) -> f64 {
        self.0.get(id).copied().unwrap_or_default()
    }

    pub(super) fn permits(&self, id: &str) -> u64 {
        self.number(id) as u64
    }

    pub(super) fn time(&self, id: &str) -> Duration {
        Duration::from_nanos((self.number(id) * 1e9).round() as u64)
    }

    pub(super) fn slots(&self) -> u32 {
        self.number("slots") as u32
    }

    pub(super) fn rate(&self, limit: &str, window: &str) -> Result<Rate, ConfigError> {
        Rate::new(self.permits(limit), self.time(window))
    }

    /// Returns the limit of a window and its length.
    pub(super) fn window(&self) -> Result<Rate, ConfigError> {
        self.rate("limit", "window")
    }

    /// Returns the quota of a bucket.
    pub(super) fn quota(&self, refill: Refill) -> Result<Quota, ConfigError> {
        let quota = Quota::new(self.rate("permits", "period")?);
        Ok(quota.with_burst(self.permits("burst"))?.with_refill(refill))
    }

    /// Returns true if all numbers are equal but these.
    pub(super) fn equals(&self, other: &Numbers, but: &[&str]) -> bool {
        let rest = |numbers: &Numbers| {
            let numbers = numbers.0.clone();
            numbers.into_iter().filter(|(id, _)| !but.contains(id)).collect::<Vec<_>>()
        };
        rest(self) == rest(other)
    }
}
