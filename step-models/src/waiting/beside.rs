//! The same line beside a limiter of several words, a ring, whose calls take several steps. Here a waiter
//! may look at any time: timers and wake-ups are the same as beside one word, and are checked
//! there. What is checked is that the gate works: where it lies in the words, who may move it, and
//! in what order.

use super::ring::{At, Call, Flaw, Next, Ring, Role, Words};
use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Visit {
    /// Waits in line; may be dropped there.
    Wait(u8),
    Try(u8),
}

#[derive(Clone)]
struct Beside {
    ring: Ring,
    run: i8,
    visits: Vec<Visit>,
    checks_gate: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    Idle,
    Calls(At),
    TryLock,
    Lock,
    Settles { why: Why, call: Call, at: At },
    Unlock(End),
    Parked,
    Polls,
    Drops,
    Done(End),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Both {
    clock: i8,
    shared: Words,
    holder: Option<u8>,
    line: Row,
    nodes: [Standing; THREADS],
    has_stood: Row,
    places: [Place; THREADS],
}

impl Beside {
    fn permits(&self, who: usize) -> u8 {
        match self.visits[who] {
            Visit::Wait(permits) | Visit::Try(permits) => permits,
        }
    }

    fn waits(&self, who: usize) -> bool {
        matches!(self.visits[who], Visit::Wait(_))
    }

    fn step(&self, state: &Both, who: usize, found: &mut Found<Both>) {
        let mut next = state.clone();
        let mut fault = None;
        let is_free = state.holder.is_none();
        let what = match state.places[who] {
            Place::Done(_) => return,
            Place::Idle => {
                next.places[who] = Place::Calls(At::Clock);
                "begins"
            }
            Place::Calls(at) => {
                let call = Call { permits: self.permits(who), role: Role::Caller };
                let went = self.ring.step(&mut next.shared, state.clock, call, at);
                next.places[who] = match went {
                    Next::Goes(at) => Place::Calls(at),
                    Next::Admitted => {
                        found.counts.grants += 1;
                        Place::Done(End::Admitted)
                    }
                    Next::Full | Next::AtGate if self.waits(who) => Place::Lock,
                    Next::AtGate => Place::TryLock,
                    Next::Full => {
                        found.counts.denials += 1;
                        Place::Done(End::Denied)
                    }
                    Next::Opened => unreachable!("a caller opens no gate"),
                };
                // Which may be before the call is over.
                if Ring::admitted(&next.shared) != Ring::admitted(&state.shared) {
                    let passed = state.line.iter().find(|&other| state.has_stood.has(other));
                    let overtakes = |passed| format!("thread {who} {OVERTAKES} thread {passed}");
                    fault = passed.map(overtakes);
                }
                "takes a step of its own"
            }
            Place::TryLock if !is_free => {
                next.places[who] = Place::Done(End::Denied);
                "is denied, as the line is locked"
            }
            Place::Settles { why, call, at } => {
                let went = self.ring.step(&mut next.shared, state.clock, call, at);
                if Ring::admitted(&next.shared) != Ring::admitted(&state.shared) {
                    found.counts.grants += 1;
                    let head = state.line.first().expect("the head was admitted");
                    next.line = state.line.behind_first();
                    next.nodes[head] = Standing::Granted;
                }
                match went {
                    Next::Goes(at) => next.places[who] = Place::Settles { why, call, at },
                    Next::Admitted => self.settle(&mut next, who, why),
                    Next::Full | Next::Opened => {
                        next.places[who] = Place::Unlock(Self::settled(&next, who, why));
                    }
                    Next::AtGate => unreachable!("the holder goes through the gate"),
                }
                "takes a step of the settling"
            }
            Place::Unlock(then) => {
                next.holder = None;
                next.places[who] = match then {
                    End::Parked => {
                        if !state.has_stood.has(who) {
                            next.has_stood = state.has_stood.with(who);
                        }
                        Place::Parked
                    }
                    End::Again => Place::Calls(At::Clock),
                    then => Place::Done(then),
                };
                "unlocks the line"
            }
            Place::Parked => {
                let polls = Both { places: with(state.places, who, Place::Polls), ..state.clone() };
                self.add(found, who, "looks", polls, None);
                next.places[who] = Place::Drops;
                "is dropped"
            }
            _ if !is_free => return,
            at => {
                next.holder = Some(who as u8);
                self.lock(&mut next, who, at);
                "locks the line"
            }
        };
        self.add(found, who, what, next, fault);
    }

    fn lock(&self, state: &mut Both, who: usize, at: Place) {
        let is_waiting = state.nodes[who] == Standing::Waiting;
        match at {
            Place::TryLock => self.settle(state, who, Why::Help),
            Place::Lock => {
                state.line = state.line.with(who);
                state.nodes[who] = Standing::Waiting;
                self.settle(state, who, Why::Push);
            }
            Place::Polls if is_waiting => self.settle(state, who, Why::Poll),
            Place::Drops if is_waiting => {
                state.line = state.line.without(who);
                state.nodes[who] = Standing::Gone;
                self.settle(state, who, Why::Leave);
            }
            Place::Polls => state.places[who] = Place::Unlock(End::Admitted),
            _ => state.places[who] = Place::Unlock(End::Spent),
        }
    }

