//! Streams, sinks, readers and writers that go through a limiter. What is checked:
//!
//! * what is moved has taken its permits, those and no others;
//! * nothing is too large, whatever the burst is and becomes;
//! * whoever is dropped leaves the line; what is refused is kept.
#![cfg(feature = "wait")]

#[cfg(feature = "futures")]
#[path = "rate_limited/futures_io.rs"]
mod futures_io;
#[cfg(feature = "futures")]
#[path = "support/paused.rs"]
mod paused;
#[cfg(feature = "futures")]
#[path = "rate_limited/random.rs"]
mod random;
#[path = "rate_limited/read.rs"]
mod read;
#[cfg(feature = "futures")]
#[path = "rate_limited/sink.rs"]
mod sink;
#[cfg(feature = "futures")]
#[path = "rate_limited/stream.rs"]
mod stream;
#[path = "rate_limited/support.rs"]
mod support;
#[cfg(feature = "futures")]
#[path = "rate_limited/switched.rs"]
mod switched;
#[cfg(feature = "tokio")]
#[path = "rate_limited/tasks.rs"]
mod tasks;
#[path = "rate_limited/write.rs"]
mod write;
