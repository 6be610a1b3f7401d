//! The calls, a step at a time: tries, waiters, and changes.

use super::*;

impl Outside {
    pub(super) fn step(&self, state: &State, who: usize, found: &mut Found<State>) {
        let line = state.line(who);
        let is_free = line.holder.is_none();
        let (what, next) = match state.threads[who] {
            At::Done(_) => return,
            At::Idle => ("begins", self.begin(state, who)),
            At::LoadFirst => {
                let at = if line.gate { At::Lock } else { At::LoadGate(Part::Waits) };
                ("loads the gate", state.go(who, at))
            }
            At::LoadGate(part) => {
                let next = if !line.gate || self.is(Flaw::TryIgnoresGate) {
                    state.asks(who, part)
                } else {
                    state.go(who, At::Hint(part))
                };
                ("loads the gate", next)
            }
            At::Hint(part) if state.clock >= line.due && !self.is(Flaw::TryDoesNotHelp) => {
                ("finds that the head may be due", state.go(who, At::TryLock(part)))
            }
            At::Hint(part) => {
                let next = self.denied(state, who, part, found);
                let fault = self.denied_for_ever(state, who);
                return self.add(found, who, "is denied at the gate", next, fault);
            }
            At::TryLock(part) if is_free => {
                let settle = At::Settle { why: Why::Help, part, wake: Row::default() };
                ("locks the line", state.lock(who, settle))
            }
            At::TryLock(part) => {
                ("is denied, as the line is locked", self.denied(state, who, part, found))
            }
            At::Ask(part) => return self.ask(state, who, part, found),
            At::AsksAlone => return self.ask_alone(state, who, found),
            At::Settle { why, part, wake } => {
                ("closes the gate", self.close_gate(state, who, (why, part, wake)))
            }
            At::AskHead { why, part, wake } => {
                return self.ask_for_head(state, who, (why, part, wake), found);
            }
            At::OpenGate { why, part, wake } => {
                ("opens the gate", self.open_gate(state, who, (why, part, wake)))
            }
            At::Answer(wake) => ("asks for its turn", self.answer(state, who, wake)),
            At::Unlock { part, wake, then } => {
                ("unlocks the line", self.unlock(state, who, (part, wake, then), found))
            }
            At::Wake { part, wake, then } => {
                let mut next = state.clone();
                let first = wake.first().expect("somebody is to be woken");
                next.nodes[first].is_woken = true;
                let next = self.after(&next, who, (part, wake.behind_first(), then), found);
                ("wakes the next", next)
            }
            At::Registers => {
                let mut next = state.go(who, At::Parked);
                next.nodes[who].is_woken = false;
                ("sets its waker", next)
            }
            At::Parked => return self.parked(state, who, found),
            At::Returns { left } => return self.give_back(state, who, left, found),
            At::Change => ("changes the limiter", self.change(state, who)),
            At::Count
            | At::EnterKnown
            | At::Terms
            | At::Enter
            | At::EnterCount
            | At::Leave(_)
            | At::Remove { .. }
            | At::LeaveCount(_)
            | At::CloseTerms
            | At::List(_) => return self.step_of_keys(state, who, found),
            at if is_free => ("locks the line", self.locks(state, who, at)),
            _ => return,
        };
        self.add(found, who, what, next, None);
    }

    fn begin(&self, state: &State, who: usize) -> State {
        let key = self.key(who);
        let is_ahead = |other: &usize| {
            state.is_waiting(*other) && state.nodes[*other].has_stood && self.key(*other) == key
        };
        let ahead = (0..self.visits.len()).filter(is_ahead).fold(Row::default(), Row::with);
        let pokes_first = self.is(Flaw::UpdatePokesFirst);
        let mut next = state.go(
            who,
            match self.visit(who) {
                Visit::Wait(..) | Visit::Try(_) | Visit::TryAndReturn(_) if self.is_keyed() => {
                    At::Count
                }
                Visit::Wait(..) => At::LoadFirst,
                Visit::Try(_) | Visit::TryAndReturn(_) => At::LoadGate(Part::Tries),
                Visit::Other(_) | Visit::OtherReturns(_) => At::Ask(Part::Tries),
                Visit::ResetAll if self.is(Flaw::UpdateListsFirst) => At::List(0),
                Visit::Reset | Visit::Lower(_) if pokes_first => At::CountLine,
                Visit::Reset | Visit::ResetAll | Visit::Lower(_) => At::Change,
                Visit::Close if !self.is_keyed() => At::CloseLock,
                Visit::Close if self.is(Flaw::CloseListsFirst) => At::List(0),
                Visit::Close => At::CloseTerms,
            },
        );
        next.ahead[who] = ahead;
        next
    }