    /// Goes on with the head, or with the gate.
    fn settle(&self, state: &mut Both, who: usize, why: Why) {
        let call = match state.line.first() {
            Some(head) => Call {
                permits: self.permits(head),
                role: Role::Holder { others_wait: state.line.len() > 1 },
            },
            None => Call { permits: 0, role: Role::Opener },
        };
        state.places[who] = Place::Settles { why, call, at: At::Clock };
    }

    fn settled(state: &Both, who: usize, why: Why) -> End {
        match why {
            Why::Help if state.line.is_empty() => End::Again,
            Why::Help => End::Denied,
            Why::Push | Why::Poll if state.nodes[who] == Standing::Granted => End::Admitted,
            Why::Push | Why::Poll => End::Parked,
            _ => End::Gone,
        }
    }

    fn add(
        &self,
        found: &mut Found<Both>,
        who: usize,
        what: &'static str,
        next: Both,
        fault: Option<String>,
    ) {
        let fault = fault.or_else(|| self.ring.fault(&next.shared)).or_else(|| {
            let is_looked_at = next.holder.is_none() && self.checks_gate;
            (is_looked_at && Ring::gate(&next.shared) == next.line.is_empty())
                .then(|| "the gate does not tell whether somebody stands in line".to_owned())
        });
        found.add(who, what, next, fault);
    }
}

fn with(mut places: [Place; THREADS], who: usize, place: Place) -> [Place; THREADS] {
    places[who] = place;
    places
}

impl Model for Beside {
    type State = Both;

    fn start(&self) -> Both {
        Both {
            clock: 0,
            shared: self.ring.start(),
            holder: None,
            line: Row::default(),
            nodes: [Standing::Outside; THREADS],
            has_stood: Row::default(),
            places: [Place::Idle; THREADS],
        }
    }

    fn steps(&self, state: &Both, found: &mut Found<Both>) {
        if state.clock < self.run {
            let next = Both { clock: state.clock + 1, ..state.clone() };
            self.add(found, CLOCK, "goes on", next, None);
        }
        for who in 0..self.visits.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &Both) -> bool {
        (0..self.visits.len()).all(|who| matches!(state.places[who], Place::Done(_)))
    }
}

impl Goal for Beside {
    /// Nobody is on its way, all that were granted know it, and the head is not due.
    fn is_goal(&self, state: &Both) -> bool {
        let rests = |who| match state.places[who] {
            Place::Idle | Place::Done(_) => true,
            Place::Parked => state.nodes[who] == Standing::Waiting,
            _ => false,
        };
        let is_due = |head| self.ring.has_room(&state.shared, state.clock, self.permits(head));
        (0..self.visits.len()).all(rests) && !state.line.first().is_some_and(is_due)
    }
}

use Visit::{Try, Wait};

fn beside(limit: u8, run: i8, visits: &[Visit]) -> Beside {
    let ring = Ring { limit, spent: 0, flaw: None };
    Beside { ring, run, visits: visits.to_vec(), checks_gate: true }
}

/// Nothing is left of the first tick.
fn empty(limit: u8, run: i8, visits: &[Visit]) -> Beside {
    let scene = beside(limit, run, visits);
    Beside { ring: Ring { spent: limit, ..scene.ring }, ..scene }
}

fn holds(scene: &Beside, at_least: usize) {
    let explored = explore_with_goal(scene).unwrap();
    println!("line beside a ring {:?}: {explored:?}", scene.visits);
    assert!(explored.states > at_least && explored.counts.grants > 0);
}

#[test]
fn the_line_stands_beside_a_ring() {
    holds(&beside(2, 3, &[Wait(2), Try(1)]), 6_400);
    holds(&beside(2, 3, &[Wait(2), Wait(1)]), 6_700);
    holds(&empty(1, 2, &[Wait(1), Try(1)]), 3_000);
    holds(&beside(2, 2, &[Wait(2), Wait(1), Try(2)]), 140_000);
}

#[cfg(sluicegate_deep)]
#[test]
fn the_line_stands_beside_a_ring_in_full() {
    holds(&beside(2, 3, &[Wait(2), Wait(1), Try(1)]), 640_000);
    holds(&beside(2, 3, &[Wait(2), Try(2), Try(1)]), 600_000);
    holds(&empty(2, 2, &[Wait(1), Wait(1), Try(1)]), 210_000);
    holds(&beside(2, 3, &[Wait(2), Wait(1), Wait(2)]), 690_000);
    holds(&beside(2, 4, &[Wait(1), Wait(2), Try(1)]), 1_900_000);
}

#[test]
fn every_flaw_of_a_gate_in_a_ring_is_caught() {
    use Flaw::*;
    for (flaw, fault) in [
        (RotationOpens, OVERTAKES),
        (OpensByStore, BOUND),
        (AdmitsPastGate, OVERTAKES),
        (GrantOpens, OVERTAKES),
        (DeniesUngated, OVERTAKES),
        (ClosesByStore, BOUND),
    ] {
        let scene = match flaw {
            GrantOpens => empty(2, 2, &[Wait(1), Wait(1), Try(1)]),
            _ => beside(2, 3, &[Wait(2), Wait(1), Try(1)]),
        };
        let ring = Ring { flaw: Some(flaw), ..scene.ring };
        let trace = explore_with_goal(&Beside { ring, checks_gate: false, ..scene }).unwrap_err();
        assert!(trace.fault.contains(fault), "{flaw:?}: {trace:?}");
    }
}
