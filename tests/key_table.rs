//! The table of keys. What is checked here:
//!
//! * every verb, on a clock that moves by hand, and at the ends of what can be asked;
//! * that of random calls every answer is that of an exact bucket for each key, to the
//!   nanosecond, in one tier and in several;
//! * that a batch answers as single calls do;
//! * that the answers are exact after changes of the quotas too, and that the bound holds across
//!   a change;
//! * that a full table refuses the new, not the old, and says for how long;
//! * that no key is admitted more than its burst and what it has earned, in any span of
//!   the clock: when calls happen at every point of another, when threads race, when
//!   callers never come back, when keys come by the million;
//! * that nobody who does not know the table's secret can fill a line of it;
//! * that a table allocates nothing once it is made.
//!
//! `PROPTEST_CASES` deepens the random part, `KEY_TABLE_TIMES` multiplies the long runs.

use std::hash::{BuildHasherDefault, DefaultHasher};

use sluicegate::keyed::KeyTableBuilder;
use sluicegate::*;

mod allocations;
mod amounts;
mod answers;
mod attackers;
mod batches;
mod bound;
mod changed;
mod changed_midway;
mod clocks;
mod crowds;
mod errors;
mod exact;
mod forgotten;
mod full;
mod jumps;
mod meddled;
mod races;
mod random;

const SECOND: u64 = 1_000_000_000;

/// A hasher whose secret everybody knows: each run is the same.
type Open = BuildHasherDefault<DefaultHasher>;

type Table<'c> = KeyTable<u64, Open, &'c ManualClock>;

fn builder(quota: Quota, clock: &ManualClock) -> KeyTableBuilder<u64, Open, &ManualClock> {
    KeyTable::builder_with(quota, Open::default(), clock)
}

/// A table in which some thousand keys have room, and no two of the first ones a place in
/// common.
fn table(quota: Quota, clock: &ManualClock) -> Table<'_> {
    builder(quota, clock).keys(4_096).unwrap()
}

/// A table of 8 places.
fn one_line(quota: Quota, clock: &ManualClock) -> Table<'_> {
    builder(quota, clock).memory(64).unwrap()
}

/// Returns the number of times to do something long: `times`, or as many times that as the
/// environment asks for.
fn often(times: u64) -> u64 {
    let asked = std::env::var("KEY_TABLE_TIMES").ok();
    let factor = asked.map_or(1, |factor| factor.parse().expect("KEY_TABLE_TIMES is a number"));
    if cfg!(miri) { times.div_ceil(1_000) } else { times * factor }
}
