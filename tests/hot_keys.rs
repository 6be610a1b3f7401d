//! Keys that have seats, around every store that can prepay for them. What is checked:
//!
//! * the keys that get a seat, the permits that are prepaid for it, and the answers from it, on a
//!   clock that is moved by hand;
//! * `hot_keys/changes.rs`: that nothing prepaid before a change can be taken after it;
//! * `hot_keys/clocks.rs`: the time for which prepaid permits are good, by clocks that go on, step
//!   back, or differ;
//! * `hot_keys/told.rs`: that observers are told of each call, set-ups out of range are refused,
//!   and nothing is allocated;
//! * `hot_keys/random.rs`: that of random calls no key gets more than its burst and what it
//!   earned, in any span of the clock;
//! * `hot_keys/accuracy.rs`: that it does not get much less either;
//! * `hot_keys/threads.rs`: the bound, when threads race;
//! * `hot_keys/strict.rs`: the promises at the edges.
//!
//! `PROPTEST_CASES` deepens the random part.

use std::hash::{BuildHasherDefault, DefaultHasher};

use sluicegate::*;

mod accuracy;
mod bound;
mod changes;
mod chosen;
mod clocks;
mod random;
mod seats;
mod strict;
mod subject;
mod threads;
mod told;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The time in which a permit of [`QUOTA`] is earned.
const EACH: u64 = MS;

const QUOTA: Quota = quota!(1_000 / second);

/// The permits that a full key grants at least: prepayments may pass over the rest.
const SPARED: u64 = 875;

/// A hasher whose secret everybody knows: each run is the same.
type Open = BuildHasherDefault<DefaultHasher>;
