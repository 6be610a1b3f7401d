//! The algorithms that can be chosen, their parameters, and the engine's limiters for them.

mod limiter;
mod parameter;
mod terms;

use std::fmt;

pub(crate) use self::limiter::{AnyLimiter, SharedClock};
pub(crate) use self::parameter::Parameter;
use self::parameter::*;
pub(crate) use self::terms::{Terms, Values};
use crate::wire::AlgorithmForm;

/// An algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Gcra,
    TokenBucket,
    IntervalBucket,
    LeakyBucket,
    LeakyQueue,
    FixedWindow,
    SlidingWindow,
    SlidingCounter,
    SlidingLog,
    SeveralWindows,
    Concurrency,
}

/// An algorithm as a form shows it.
struct Description {
    id: &'static str,
    name: &'static str,
    summary: &'static str,
    good_for: &'static str,
    bad_for: &'static str,
    parameters: &'static [Parameter],
}

impl Algorithm {
    /// All algorithms, in the order of a menu.
    pub(crate) const ALL: [Algorithm; 11] = [
        Algorithm::TokenBucket,
        Algorithm::IntervalBucket,
        Algorithm::Gcra,
        Algorithm::LeakyBucket,
        Algorithm::LeakyQueue,
        Algorithm::FixedWindow,
        Algorithm::SlidingWindow,
        Algorithm::SlidingCounter,
        Algorithm::SlidingLog,
        Algorithm::SeveralWindows,
        Algorithm::Concurrency,
    ];

