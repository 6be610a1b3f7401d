//! The types of this crate on the test vectors of others.
//!
//! The files in `tests/vectors` here hold configurations, calls and results from the tests of other
//! libraries, each with its source. What is checked is what `tests/conformance.rs` of the engine checks.

mod warm_up;

use crate::support::vector_file::{Tally, assert_documented};

const GUAVA: &str = include_str!("vectors/guava.json");

#[test]
fn callers_of_a_limiter_that_warms_up_wait_as_long_as_those_of_guava_do() {
    assert_eq!(warm_up::replay(GUAVA), Tally { cases: 5, steps: 188, differences: 5 });
}

#[test]
fn every_difference_is_in_the_document() {
    [GUAVA].into_iter().for_each(assert_documented);
}
