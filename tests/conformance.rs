//! Our limiters on the test vectors of others.
//!
//! The files in `tests/vectors` hold configurations, calls and results from the
//! tests of other rate limiters, each with its source. What is checked:
//!
//! * every result is the one that the file expects, which is the peer's unless the
//!   file says otherwise;
//! * where it says otherwise, the peer's value is kept beside ours, is another,
//!   and `docs/conformance.md` gives the reason under the heading that the file
//!   names;
//! * whatever the vector: a denial changes nothing, and its wait is the least that
//!   suffices, to the nanosecond;
//! * as many cases and steps were run as there should be.

mod acquire;
mod race;
mod replay;
mod subject;
mod vector_file;
mod vectors;

use self::replay::replay;
use self::vector_file::{Tally, assert_documented};

const THROTTLED: &str = include_str!("vectors/throttled.json");
const REDIS_CELL: &str = include_str!("vectors/redis_cell.json");
const BUCKET4J: &str = include_str!("vectors/bucket4j.json");
const GUAVA: &str = include_str!("vectors/guava.json");
const UBER_RATELIMIT: &str = include_str!("vectors/uber_ratelimit.json");
const SYMFONY: &str = include_str!("vectors/symfony.json");
const RESILIENCE4J: &str = include_str!("vectors/resilience4j.json");
const PEER_DEFECTS: &str = include_str!("vectors/peer_defects.json");

#[test]
fn gcra_answers_as_throttled_does() {
    assert_eq!(replay(THROTTLED), Tally { cases: 3, steps: 46, differences: 1 });
}

#[test]
fn gcra_answers_as_redis_cell_does() {
    assert_eq!(replay(REDIS_CELL), Tally { cases: 11, steps: 32, differences: 2 });
}

#[test]
fn token_bucket_and_all_answer_as_bucket4j_does() {
    assert_eq!(replay(BUCKET4J), Tally { cases: 143, steps: 542, differences: 29 });
}

#[test]
fn callers_wait_as_long_as_those_of_guava_do() {
    assert_eq!(replay(GUAVA), Tally { cases: 13, steps: 98, differences: 6 });
}

#[test]
fn pacing_lets_through_as_many_as_uber_ratelimit_does() {
    assert_eq!(race::run(UBER_RATELIMIT), Tally { cases: 13, steps: 132, differences: 8 });
}

#[test]
fn windows_answer_as_those_of_symfony_do() {
    assert_eq!(replay(SYMFONY), Tally { cases: 25, steps: 97, differences: 7 });
}

#[test]
fn fixed_windows_answer_as_the_cycles_of_resilience4j_do() {
    assert_eq!(replay(RESILIENCE4J), Tally { cases: 16, steps: 77, differences: 4 });
}

#[test]
fn defects_of_the_peers_are_not_ours() {
    assert_eq!(replay(PEER_DEFECTS), Tally { cases: 9, steps: 37, differences: 12 });
}

#[test]
fn every_difference_is_in_the_document() {
    let files = [THROTTLED, REDIS_CELL, BUCKET4J, PEER_DEFECTS, UBER_RATELIMIT];
    let more = [GUAVA, SYMFONY, RESILIENCE4J];
    files.into_iter().chain(more).for_each(assert_documented);
}
