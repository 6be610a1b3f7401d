//! A session: one set-up's limiters on a virtual clock, and what is sent to them.
//!
//! A discrete-event simulation around real limiters. Requests, ends of waits and ends of requests in flight
//! happen in the order of their instants, each with the clock at exactly that instant. Nothing here reads
//! another clock: [`Session::advance`] says how far time has come.
//!
//! | file | |
//! |---|---|
//! | `events` | what is to come |
//! | `side` | one of up to four sides that get the same requests |
//! | `sleep` | the timer and the wakers of requests that wait in the engine's line |
//! | `requests`, `streams` | requests at an instant, and at a rate |
//! | `play` | scenarios |
//! | `answer`, `decisions`, `fields` | what a request was told |
//! | `show` | the state of a limiter |
//! | `told` | what a reader is told |

mod answer;
mod decisions;
mod events;
mod fields;
mod play;
mod requests;
mod side;
mod sleep;
mod streams;
#[cfg(test)]
mod tests;
mod told;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use sluicegate::{Clock, ManualClock};

use self::events::{Event, EventQueue};
use self::play::Playing;
use self::side::Side;
use self::streams::Running;
pub(crate) use self::told::Cursor;
use crate::algorithm::SharedClock;
use crate::setup::CheckedSetup;
use crate::wire::Setup;

/// A session.
pub(crate) struct Session {
    setup: CheckedSetup,
    /// Number of times that the clock has begun.
    run: u64,
    clock: SharedClock,
    events: EventQueue,
    sides: Vec<Side>,
    streams: Vec<Running>,
    keys: BTreeSet<Arc<str>>,
    /// The number of the last request.
    last_n: u64,
    /// Number of sides that there have been.
    sides_made: u64,
    scenario: Option<Playing>,
    /// Changes whenever there is something new to tell, but for the time.
    version: u64,
}

impl Session {
    pub(crate) fn new(setup: CheckedSetup) -> Session {
        let clock = Arc::new(ManualClock::new());
        let mut session = Session {
            setup,
            run: 0,
            clock,
            events: EventQueue::default(),
            sides: Vec::new(),
            streams: Vec::new(),
            keys: BTreeSet::new(),
            last_n: 0,
            sides_made: 0,
            scenario: None,
            version: 0,
        };
        session.begin();
        session
    }

    /// Begins anew at 0, with limiters that have granted nothing.
    fn begin(&mut self) {
        self.run += 1;
        self.version += 1;
        self.clock = Arc::new(ManualClock::new());
        self.events = EventQueue::default();
        self.keys.clear();
        self.last_n = 0;
        self.scenario = None;
        self.sides.clear();
        self.add_sides();
    }

    /// Adds the sides of the set-up that are not there yet.
    fn add_sides(&mut self) {
        let there = self.sides.len();
        for (place, terms) in self.setup.sides.iter().enumerate().skip(there) {
            self.sides_made += 1;
            self.sides.push(Side::new((place, self.sides_made), terms.clone(), &self.clock));
        }
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup.shown
    }

    pub(crate) fn speed(&self) -> f64 {
        self.setup.speed
    }

    pub(crate) fn now_nanos(&self) -> u64 {
        self.clock.now_nanos()
    }

    pub(crate) fn set_speed(&mut self, speed: f64) {
        self.version += 1;
        self.setup.speed = speed;
        self.setup.shown.speed = speed;
    }

    /// Puts another set-up in force. The clock goes on, and a side whose algorithm stays keeps its limiters as
    /// far as the engine can reconfigure them.
    pub(crate) fn change(&mut self, setup: CheckedSetup) {
        self.version += 1;
        self.setup = setup;
        self.sides.truncate(self.setup.sides.len());
        for (side, terms) in self.sides.iter_mut().zip(&self.setup.sides) {
            side.change(terms.clone(), &mut self.events);
        }
        self.add_sides();
    }

    /// Begins anew, with the same set-up and the same streams.
    pub(crate) fn reset(&mut self) {
        let streams: Vec<_> = self.streams.drain(..).map(|running| running.stream).collect();
        self.begin();
        // They are fewer than there may be keys.
        let _ = self.set_streams(streams);
    }

    /// Returns the work that an event is counted as: 1 with up to two sides, and 2 with more.
    pub(crate) fn work_of_event(&self) -> u64 {
        self.sides.len().div_ceil(2).max(1) as u64
    }

    /// Moves the clock to `until_nanos`, and lets everything happen until then, but no more than `most` events.
    /// Returns the number of events. If there are more, the clock stands at the last of them.
    pub(crate) fn advance(&mut self, until_nanos: u64, most: u64) -> u64 {
        let mut done = 0;
        while self.events.has_any(until_nanos) {
            if done == most {
                return done;
            }
            let Some((at_nanos, event)) = self.events.take() else { break };
            self.clock.set_nanos(at_nanos.max(self.now_nanos()));
            self.happen(event);
            done += 1;
        }
        self.clock.set_nanos(until_nanos.max(self.now_nanos()));
        done
    }

    fn happen(&mut self, event: Event) {
        self.version += 1;
        match event {
            Event::Stream(place) => {
                let Some(running) = self.streams.get_mut(place) else { return };
                let (key, cost) = (running.key(), running.stream.shown.cost);
                let hold_nanos = running.stream.hold_nanos;
                running.go_on();
                self.events.add(running.next_nanos(), Event::Stream(place));
                self.request(&key, cost, hold_nanos);
            }
            Event::Step => self.step(),
            Event::Look { side, n } => {
                if let Some(side) = self.sides.get_mut(side) {
                    side.look(n, &mut self.events);
                }
            }
            Event::End { side, n } => {
                if let Some(side) = self.sides.get_mut(side) {
                    side.end(n, &mut self.events);
                }
            }
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("run", &self.run)
            .field("now_nanos", &self.now_nanos())
            .field("setup", &self.setup.shown)
            .finish_non_exhaustive()
    }
}
