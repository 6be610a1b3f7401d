//! The tests of this crate, in one program: each program more would be linked with the engine once more.

mod admission;
mod concurrency;
mod conformance;
mod no_alloc;
mod paused;
mod rate_limited;
mod sendable;
mod shaper;
mod sleepers;
mod support;
mod time_limit;
mod warm_up;
