//! The types of this crate on the test vectors of others.
//!
//! The files in `tests/vectors` here hold configurations, calls and results from the tests of other
//! libraries, each with its source. What is checked is what `tests/conformance.rs` of the engine checks.

mod concurrency;
mod time_limit;
mod warm_up;

use crate::support::vector_file::{Tally, assert_documented};

const RESILIENCE4J_TIMELIMITER: &str = include_str!("vectors/resilience4j_timelimiter.json");
const NETFLIX: &str = include_str!("vectors/netflix_concurrency_limits.json");
const GUAVA: &str = include_str!("vectors/guava.json");

#[test]
fn callers_of_a_limiter_that_warms_up_wait_as_long_as_those_of_guava_do() {
    assert_eq!(warm_up::replay(GUAVA), Tally { cases: 5, steps: 188, differences: 5 });
}

#[test]
fn time_limiters_answer_as_those_of_resilience4j_do() {
    let tally = time_limit::replay(RESILIENCE4J_TIMELIMITER);
    assert_eq!(tally, Tally { cases: 9, steps: 17, differences: 1 });
}

#[test]
fn concurrency_limits_answer_as_those_of_netflix_do() {
    assert_eq!(concurrency::run(NETFLIX), Tally { cases: 17, steps: 42, differences: 1 });
}

#[test]
fn every_difference_is_in_the_document() {
    [GUAVA, NETFLIX, RESILIENCE4J_TIMELIMITER].into_iter().for_each(assert_documented);
}
