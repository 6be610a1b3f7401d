//! Lines with what happens beside them: permits that are given back, callers that leave, stores that
//! forget their limiters, and clocks that jump ahead under sleepers. Random histories against exact
//! references, and one test for each fault that such histories have found.
//!
//! `PROPTEST_CASES` sets the number of histories.

mod buckets;
mod forgotten;
mod jumps;
