//! The same line beside limiters of several words, whose calls take several steps. Here a waiter
//! may look at any time: timers and wake-ups are the same as beside one word, and are checked
//! there. What is checked is that the gate works: where it lies in the words, who may move it, and
//! in what order.

use super::*;

/// A call of the limiter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Call {
    pub(super) permits: u8,
    pub(super) role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Role {
    /// Anybody: is not admitted through a closed gate.
    Caller,
    /// The holder of the line, for the head. The gate is closed afterwards if the head is not
    /// admitted, or if others wait.
    Holder { others_wait: bool },
    /// The holder of the line, when nobody waits: opens the gate.
    Opener,
}

/// The result of one step of a call.
pub(super) enum Next<A> {
    Goes(A),
    Admitted,
    /// Denied; by the holder, with the gate closed.
    Full,
    AtGate,
    Opened,
}

pub(super) trait Store {
    type Shared: Clone + Eq + Hash + fmt::Debug;
    type At: Copy + Eq + Hash + fmt::Debug;

    fn start(&self) -> Self::Shared;

    fn begin(&self) -> Self::At;

    /// One access to shared memory, or one reading of the clock.
    fn step(
        &self,
        shared: &mut Self::Shared,
        clock: i8,
        call: Call,
        at: Self::At,
    ) -> Next<Self::At>;

    /// Returns whether the gate is closed.
    fn gate(&self, shared: &Self::Shared) -> bool;

    /// The truth: the permits admitted at each instant.
    fn admitted(shared: &Self::Shared) -> &[u8];

    /// Returns whether so many permits could be admitted now.
    fn has_room(&self, shared: &Self::Shared, clock: i8, permits: u8) -> bool;

    fn fault(&self, shared: &Self::Shared) -> Option<String>;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Visit {
    /// Waits in line; may be dropped there.
    Wait(u8),
    Try(u8),
}

#[derive(Clone)]
pub(super) struct Beside<S> {
    pub(super) store: S,
    pub(super) run: i8,
    pub(super) visits: Vec<Visit>,
    pub(super) checks_gate: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place<A> {
    Idle,
    Calls(A),
    TryLock,
    Lock,
    Settles { why: Why, call: Call, at: A },
    Unlock(End),
    Parked,
    Polls,
    Drops,
    Done(End),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Both<H, A> {
    clock: i8,
    shared: H,
    holder: Option<u8>,
    line: Row,
    nodes: [Standing; THREADS],
    has_stood: Row,
    places: [Place<A>; THREADS],
}

type StateOf<S> = Both<<S as Store>::Shared, <S as Store>::At>;

impl<S: Store> Beside<S> {
    fn permits(&self, who: usize) -> u8 {
        match self.visits[who] {
            Visit::Wait(permits) | Visit::Try(permits) => permits,
        }
    }

    fn waits(&self, who: usize) -> bool {
        matches!(self.visits[who], Visit::Wait(_))
    }

    fn step(&self, state: &StateOf<S>, who: usize, found: &mut Found<StateOf<S>>) {
        let mut next = state.clone();
        let mut fault = None;
        let is_free = state.holder.is_none();
        let what = match state.places[who] {
            Place::Done(_) => return,
            Place::Idle => {
                next.places[who] = Place::Calls(self.store.begin());
                "begins"
            }
            Place::Calls(at) => {
                let call = Call { permits: self.permits(who), role: Role::Caller };
                let went = self.store.step(&mut next.shared, state.clock, call, at);
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
                if S::admitted(&next.shared) != S::admitted(&state.shared) {
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
                let went = self.store.step(&mut next.shared, state.clock, call, at);
                if S::admitted(&next.shared) != S::admitted(&state.shared) {
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
                    End::Again => Place::Calls(self.store.begin()),
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

    fn lock(&self, state: &mut StateOf<S>, who: usize, at: Place<S::At>) {
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
    fn settle(&self, state: &mut StateOf<S>, who: usize, why: Why) {
        let call = match state.line.first() {
            Some(head) => Call {
                permits: self.permits(head),
                role: Role::Holder { others_wait: state.line.len() > 1 },
            },
            None => Call { permits: 0, role: Role::Opener },
        };
        state.places[who] = Place::Settles { why, call, at: self.store.begin() };
    }

    fn settled(state: &StateOf<S>, who: usize, why: Why) -> End {
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
        found: &mut Found<StateOf<S>>,
        who: usize,
        what: &'static str,
        next: StateOf<S>,
        fault: Option<String>,
    ) {
        let fault = fault.or_else(|| self.store.fault(&next.shared)).or_else(|| {
            let is_looked_at = next.holder.is_none() && self.checks_gate;
            (is_looked_at && self.store.gate(&next.shared) == next.line.is_empty())
                .then(|| "the gate does not tell whether somebody stands in line".to_owned())
        });
        found.add(who, what, next, fault);
    }
}

fn with<A: Copy>(mut places: [A; THREADS], who: usize, place: A) -> [A; THREADS] {
    places[who] = place;
    places
}

impl<S: Store> Model for Beside<S> {
    type State = StateOf<S>;

    fn start(&self) -> StateOf<S> {
        Both {
            clock: 0,
            shared: self.store.start(),
            holder: None,
            line: Row::default(),
            nodes: [Standing::Outside; THREADS],
            has_stood: Row::default(),
            places: [Place::Idle; THREADS],
        }
    }

    fn steps(&self, state: &StateOf<S>, found: &mut Found<StateOf<S>>) {
        if state.clock < self.run {
            let next = Both { clock: state.clock + 1, ..state.clone() };
            self.add(found, CLOCK, "goes on", next, None);
        }
        for who in 0..self.visits.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &StateOf<S>) -> bool {
        (0..self.visits.len()).all(|who| matches!(state.places[who], Place::Done(_)))
    }
}

impl<S: Store> Goal for Beside<S> {
    /// Nobody is on its way, all that were granted know it, and the head is not due.
    fn is_goal(&self, state: &StateOf<S>) -> bool {
        let rests = |who| match state.places[who] {
            Place::Idle | Place::Done(_) => true,
            Place::Parked => state.nodes[who] == Standing::Waiting,
            _ => false,
        };
        let is_due = |head| self.store.has_room(&state.shared, state.clock, self.permits(head));
        (0..self.visits.len()).all(rests) && !state.line.first().is_some_and(is_due)
    }
}
