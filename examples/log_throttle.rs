//! The problem: a fault fills the log with the same line, so let at most 5 of each message pass in a
//! minute, and then say how many did not. A `WindowFromFirst` counts the minute from the first
//! message on. A `Keyed` of `Each` keeps such a window for every message, and forgets those whose
//! minute is over.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluicegate::keyed::{Each, PerKey};
use sluicegate::window::WindowFromFirst;
use sluicegate::{Clock, Keyed, ManualClock, rate};

/// A message without its variable parts, so that there are no more messages than the source has.
type Message = &'static str;

struct Throttle<L: PerKey<Message>> {
    limit: Keyed<Message, L>,
    suppressed: Mutex<HashMap<Message, u64>>,
}

fn throttle(clock: impl Clock + Copy + Send + Sync) -> Throttle<impl PerKey<Message>> {
    let window = move |_: &Message| {
        WindowFromFirst::with_clock(rate!(5 / minute), clock).expect("a window can count to 5")
    };
    let limit = Keyed::with(Each::with_clock(window, clock));
    Throttle { limit, suppressed: Mutex::default() }
}

impl<L: PerKey<Message>> Throttle<L> {
    fn log(&self, message: Message) {
        if self.limit.try_acquire(&message, 1).is_err() {
            *self.suppressed().entry(message).or_default() += 1;
            return;
        }
        if let Some(count) = self.suppressed().remove(message) {
            println!("{message} ({count} times since, not logged)");
        }
        println!("{message}");
    }

    fn suppressed(&self) -> MutexGuard<'_, HashMap<Message, u64>> {
        self.suppressed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn main() {
    // A clock that is set by hand, so that the minute passes at once.
    let clock = ManualClock::new();
    let throttle = throttle(&clock);

    for _ in 0..200 {
        throttle.log("the disk is full");
    }
    throttle.log("a client has gone");

    clock.advance(Duration::from_secs(61));
    println!("-- a minute later");
    throttle.log("the disk is full");
    throttle.log("a client has gone");
}
