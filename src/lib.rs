// The targets of the README's links in the documentation; see `docs`. A type whose feature is off has
// the table of features for its target.
#![doc = include_str!("docs/types.md")]
#![cfg_attr(feature = "alloc", doc = include_str!("docs/types/alloc.md"))]
#![cfg_attr(feature = "std", doc = include_str!("docs/types/std.md"))]
#![cfg_attr(feature = "quanta", doc = include_str!("docs/types/quanta.md"))]
#![cfg_attr(feature = "keyed", doc = include_str!("docs/types/keyed.md"))]
#![cfg_attr(feature = "wait", doc = include_str!("docs/types/wait.md"))]
#![cfg_attr(feature = "calendar", doc = include_str!("docs/types/calendar.md"))]
#![doc = include_str!("docs/types/absent.md")]
#![doc = include_str!("docs/pages.md")]
#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "wait")]
mod admission;
mod bits;
mod branch;
mod bucket;
mod concurrency;
mod config;
mod contention;
#[cfg(feature = "alloc")]
mod counters;
mod decision;
#[cfg(doc)]
pub mod docs;
mod keyed;
mod limiter;
mod penalty;
#[cfg(feature = "alloc")]
mod prefetch_instruction;
#[cfg(feature = "wait")]
mod rate_limited;
#[cfg(feature = "wait")]
mod shaper;
#[cfg(feature = "alloc")]
mod sharded;
mod sync;
#[cfg(feature = "alloc")]
mod thread_index;
mod time;
#[cfg(feature = "wait")]
mod time_limit;
#[cfg(feature = "wait")]
mod wait;
#[cfg(feature = "wait")]
mod warm_up;
mod window;