    /// Goes on after a denial: a caller that waits stands in line.
    pub(super) fn denied(
        &self,
        state: &State,
        who: usize,
        part: Part,
        found: &mut Found<State>,
    ) -> State {
        let then = if self.waits(who) { Then::Enters } else { Then::Ends(End::Denied) };
        found.counts.denials += usize::from(!self.waits(who));
        state.go(
            who,
            match then {
                Then::Enters if part == Part::Waits => At::Lock,
                _ if state.uses[who].is_some() => At::Leave(then),
                Then::Enters => At::Terms,
                _ => At::Done(End::Denied),
            },
        )
    }

    /// Goes on when the call is over.
    pub(super) fn ends(&self, state: &State, who: usize, end: End) -> State {
        let keeps = self.is(Flaw::KeepsLine) && self.waits(who);
        let leaves = state.uses[who].is_some() && !keeps;
        let then = if state.todo[who] > 0 { Then::NextKey } else { Then::Ends(end) };
        state.go(who, if leaves { At::Leave(then) } else { At::Done(end) })
    }

    /// Asks the limiter, which answers in one step.
    fn ask(&self, state: &State, who: usize, part: Part, found: &mut Found<State>) {
        let (key, permits) = (self.key(who), self.permits(who));
        let left = state.turn(key, permits);
        if left > state.clock {
            let next = self.denied(state, who, part, found);
            return self.add(found, who, "is denied", next, None);
        }
        let mut next = match self.visit(who) {
            Visit::TryAndReturn(_) | Visit::OtherReturns(_) => state.go(who, At::Returns { left }),
            _ => self.ends(state, who, End::Admitted),
        };
        next.levels[key] = left;
        next.charged += permits;
        next.nodes[who].is_admitted = true;
        found.counts.grants += 1;
        let passes = |other: usize| state.nodes[other].has_stood;
        let is_counted = !self.is_keyed() && state.lines[0].row.iter().any(passes);
        found.counts.lost += usize::from(is_counted);
        let is_of_line = !matches!(self.visit(who), Visit::Other(_) | Visit::OtherReturns(_));
        let fault = is_of_line.then(|| state.overtaking(who)).flatten();
        self.add(found, who, "is granted permits", next, fault);
    }

    /// Mutant: a waiter that wakes asks the limiter itself.
    fn ask_alone(&self, state: &State, who: usize, found: &mut Found<State>) {
        let key = self.key(who);
        let left = state.turn(key, self.permits(who));
        let mut next = state.go(who, At::Polls);
        if left <= state.clock {
            next.levels[key] = left;
            next.charged += self.permits(who);
            next.nodes[who].is_admitted = true;
            next.threads[who] = At::Drops;
        }
        self.add(found, who, "asks the limiter", next, None);
    }

    fn parked(&self, state: &State, who: usize, found: &mut Found<State>) {
        let node = state.nodes[who];
        if self.is_polled(who) && (node.is_woken || node.armed <= state.clock) {
            let alone = self.is(Flaw::PollAsksUnlocked);
            let next = state.go(who, if alone { At::AsksAlone } else { At::Polls });
            self.add(found, who, "wakes up", next, None);
        }
        if matches!(self.visit(who), Visit::Wait(_, Polled::UntilDropped)) {
            self.add(found, who, "is dropped", state.go(who, At::Drops), None);
        }
    }

