//! A session: one set-up's limiters on a virtual clock, and what is sent to them.
//!
//! A discrete-event simulation around real limiters. Requests, ends of waits and ends of requests in flight
//! happen in the order of their instants, each with the clock at exactly that instant. Nothing here reads
//! another clock: [`Session::advance`] says how far time has come.
//!
//! | file | |
//! |---|---|
//! | `events` | what is to come |
//! | `side` | one of two sides that get the same requests |
//! | `sleep` | the timer and the wakers of requests that wait in the engine's line |
//! | `streams` | requests at a rate |
//! | `answer`, `decisions`, `fields` | what a request was told |
//! | `show` | the state of a limiter |

mod answer;
mod decisions;
mod events;
mod fields;
mod show;
mod side;
mod sleep;
mod streams;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use sluicegate::{Clock, ManualClock};

use self::events::{Event, EventQueue};
use self::side::{Request, Side};
use self::streams::Running;
use crate::algorithm::SharedClock;
use crate::bounds;
use crate::command::{CheckedSend, CheckedStream};
use crate::scenario::CheckedScenario;
use crate::setup::CheckedSetup;
use crate::wire::{FieldProblem, Frame, Progress, Setup};

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

/// A scenario that is played.
struct Playing {
    scenario: Arc<CheckedScenario>,
    step: usize,
    say: String,
}

/// A reader's place in a session: the events up to it were told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    run: u64,
    version: u64,
    sides: [SidePlace; bounds::SIDES],
}

/// A reader's place among the decisions of a side.
#[derive(Clone, Copy, Debug, Default)]
struct SidePlace {
    /// The side, which may have gone since.
    id: u64,
    seen: u64,
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
            self.sides.push(Side::new((place, self.sides_made), *terms, &self.clock));
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
            side.change(*terms, &mut self.events);
        }
        self.add_sides();
    }

    /// Begins anew, with the same set-up and the same streams.
    pub(crate) fn reset(&mut self) {
        let streams: Vec<_> = self.streams.drain(..).map(|running| running.stream).collect();
        self.begin();
        self.start_streams(streams);
    }

    /// Begins anew with the set-up of a scenario, and plays it.
    pub(crate) fn play(&mut self, scenario: &Arc<CheckedScenario>) {
        self.streams.clear();
        self.setup = scenario.setup.clone();
        self.begin();
        if let Some(step) = scenario.steps.first() {
            self.events.add(step.at_nanos, Event::Step);
        }
        let (scenario, say) = (Arc::clone(scenario), String::new());
        self.scenario = Some(Playing { scenario, step: 0, say });
    }

    /// Sends requests to all sides, at this instant.
    ///
    /// # Errors
    ///
    /// If the key is new, and there are too many keys.
    pub(crate) fn send(&mut self, send: &CheckedSend) -> Result<(), FieldProblem> {
        self.learn_keys([&send.key])?;
        for _ in 0..send.count {
            self.request(&send.key, send.cost, send.hold_nanos);
        }
        Ok(())
    }

    /// Replaces the streams.
    ///
    /// # Errors
    ///
    /// If keys are new, and there are too many keys. The streams are then as they were.
    pub(crate) fn set_streams(&mut self, streams: Vec<CheckedStream>) -> Result<(), FieldProblem> {
        self.learn_keys(streams.iter().map(|stream| &stream.key))?;
        self.start_streams(streams);
        Ok(())
    }

    fn start_streams(&mut self, streams: Vec<CheckedStream>) {
        self.version += 1;
        self.events.retain(|event| !matches!(event, Event::Stream(_)));
        let (seed, now_nanos) = (self.setup.seed, self.now_nanos());
        let streams = streams.into_iter().enumerate();
        self.streams = streams
            .map(|(place, stream)| {
                let running = Running::start(stream, seed, place, now_nanos);
                self.events.add(running.next_nanos(), Event::Stream(place));
                running
            })
            .collect();
    }

    fn learn_keys<'k>(
        &mut self,
        keys: impl IntoIterator<Item = &'k Arc<str>>,
    ) -> Result<(), FieldProblem> {
        let mut known = self.keys.clone();
        known.extend(keys.into_iter().map(Arc::clone));
        if known.len() > bounds::KEYS {
            let most = bounds::KEYS;
            let message = format!(
                "key is one more than the {most} of a session: send to one of those, or reset it"
            );
            return Err(FieldProblem { side: None, parameter: "key".to_owned(), message });
        }
        self.keys = known;
        Ok(())
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

    fn step(&mut self) {
        let Some(playing) = &mut self.scenario else { return };
        let scenario = Arc::clone(&playing.scenario);
        let Some(step) = scenario.steps.get(playing.step) else { return };
        playing.step += 1;
        if let Some(say) = &step.say {
            playing.say.clone_from(say);
        }
        if let Some(next) = scenario.steps.get(playing.step) {
            self.events.add(next.at_nanos, Event::Step);
        }
        // A scenario has few keys.
        if let Some(streams) = &step.streams {
            let _ = self.set_streams(streams.clone());
        }
        for send in &step.send {
            let _ = self.send(send);
        }
    }

    fn request(&mut self, key: &Arc<str>, cost: u64, hold_nanos: u64) {
        self.version += 1;
        self.last_n += 1;
        for side in &mut self.sides {
            let request = Request { n: self.last_n, key: Arc::clone(key), cost, hold_nanos };
            side.arrive(request, &mut self.events);
        }
    }

    /// Returns true if there is something to tell a reader, but for the time.
    pub(crate) fn has_news(&self, cursor: &Cursor) -> bool {
        cursor.version != self.version
    }

    /// Returns the events after a reader's place, and moves that.
    pub(crate) fn frame(&self, cursor: &mut Cursor, slowed: bool) -> Frame {
        if cursor.run != self.run {
            *cursor = Cursor { run: self.run, ..Cursor::default() };
        }
        cursor.version = self.version;
        let most = bounds::DECISIONS / self.sides.len().max(1);
        let mut dropped = 0;
        let mut sides = Vec::new();
        for (side, place) in self.sides.iter().zip(&mut cursor.sides) {
            let seen = if place.id == side.id() { place.seen } else { 0 };
            let (frame, left_out) = side.frame(seen, most);
            *place = SidePlace { id: side.id(), seen: side.decided() };
            dropped += left_out;
            sides.push(frame);
        }
        Frame {
            run: self.run,
            at: show::seconds(self.now_nanos()),
            speed: self.setup.speed,
            slowed,
            streams: self.streams.iter().map(Running::shown).collect(),
            scenario: self.scenario.as_ref().map(Playing::progress),
            sides,
            dropped,
        }
    }
}

impl Playing {
    fn progress(&self) -> Progress {
        Progress {
            id: self.scenario.id.clone(),
            step: self.step,
            of: self.scenario.steps.len(),
            say: self.say.clone(),
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
