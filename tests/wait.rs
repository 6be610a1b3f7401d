//! Waiting for permits, on a clock that the test sets.

pub(crate) mod support;

mod anew;
mod any_line;
mod as_elsewhere;
mod buckets;
#[cfg(feature = "calendar")]
mod calendars;
mod caller;
mod estimates;
mod faults;
mod jitter;
mod laws;
mod least;
mod limits;
#[cfg(feature = "tokio")]
mod paused;
mod queued;
mod queued_crowds;
mod queued_deadlines;
mod queued_faults;
mod queued_keys;
mod random;
mod random_queued;
mod random_tenants;
mod random_tenants_in_time;
mod reserve;
mod reserve_in_line;
mod resource;
mod saturated;
mod storm;
mod storm_queued;
mod tenants;
mod threads;
mod windows;
mod wrapped;