    /// Returns the algorithm with an `id`.
    pub(crate) fn by_id(id: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.id() == id)
    }

    pub(crate) fn id(self) -> &'static str {
        self.description().id
    }

    pub(crate) fn parameters(self) -> &'static [Parameter] {
        self.description().parameters
    }

    /// Returns true if the algorithm limits requests in flight, which end after a time.
    pub(crate) fn holds(self) -> bool {
        self == Algorithm::Concurrency
    }

    /// Returns the description that a form is built from.
    pub(crate) fn form(self) -> AlgorithmForm {
        let Description { id, name, summary, good_for, bad_for, parameters } = self.description();
        AlgorithmForm {
            id: id.to_owned(),
            name: name.to_owned(),
            summary: summary.to_owned(),
            good_for: good_for.to_owned(),
            bad_for: bad_for.to_owned(),
            waits: true,
            holds: self.holds(),
            parameters: parameters.iter().map(Parameter::form).collect(),
        }
    }

    fn description(self) -> Description {
        let (id, name, summary, parameters): (_, _, _, &'static [Parameter]) = match self {
            Algorithm::Gcra => (
                "gcra",
                "GCRA",
                "Lets one permit pass in each interval, and up to the tolerance early. Decides as a token bucket does, but stores a time instead of tokens.",
                const { &[INTERVAL, TOLERANCE] },
            ),
            Algorithm::TokenBucket => (
                "token_bucket",
                "Token bucket",
                "Earns tokens at a steady rate, up to the burst, and spends one for each permit. Tokens saved while idle can be spent at once.",
                const { &[BURST, REFILL, PERIOD] },
            ),
            Algorithm::IntervalBucket => (
                "interval_bucket",
                "Token bucket, refilled in steps",
                "Earns tokens in steps: those of a period all at its end, and none before.",
                const { &[BURST, STEP, PERIOD.by_default(5.0)] },
            ),
            Algorithm::LeakyBucket => (
                "leaky_bucket",
                "Leaky bucket as a meter",
                "Each permit fills the bucket, which leaks at a steady rate. A request that would overflow it is refused.",
                const { &[BURST, LEAK, PERIOD] },
            ),
            Algorithm::LeakyQueue => (
                "leaky_queue",
                "Leaky bucket as a queue",
                "Requests wait in a queue and leave it at a steady rate, even if all come at once. When the queue is full, more are refused.",
                const { &[SIZE, LEAK, PERIOD.by_default(2.0)] },
            ),
            Algorithm::FixedWindow => (
                "fixed_window",
                "Fixed window",
                "Counts requests in windows that begin at fixed times. Each starts at zero, so up to twice the limit can pass around an edge.",
                const { &[LIMIT, WINDOW] },
            ),
            Algorithm::SlidingWindow => (
                "sliding_window",
                "Sliding window of slots",
                "Counts requests in short slots and adds up the latest ones, so the limit holds in any window. A slot stops counting as a whole.",
                const { &[LIMIT, WINDOW, SLOTS] },
            ),
            Algorithm::SlidingCounter => (
                "sliding_counter",
                "Sliding counter",
                "Counts this window, and adds a share of the one before: an estimate of the last window from two counts.",
                const { &[LIMIT, WINDOW] },
            ),
            Algorithm::SlidingLog => (
                "sliding_log",
                "Sliding log",
                "Remembers when each request was granted, so the limit holds exactly in any window.",
                const { &[LOG_LIMIT, WINDOW] },
            ),
            Algorithm::SeveralWindows => (
                "several_windows",
                "Several sliding windows",
                "Grants a request only if a short and a long window both have room for it.",
                const { &[SHORT_LIMIT, SHORT_WINDOW, LONG_LIMIT, LONG_WINDOW, SLOTS] },
            ),
            Algorithm::Concurrency => (
                "concurrency",
                "Requests in flight",
                "Limits how many requests run at a time. Each holds its permits until it ends.",
                const { &[IN_FLIGHT] },
            ),
        };
        let (good_for, bad_for) = self.uses();
        Description { id, name, summary, good_for, bad_for, parameters }
    }

    /// Returns the uses that it suits, and those that it does not.
    fn uses(self) -> (&'static str, &'static str) {
        match self {
            Algorithm::Gcra => (
                "stores that keep one number for each key",
                "people who think in tokens: it tells times",
            ),
            Algorithm::TokenBucket => (
                "APIs: bursts pass, and the rate holds",
                "servers that cannot take a whole burst at once",
            ),
            Algorithm::IntervalBucket => (
                "quotas in portions, such as 100 each minute",
                "even traffic: callers come back all at once",
            ),
            Algorithm::LeakyBucket => (
                "what a token bucket is, told as a rising level",
                "smooth output: it refuses, and delays nothing",
            ),
            Algorithm::LeakyQueue => {
                ("servers that need requests one by one", "callers who cannot wait for an answer")
            }
            Algorithm::FixedWindow => (
                "quotas per hour or day, read off a clock",
                "bursts: twice the limit passes at an edge",
            ),
            Algorithm::SlidingWindow => (
                "a limit in every window, at any size",
                "steady release: permits come back by the slot",
            ),
            Algorithm::SlidingCounter => (
                "many keys: it keeps two counts for each",
                "exactness: it takes the past window for even",
            ),
            Algorithm::SlidingLog => (
                "small exact limits, such as attempts to log in",
                "large limits: it remembers each request",
            ),
            Algorithm::SeveralWindows => (
                "a limit on bursts and a quota per day in one",
                "callers who expect one limit to plan with",
            ),
            Algorithm::Concurrency => (
                "slow or uneven work, such as queries",
                "rates: quick requests pass as often as they come",
            ),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_found_by_its_id() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::by_id(algorithm.id()), Some(algorithm));
        }
        assert_eq!(Algorithm::by_id("GCRA"), None);
    }

    #[test]
    fn the_engine_has_a_limiter_for_all_values_that_parameters_allow() {
        let values_of = [Parameter::minimum, Parameter::default, Parameter::maximum];
        for algorithm in Algorithm::ALL {
            let parameters = algorithm.parameters();
            // Each parameter at each of its three values.
            for which in 0..3_usize.pow(parameters.len() as u32) {
                let values = parameters.iter().enumerate().map(|(place, parameter)| {
                    let value = values_of[which / 3_usize.pow(place as u32) % 3];
                    (parameter.id, value(parameter))
                });
                let terms = Terms::new(algorithm, &values.collect());
                let limiter =
                    terms.and_then(|terms| AnyLimiter::new(&terms, &SharedClock::default(), 1));
                assert!(limiter.is_ok(), "{algorithm} {which}: {limiter:?}");
            }
        }
    }
}
