//! Streams, sinks, readers and writers that go through a limiter. What is checked:
//!
//! * what is moved has taken its permits, those and no others;
//! * nothing is too large, whatever the burst is and becomes;
//! * whoever is dropped leaves the line; what is refused is kept.

mod futures_io;
mod jitter;
mod random;
mod read;
mod sink;
mod stream;
mod support;
mod switched;
mod tasks;
mod write;