#[cfg(feature = "wait")]
pub use crate::admission::{
    Admission, AdmissionError, AdmitError, Admitted, Admitting, Enter, EnterInLine, WaitOrUnlimited,
};
pub use crate::bucket::carry::Carry;
pub use crate::concurrency::ConcurrencyLimit;
pub use crate::concurrency::adaptive::Adaptive;
#[cfg(feature = "wait")]
pub use crate::concurrency::adaptive::entering::TimedEntering;
pub use crate::concurrency::adaptive::timed::{Outcome, TimedInFlight};
pub use crate::concurrency::algorithm::aimd::Aimd;
pub use crate::concurrency::algorithm::gradient2::Gradient2;
pub use crate::concurrency::algorithm::vegas::Vegas;
pub use crate::concurrency::algorithm::windowed::Windowed;
pub use crate::concurrency::algorithm::{LimitAlgorithm, Sample};
pub use crate::concurrency::denied::ConcurrencyDenied;
#[cfg(feature = "wait")]
pub use crate::concurrency::entering::Entering;
#[cfg(feature = "wait")]
pub use crate::concurrency::entering::error::InFlightError;
pub use crate::concurrency::in_flight::InFlight;
#[cfg(feature = "keyed")]
pub use crate::concurrency::keyed::KeyedConcurrency;
pub use crate::config::error::ConfigError;
#[doc(hidden)]
pub use crate::config::literal;
pub use crate::config::penalty_rule::PenaltyRule;
pub use crate::config::quota::Quota;
pub use crate::config::rate::Rate;
pub use crate::config::refill::Refill;
#[cfg(feature = "alloc")]
pub use crate::config::text::parse_error::ParseError;
#[cfg(feature = "alloc")]
pub use crate::counters::StripedCounters;
pub use crate::decision::denied::{Denied, Shortfall};
pub use crate::decision::estimate::Estimate;
pub use crate::decision::estimate::detached::Detached;
pub use crate::decision::grant::Grant;
#[cfg(feature = "alloc")]
pub use crate::decision::history::History;
pub use crate::decision::lease::Lease;
pub use crate::decision::offence::Offence;
pub use crate::decision::receipt::Receipt;
pub use crate::decision::settled::{Settled, Unpaid};
pub use crate::decision::snapshot::{Snapshot, SnapshotError};
#[cfg(feature = "alloc")]
pub use crate::decision::standing::Standing;
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::as_key::{AsKey, Parts};
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::buckets::Buckets;
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::buckets::tiers::{OneTier, Tier, Tiers};
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::builder::KeyedBuilder;
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::each::Each;
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::key_estimate::KeyEstimate;
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::penalties::Penalties;
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::per_key::PerKey;
#[cfg(all(feature = "keyed", feature = "wait"))]
pub use crate::keyed::exact::reserve::KeyReservation;
#[cfg(feature = "keyed")]
pub use crate::keyed::exact::{Keyed, TieredKeyed};
#[cfg(feature = "alloc")]
pub use crate::keyed::hot::HotKeys;
#[cfg(feature = "alloc")]
pub use crate::keyed::hot::verbs::HotPlace;
#[cfg(feature = "alloc")]
pub use crate::keyed::keyed_limiter::KeyedLimiter;
pub use crate::keyed::observe::Observe;
#[cfg(feature = "alloc")]
pub use crate::keyed::prepay::KeyStore;
#[cfg(feature = "wait")]
pub use crate::keyed::queued::QueuedKeys;
#[cfg(feature = "wait")]
pub use crate::keyed::queued::waiting::WaitingForKey;
#[cfg(feature = "alloc")]
pub use crate::keyed::table::KeyTable;
#[cfg(feature = "alloc")]
pub use crate::keyed::table::builder::KeyTableBuilder;
#[cfg(feature = "alloc")]
pub use crate::keyed::table::statistics::{Occupancy, TableEntry};
#[cfg(feature = "alloc")]
pub use crate::keyed::table::verbs::TableTier;
#[cfg(feature = "std")]
pub use crate::keyed::top_keys::{TopKey, TopKeys};
#[cfg(feature = "alloc")]
pub use crate::keyed::when_full::WhenFull;
#[cfg(feature = "wait")]
pub use crate::limiter::queued::estimates::WaitingForEstimate;
#[cfg(feature = "alloc")]
#[cfg(feature = "alloc")]
pub use crate::limiter::*;
#[cfg(feature = "wait")]
pub use crate::rate_limited::reader::RateLimitedReader;
#[cfg(feature = "futures")]
pub use crate::rate_limited::sink::{RateLimitedSink, RateLimitedSinkError};
#[cfg(feature = "futures")]
pub use crate::rate_limited::stream::RateLimitedStream;
#[cfg(feature = "wait")]
pub use crate::rate_limited::writer::RateLimitedWriter;
#[cfg(feature = "wait")]
pub use crate::shaper::error::ShaperError;
#[cfg(feature = "wait")]
pub use crate::shaper::{Departure, Shaper};
#[cfg(feature = "alloc")]
pub use crate::sharded::Sharded;
#[cfg(feature = "alloc")]
pub use crate::sharded::builder::ShardedBuilder;
#[cfg(feature = "alloc")]
pub use crate::sharded::handle::Shard;
/// Counts of atomic operations per thread; only for the `costs` report.
#[cfg(feature = "count-atomics")]
#[doc(hidden)]
pub use crate::sync::count;
#[cfg(feature = "calendar")]
pub use crate::time::calendar::error::CalendarError;
#[cfg(feature = "calendar")]
pub use crate::time::calendar::weekday::Weekday;
#[cfg(feature = "calendar")]
pub use crate::time::calendar::{Calendar, CalendarUnit};
pub use crate::time::clock::*;
#[cfg(feature = "wait")]
pub use crate::time_limit::*;
#[cfg(feature = "wait")]
pub use crate::wait::acquire::Waiting;
#[cfg(feature = "wait")]
pub use crate::wait::error::AcquireError;
#[cfg(feature = "wait")]
pub use crate::wait::jitter::Jitter;
#[cfg(feature = "wait")]
pub use crate::wait::limits::{LineLimits, WhenLineFull};
#[cfg(feature = "wait")]
pub use crate::wait::reservation::Reservation;
#[cfg(feature = "wait")]
pub use crate::wait::scheduled::Scheduled;
#[cfg(feature = "wait")]
pub use crate::wait::timer::Timer;
#[cfg(feature = "wait")]
pub use crate::wait::timer::thread::{ThreadSleep, ThreadTimer};
#[cfg(feature = "tokio")]
pub use crate::wait::timer::tokio::TokioTimer;
#[cfg(feature = "wait")]
pub use crate::warm_up::{WarmUp, WarmUpReservation};

/// The atomics that this build uses; only for `loom-tests`.
#[cfg(sluicegate_loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::sync::model::Atomic;
}
