//! The tests of the engine, in one program: each program more would be compiled with all that the tests have in common, and
//! linked with the engine once more. Only `fork.rs` is a program of its own.

mod buckets;
#[cfg(feature = "calendar")]
mod calendar;
mod clock_faults;
mod conformance;
mod counted;
mod gate;
mod hot_keys;
mod key_table;
mod keyed;
mod keyed_limiter;
mod leases;
mod leaving;
mod linearizability;
mod lines;
mod live_terms;
mod no_alloc;
mod penalty;
mod priorities;
mod properties;
mod rate_error;
mod replay;
mod requirement_windows;
mod requirements;
mod reservations;
mod settle;
mod shapes;
mod sharded;
mod shares;
mod shown;
mod sleepers;
mod snapshots;
mod starved;
mod stress;
mod support;
mod text;
mod top_keys;
mod top_up;
mod wait;
mod window_edges;
mod window_races;
mod windows;
