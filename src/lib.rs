// The front page links what the default features have.
#![cfg_attr(all(feature = "wait", feature = "keyed", feature = "quanta"), doc = include_str!("front-page.md"))]
#![cfg_attr(
    not(all(feature = "wait", feature = "keyed", feature = "quanta")),
    doc = "Lock-free rate limiters with a proved, model-checked bound on admissions."
)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without a feature, helpers of what it adds have no callers.
#![cfg_attr(not(all(feature = "wait", feature = "keyed")), allow(dead_code))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod bits;
mod branch;
pub mod bucket;
#[cfg(feature = "calendar")]
pub mod calendar;
pub mod compose;
mod config;
mod contention;
#[cfg(feature = "alloc")]
mod counters;
mod decision;
mod first_panic;
pub mod keyed;
mod limiter;
pub mod penalty;
#[cfg(feature = "alloc")]
mod prefetch_instruction;
#[cfg(feature = "alloc")]
mod seq_lock;
pub mod settle;
#[cfg(feature = "alloc")]
pub mod sharded;
pub mod share;
mod sync;
#[cfg(feature = "alloc")]
mod thread_index;
mod time;
#[cfg(not(feature = "wait"))]
#[path = "no_wait.rs"]
mod wait;
#[cfg(feature = "wait")]
pub mod wait;
pub mod window;
mod window_counts;

pub use crate::bucket::{Gcra, LeakyBucket, TokenBucket};
pub use crate::clock::{Clock, ManualClock};
pub use crate::config::error::ConfigError;
#[doc(hidden)]
pub use crate::config::literal;
pub use crate::config::quota::Quota;
pub use crate::config::rate::Rate;
pub use crate::config::refill::Refill;
#[cfg(feature = "alloc")]
pub use crate::config::text::parse_error::ParseError;
pub use crate::decision::denied::{Denied, Shortfall};
pub use crate::decision::grant::Grant;
pub use crate::decision::lease;
#[cfg(feature = "alloc")]
pub use crate::keyed::KeyTable;
#[cfg(feature = "keyed")]
pub use crate::keyed::Keyed;
#[cfg(feature = "alloc")]
pub use crate::keyed::KeyedLimiter;
pub use crate::limiter::Limiter;
#[cfg(feature = "alloc")]
pub use crate::sharded::Sharded;
/// Counts of atomic operations per thread; only for the `costs` report.
#[cfg(feature = "count-atomics")]
#[doc(hidden)]
pub use crate::sync::count;
pub use crate::time::clock;
#[cfg(feature = "wait")]
pub use crate::wait::Wait;
pub use crate::window::{FixedWindow, SlidingCounter};
#[cfg(feature = "alloc")]
pub use crate::window::{SlidingLog, SlidingWindow};

/// The atomics that this build uses, CPUs, and stores that are searched completely; only for `loom-tests`.
#[cfg(sluicegate_loom)]
#[doc(hidden)]
pub mod model {
    #[cfg(feature = "keyed")]
    pub use crate::keyed::exact::builder::modelled as searching_all;
    #[cfg(feature = "per-cpu")]
    pub use crate::sharded::builder::modelled as sharded_on_cpus;
    pub use crate::sync::model::{Atomic, number_thread, run_on};
}
