//! The callers of a crowd: what they intend, and how each is polled.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::schedule::random;
use crate::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// Polls a caller once. Its wake-ups unpark the calling thread.
pub fn look<F: Future + ?Sized>(caller: Pin<&mut F>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    caller.poll(&mut Context::from_waker(&waker))
}

/// Returns the intentions of 5 to 20 callers, different in each run, among which those of `more` are
/// anywhere.
///
/// # Panics
///
/// If `more` are more than 15.
pub fn intents<I: Copy>(more: &[I], of_one: impl Fn(&mut SmallRng) -> I) -> Vec<I> {
    let random = &mut random();
    let mut intents: Vec<I> =
        (0..random.random_range(5..=20 - more.len())).map(|_| of_one(random)).collect();
    for intent in more {
        intents.insert(random.random_range(0..=intents.len()), *intent);
    }
    intents
}
