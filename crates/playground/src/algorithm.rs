//! The algorithms that can be chosen, their parameters, and the engine's limiters for them.

mod buckets;
mod in_flight;
mod limiter;
mod numbers;
mod parameter;
mod shares;
mod windows;

use std::fmt;

use sluicegate::ConfigError;
use sluicegate_http::fields::QuotaPolicy;

use self::buckets::BUCKETS;
use self::in_flight::IN_FLIGHT_LIMITS;
pub(crate) use self::limiter::{AnyLimiter, Drawn, SharedClock, Terms};
pub(crate) use self::numbers::Numbers;
pub(crate) use self::parameter::Parameter;
use self::shares::SHARES;
use self::windows::WINDOWS;
use crate::wire::AlgorithmForm;

/// An algorithm, as a form shows it, and its limiters.
pub(crate) struct Algorithm {
    pub(crate) id: &'static str,
    name: &'static str,
    summary: &'static str,
    good_for: &'static str,
    bad_for: &'static str,
    pub(crate) parameters: &'static [Parameter],
    limiter: fn(&Numbers, SharedClock) -> Result<AnyLimiter, ConfigError>,
    /// Returns the limits as fields of a response tell them.
    policies: fn(&Numbers) -> Vec<QuotaPolicy>,
}

impl Algorithm {
    /// Returns all algorithms, in the order of a menu.
    pub(crate) fn all() -> impl Iterator<Item = &'static Algorithm> {
        BUCKETS.iter().chain(&WINDOWS).chain(&SHARES).chain(&IN_FLIGHT_LIMITS)
    }

    /// Returns the algorithm with an `id`.
    pub(crate) fn by_id(id: &str) -> Option<&'static Algorithm> {
        Algorithm::all().find(|algorithm| algorithm.id == id)
    }

    /// Returns true if the algorithm limits requests in flight, which end after a time.
    pub(crate) fn holds(&self) -> bool {
        IN_FLIGHT_LIMITS.contains(self)
    }

    /// Returns true if one limiter has a share for each key. Requests do not wait for it.
    pub(crate) fn has_shares(&self) -> bool {
        SHARES.contains(self)
    }

    /// Returns the description that a form is built from.
    pub(crate) fn form(&self) -> AlgorithmForm {
        AlgorithmForm {
            id: self.id.to_owned(),
            name: self.name.to_owned(),
            summary: self.summary.to_owned(),
            good_for: self.good_for.to_owned(),
            bad_for: self.bad_for.to_owned(),
            shares: self.has_shares(),
            holds: self.holds(),
            parameters: self.parameters.iter().map(Parameter::form).collect(),
        }
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Algorithm) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_found_by_its_id() {
        for algorithm in Algorithm::all() {
            assert_eq!(Algorithm::by_id(algorithm.id), Some(algorithm));
        }
        assert_eq!(Algorithm::by_id("GCRA"), None);
    }

    #[test]
    fn the_engine_has_a_limiter_for_all_values_that_parameters_allow() {
        let values_of = [Parameter::minimum, Parameter::default, Parameter::maximum];
        for algorithm in Algorithm::all() {
            let parameters = algorithm.parameters;
            // Each parameter at each of its three values.
            for which in 0..3_usize.pow(parameters.len() as u32) {
                let values = parameters.iter().enumerate().map(|(place, parameter)| {
                    let value = values_of[which / 3_usize.pow(place as u32) % 3];
                    (parameter.id, value(parameter))
                });
                let terms = Terms::new(algorithm, Numbers(values.collect()));
                assert!(terms.is_ok(), "{algorithm} {which}: {terms:?}");
            }
        }
    }
}
