//! Streams of requests.

use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::command::CheckedStream;
use crate::units::real;
use crate::wire::{Spacing, Stream};

/// A stream that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) stream: CheckedStream,
    random: SmallRng,
    /// The instant of the next request, with the fraction of a nanosecond that the queue of events has not.
    next_nanos: f64,
}

impl Running {
    /// Starts a stream. Its first request is at once if requests are evenly spaced.
    pub(super) fn start(stream: CheckedStream, seed: u64, place: usize, now_nanos: u64) -> Running {
        // Streams of one seed differ.
        let random =
            SmallRng::seed_from_u64(seed ^ (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut running = Running { stream, random, next_nanos: real(now_nanos) };
        if running.stream.shown.spacing == Spacing::Random {
            running.next_nanos += running.gap_nanos();
        }
        running
    }

    /// Returns the instant of the next request.
    pub(super) fn next_nanos(&self) -> u64 {
        self.next_nanos as u64
    }

    /// Goes on to the request after the next one.
    pub(super) fn go_on(&mut self) {
        self.next_nanos += self.gap_nanos();
    }

    pub(super) fn shown(&self) -> Stream {
        self.stream.shown.clone()
    }

    pub(super) fn key(&self) -> Arc<str> {
        Arc::clone(&self.stream.key)
    }

    fn gap_nanos(&mut self) -> f64 {
        let mean_nanos = 1e9 / self.stream.shown.per_second;
        match self.stream.shown.spacing {
            Spacing::Even => mean_nanos,
            // Exponentially distributed. The logarithm is of a number above 0.
            Spacing::Random => -mean_nanos * (1.0 - self.random.random::<f64>()).ln(),
        }
    }
}