    /// Gives back what was taken, if nothing has been taken since.
    fn give_back(&self, state: &State, who: usize, left: i8, found: &mut Found<State>) {
        let (key, permits) = (self.key(who), self.permits(who));
        let mut next = state.clone();
        if state.levels[key] == left {
            next.levels[key] -= permits;
            next.charged -= permits;
            next.nodes[who].is_admitted = false;
            found.counts.given_back += 1;
        }
        if matches!(self.visit(who), Visit::OtherReturns(_)) {
            next.untold[key] = true;
            next.threads[who] = At::Done(End::Gone);
        } else {
            next = self.pokes(&next, who);
        }
        self.add(found, who, "gives back", next, None);
    }

    fn change(&self, state: &State, who: usize) -> State {
        let mut next = state.clone();
        let full = state.clock - state.cap;
        match self.visit(who) {
            Visit::Lower(cap) => next.cap = cap,
            Visit::ResetAll => next.levels = [full; KEYS],
            _ => next.levels[self.key(who)] = full,
        }
        if self.is(Flaw::UpdatePokesFirst) {
            return self.ends(&next, who, End::Gone);
        }
        self.pokes(&next, who)
    }

    /// Goes on to settle after a change.
    fn pokes(&self, state: &State, who: usize) -> State {
        let mut next = state.clone();
        next.threads[who] = match self.visit(who) {
            _ if self.is(Flaw::UpdateDoesNotPoke) => At::Done(End::Gone),
            Visit::ResetAll if self.is(Flaw::UpdateListsFirst) => {
                return state.next_key(who);
            }
            Visit::ResetAll => At::List(0),
            _ if self.is_keyed() => {
                next.todo[who] = 1 << self.key(who);
                At::EnterKnown
            }
            _ => At::CountLine,
        };
        next
    }

    /// The first step of those that wait for the lock, once they have it.
    fn locks(&self, state: &State, who: usize, at: At) -> State {
        let part = Part::Waits;
        let empty = Row::default();
        let ends = |then| At::Unlock { part, wake: empty, then };
        let settles = |why, wake| At::Settle { why, part, wake };
        let row = state.line(who).row;
        let mut next = state.lock(who, At::Idle);
        next.threads[who] = match at {
            At::CountLine if row.is_empty() => {
                if self.is(Flaw::UpdatePokesFirst) {
                    return state.go(who, At::Change);
                }
                return self.ends(state, who, End::Gone);
            }
            At::CountLine => return state.go(who, At::PokeLock),
            At::PokeLock => {
                let large = row.only(|waiter| self.permits(waiter) > state.cap);
                for waiter in large.iter() {
                    next.unlink(who, waiter, Standing::Refused);
                }
                settles(Why::Poke, large)
            }
            At::CloseLock => {
                for waiter in row.iter() {
                    next.unlink(who, waiter, Standing::Refused);
                }
                next.line_mut(who).is_closed = true;
                let wake = if self.is(Flaw::CloseDoesNotWake) { empty } else { row };
                At::OpenGate { why: Why::Close, part, wake }
            }
            At::Lock => {
                let is_closed = state.line(who).is_closed && !self.is(Flaw::StandsThoughClosed);
                if is_closed || self.permits(who) > state.cap {
                    ends(End::Refused)
                } else {
                    next.line_mut(who).row = row.with(who);
                    next.nodes[who].standing = Standing::Waiting;
                    settles(Why::Push, empty)
                }
            }
            At::Polls => {
                next.nodes[who].is_woken = false;
                match state.nodes[who].standing {
                    Standing::Granted => ends(End::Admitted),
                    Standing::Refused => ends(End::Refused),
                    _ => settles(Why::Poll, empty),
                }
            }
            At::Drops => match state.nodes[who].standing {
                Standing::Granted => ends(End::Spent),
                Standing::Refused => ends(End::Refused),
                _ => {
                    next.unlink(who, who, Standing::Gone);
                    let is_last = next.line(who).row.is_empty();
                    if self.is(Flaw::LeaverOpensGate) || is_last {
                        At::OpenGate { why: Why::Leave, part, wake: empty }
                    } else if self.is(Flaw::LeaveDoesNotSettle) {
                        ends(End::Gone)
                    } else {
                        settles(Why::Leave, empty)
                    }
                }
            },
            at => unreachable!("{at:?} does not lock"),
        };
        next
    }
}
