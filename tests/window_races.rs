//! Real threads on the limiters of windows. What is checked:
//!
//! * for every recorded history of two and three threads there is an order of its
//!   calls, in which none comes before one that had returned when it began, such that
//!   the definition gives every answer, each with the reading of the clock that its
//!   caller made;
//! * no window of a strict limiter admits more than the limit, whatever mixture of
//!   verbs took it and gave it back, on the processor's clock, on one that differs
//!   from thread to thread and goes to and fro, and on one that is set back by
//!   seconds;
//! * a call that is held up after it has read a clock that is then set back takes
//!   that for no time to come;
//! * of several limiters, none admits more than its bound, and what is lost is at
//!   most the permits of a request for each race that was lost.
//!
//! Under Miri the same tests run, for a few turns.

mod all;
mod histories;
mod interrupted;
mod stress;

use crate::windows::setup::{Kind, Setup};

const SECOND: u64 = 1_000_000_000;

/// A limiter of every kind: three permits in 40 ns, and 120 for the longer window.
fn small_setups() -> Vec<Setup> {
    let setup = |kind| {
        let mut limits = vec![(3, 40), (5, 120)];
        limits.truncate(if kind == Kind::Multi { 2 } else { 1 });
        Setup { kind, limits, slots: 4, capacity: 3 }
    };
    Kind::ALL.iter().copied().map(setup).collect()
}

/// The limiters that bound every window, of so many permits in so long.
fn strict_setups(limit: u64, window_nanos: u64) -> Vec<Setup> {
    let kinds = [Kind::Sliding, Kind::Compact, Kind::Multi, Kind::Log, Kind::Weighted];
    let setup = |kind| {
        let mut limits = vec![(limit, window_nanos), (2 * limit, 5 * window_nanos)];
        limits.truncate(if kind == Kind::Multi { 2 } else { 1 });
        Setup { kind, limits, slots: 7, capacity: limit }
    };
    kinds.into_iter().map(setup).collect()
}
