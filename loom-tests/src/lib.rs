//! Code that the models share.
//!
//! With `--cfg sluicegate_loom` a model runs once for every interleaving of its
//! threads, and for every stale value that a load may see in it. Without, the
//! same closure runs often, on real threads. `ci/loom.sh` runs them all.
//!
//! * [`check`] explores a model, [`once`] runs a part of it alone, and [`race`]
//!   starts its threads.
//! * [`TestClock`] is a clock that each thread may see differently, [`TrueClock`] one
//!   that all see alike.
//! * [`Ledger`] adds up what was admitted, and knows the bound.
//! * [`orders`] compares a race with the same calls one after the other, on any
//!   [`Subject`].
//! * [`faults`] sets the clock back while others ask, or lets it leap.
//! * `seen` looks whether a granted caller sees what others did before their grants.
//! * [`settling`] plays calls that settle what they took.
//! * [`mod@line`] stands in line for a limiter, and [`in_line`] has models of callers that do.
//! * `tables` plays calls on a table of keys, and `hot` on keys with seats, and know what must
//!   hold of them.

pub mod calls;
mod clock;
mod explore;
pub mod faults;
#[cfg(sluicegate_loom)]
pub mod hot;
pub mod in_line;
mod ledger;
pub mod line;
pub mod orders;
pub mod reference;
#[cfg(sluicegate_loom)]
pub mod seen;
pub mod settling;
pub mod shards;
mod subject;
#[cfg(sluicegate_loom)]
pub mod tables;

pub use self::clock::{SECOND, TestClock, TrueClock};
pub use self::explore::{ANY, check, once, race};
pub use self::ledger::{Admission, Ledger};
pub use self::subject::Subject;

#[cfg(sluicegate_loom)]
pub use loom::thread;
#[cfg(not(sluicegate_loom))]
pub use std::thread;

/// The real one in every build: the models are not about reference counts, and
/// must not get an ordering out of them.
pub use std::sync::Arc;

/// A token bucket as the models use it.
pub type Bucket = sluicegate::TokenBucket<TestClock>;

/// A bucket of `quota` whose clock is at 0.
#[must_use]
pub fn bucket(quota: sluicegate::Quota) -> Arc<Bucket> {
    Arc::new(Bucket::with_clock(quota, TestClock::new()))
}

/// The same, with `tokens` at first.
///
/// # Panics
///
/// If that is more than the burst.
#[must_use]
pub fn bucket_with(tokens: u64, quota: sluicegate::Quota) -> Arc<Bucket> {
    let bucket = Bucket::with_clock(quota, TestClock::new());
    Arc::new(bucket.starting_with(tokens).expect("no more than the burst"))
}
