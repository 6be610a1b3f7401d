//! Requests that wait instead of being refused: each key has a queue, first come, first served.
//!
//! A request leaves its queue at the earliest time at which the key's limiter grants it, and no
//! earlier than the one before it. So the clock of a key is the departure of its newest request: each
//! departure is known at the arrival, and nothing has to be simulated in between. The waits of token
//! buckets are those of the engine's own line, but that a request for the whole burst may leave a
//! nanosecond later, where a permit takes no whole number of nanoseconds.

mod waits;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bstr::{BStr, BString};
use hashbrown::HashMap;
use sluicegate::{Clock, Denied, Limiter, ManualClock};

pub use self::waits::Waits;
use crate::policy::{BoxedLimiter, Kind};

/// Waits after which a request is refused that was told another one each time. One is nearly always
/// enough; a limiter of several parts may name the time of one of them, at which another has nothing.
const MOST_WAITS: u32 = 1_000;

/// The queues of all keys of one limiter, and how long was waited in them.
#[derive(Debug, Default)]
pub(super) struct Shape {
    queues: HashMap<BString, Queue>,
    waits: Waits,
    /// True if keys earn tokens from the first request of all keys on, and not from their own.
    is_of_store: bool,
    /// The time of the first request of all keys.
    begin_nanos: Option<u64>,
}

/// The queue before the limiter of one key.
struct Queue {
    limiter: BoxedLimiter,
    /// Reads the departure of the newest request.
    clock: Arc<ManualClock>,
}

impl Shape {
    /// Returns the queues of no keys yet. Counts waits that are longer than `within`.
    pub(super) fn new(within: Option<Duration>, is_of_store: bool) -> Shape {
        Shape { queues: HashMap::new(), waits: Waits::new(within), is_of_store, begin_nanos: None }
    }

    /// Lets a request arrive at `now_nanos`, and returns how long it waits for its permits.
    ///
    /// # Errors
    ///
    /// The limiter's denial if no wait helps that it tells of.
    pub(super) fn arrive(
        &mut self,
        kind: &Kind,
        key: &[u8],
        permits: u64,
        now_nanos: u64,
    ) -> Result<u64, Denied> {
        let begin_nanos = *self.begin_nanos.get_or_insert(now_nanos);
        let since_nanos = if self.is_of_store { begin_nanos } else { now_nanos };
        let queue =
            self.queues.entry_ref(BStr::new(key)).or_insert_with(|| Queue::new(kind, since_nanos));
        let wait_nanos = queue.wait_nanos(permits, now_nanos)?;
        self.waits.record(wait_nanos);
        Ok(wait_nanos)
    }

    /// Returns the number of keys that have a queue.
    pub(super) fn keys(&self) -> usize {
        self.queues.len()
    }

    pub(super) fn waits(&self) -> &Waits {
        &self.waits
    }
}

impl Queue {
    fn new(kind: &Kind, since_nanos: u64) -> Queue {
        let clock = Arc::new(ManualClock::at(since_nanos));
        let limiter = kind.limiter(clock.clone());
        Queue { limiter: limiter.expect("the policy built one with these numbers"), clock }
    }

    fn wait_nanos(&mut self, permits: u64, now_nanos: u64) -> Result<u64, Denied> {
        // Nothing is granted at any time.
        if permits == 0 {
            return Ok(0);
        }
        let first_nanos = now_nanos.max(self.clock.now_nanos());
        self.clock.set_nanos(first_nanos);
        let departs = self.depart(permits);
        if departs.is_err() {
            // It holds up nobody.
            self.clock.set_nanos(first_nanos);
        }
        departs?;
        Ok(self.clock.now_nanos() - now_nanos)
    }

    /// Moves the clock to the departure of a request, or somewhere if it has none.
    fn depart(&mut self, permits: u64) -> Result<(), Denied> {
        for _ in 0..MOST_WAITS {
            let Err(denied) = self.limiter.try_acquire(permits) else { return Ok(()) };
            let before_nanos = self.clock.now_nanos();
            self.clock.advance(denied.retry_after().ok_or(denied)?);
            if self.clock.now_nanos() == before_nanos {
                // The end of the clock's range.
                return Err(denied);
            }
        }
        self.limiter.try_acquire(permits).map(|_| ())
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("clock", &self.clock).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
