//! Lines with what happens beside them: permits that are given back, callers that leave, stores that
//! forget their limiters, and clocks that jump ahead under sleepers. Random histories against exact
//! references, and one test for each fault that such histories have found.
//!
//! `PROPTEST_CASES` sets the number of histories.

#[path = "support/cases.rs"]
mod cases;
#[path = "wait/support.rs"]
#[expect(dead_code, reason = "other tests of lines use the rest")]
mod support;

#[path = "lines/forgotten.rs"]
mod forgotten;
#[path = "lines/given_back.rs"]
mod given_back;
#[path = "lines/jumps.rs"]
mod jumps;
#[path = "lines/stepped.rs"]
mod stepped;
