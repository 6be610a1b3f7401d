//! Streams, sinks, readers and writers that go through a limiter. What is checked:
//!
//! * what is moved has taken its permits, those and no others;
//! * nothing is too large, whatever the burst is and becomes;
//! * whoever is dropped leaves the line; what is refused is kept.

#[cfg(feature = "futures")]
mod futures_io;
#[cfg(feature = "futures")]
mod random;
mod read;
#[cfg(feature = "futures")]
mod sink;
#[cfg(feature = "futures")]
mod stream;
mod support;
#[cfg(feature = "futures")]
mod switched;
#[cfg(feature = "tokio")]
mod tasks;
mod write;
