//! The lines of keys: how they are found, made and removed.

use super::*;

impl Outside {
    fn shard(&self, key: usize) -> usize {
        key % self.shards
    }

    /// The key by whose name the line of `key` is kept.
    fn name(&self, key: usize) -> usize {
        if self.is(Flaw::OneLineOfAShard) { self.shard(key) } else { key }
    }

    pub(super) fn step_of_keys(&self, state: &State, who: usize, found: &mut Found<State>) {
        let key = if state.todo[who] > 0 {
            state.todo[who].trailing_zeros() as usize
        } else {
            self.key(who)
        };
        let (name, shard) = (self.name(key), self.shard(key));
        let is_free = state.shards[shard].is_none();
        let (what, next) = match state.threads[who] {
            At::Count => {
                let asks = state.count == 0 || self.is(Flaw::TryLooksForNoLine);
                let at = if asks { At::Ask(Part::Tries) } else { At::EnterKnown };
                ("loads the number of lines", state.go(who, at))
            }
            At::Terms if state.are_closed => {
                ("finds all lines closed", state.go(who, At::Done(End::Refused)))
            }
            At::Terms => {
                let mut next = state.go(who, At::Enter);
                next.readers += 1;
                ("takes the terms", next)
            }
            At::CloseTerms if state.readers > 0 && !self.is(Flaw::ClosesWithoutTerms) => return,
            At::CloseTerms => {
                let mut next = state.go(who, At::List(0));
                next.are_closed = true;
                if self.is(Flaw::CloseListsFirst) {
                    next = next.next_key(who);
                }
                ("notes that all lines are closed", next)
            }
            At::List(shard) if state.shards[usize::from(shard)].is_some() => return,
            At::List(shard) => ("lists keys", self.list(state, who, shard)),
            At::EnterCount => {
                let mut next = state.go(who, At::LoadFirst);
                next.shards[shard] = None;
                next.readers -= 1;
                next.count += 1;
                ("counts its line", next)
            }
            At::LeaveCount(then) => {
                let mut next = state.clone();
                next.shards[shard] = None;
                next.count -= 1;
                ("uncounts its line", Self::left(&next, who, then))
            }
            _ if !is_free => return,
            At::EnterKnown => ("looks for its line", self.enter_known(state, who, name)),
            At::Enter => ("gets its line", self.enter(state, who, (name, shard))),
            At::Leave(then) => ("leaves its line", self.leave(state, who, (name, shard), then)),
            At::Remove { line, then } => {
                let mut next = state.go(who, At::LeaveCount(then));
                next.shards[shard] = Some(who as u8);
                next.map[name] = None;
                Self::clear(&mut next, line);
                ("removes its line", next)
            }
            at => unreachable!("{at:?} is a step of another kind"),
        };
        self.add(found, who, what, next, None);
    }

    /// Notes the keys of a shard that have lines.
    fn list(&self, state: &State, who: usize, shard: u8) -> State {
        let mut next = state.clone();
        for key in 0..KEYS {
            if self.shard(key) == usize::from(shard) && state.map[key].is_some() {
                next.todo[who] |= 1 << key;
            }
        }
        if usize::from(shard) + 1 < self.shards {
            return next.go(who, At::List(shard + 1));
        }
        match self.visit(who) {
            Visit::Close if self.is(Flaw::CloseListsFirst) => next.go(who, At::CloseTerms),
            Visit::ResetAll if self.is(Flaw::UpdateListsFirst) => next.go(who, At::Change),
            _ => next.next_key(who),
        }
    }

    fn enter_known(&self, state: &State, who: usize, name: usize) -> State {
        let mut next = state.clone();
        let is_change = state.todo[who] > 0;
        let Some((line, users)) = &mut next.map[name] else {
            if is_change {
                next.todo[who] &= next.todo[who] - 1;
                return next.next_key(who);
            }
            return next.go(who, At::Ask(Part::Tries));
        };
        *users += i8::from(!self.is(Flaw::EntersUncounted));
        next.uses[who] = Some(*line);
        let at = match self.visit(who) {
            Visit::Close => At::CloseLock,
            _ if is_change => At::CountLine,
            _ => At::LoadGate(Part::Tries),
        };
        next.go(who, at)
    }

    fn enter(&self, state: &State, who: usize, (name, shard): (usize, usize)) -> State {
        let mut next = state.clone();
        if let Some((line, users)) = &mut next.map[name] {
            *users += i8::from(!self.is(Flaw::EntersUncounted));
            next.uses[who] = Some(*line);
            next.readers -= 1;
            return next.go(who, At::LoadFirst);
        }
        let is_used = |line: u8| {
            let has = |(other, _)| other == line;
            state.map.iter().any(|known| known.is_some_and(has)) || state.uses.contains(&Some(line))
        };
        let line = (0..LINES as u8).find(|&line| !is_used(line)).expect("no more are in use");
        next.map[name] = Some((line, 1));
        next.uses[who] = Some(line);
        next.shards[shard] = Some(who as u8);
        next.go(who, At::EnterCount)
    }

    fn leave(&self, state: &State, who: usize, (name, shard): (usize, usize), then: Then) -> State {
        let mut next = state.clone();
        let line = next.uses[who].take().expect("uses a line");
        let entry = next.map[name].as_mut();
        let Some((_, users)) = entry.filter(|(known, _)| *known == line) else {
            Self::clear(&mut next, line);
            return Self::left(&next, who, then);
        };
        *users -= 1;
        if *users > 0 && !self.is(Flaw::RemovesUnderOthers) {
            next.count -= i8::from(self.is(Flaw::UncountsEachUser) && next.count > 0);
            return Self::left(&next, who, then);
        }
        if self.is(Flaw::RemovesLater) {
            return next.go(who, At::Remove { line, then });
        }
        next.map[name] = None;
        next.shards[shard] = Some(who as u8);
        Self::clear(&mut next, line);
        next.go(who, At::LeaveCount(then))
    }

    /// Forgets a line that was removed, once nobody uses it.
    fn clear(state: &mut State, line: u8) {
        let is_known = state.map.iter().any(|known| known.is_some_and(|(other, _)| other == line));
        if !is_known && !state.uses.contains(&Some(line)) {
            state.lines[usize::from(line)] = Line::default();
        }
    }

    fn left(state: &State, who: usize, then: Then) -> State {
        let mut next = state.clone();
        next.threads[who] = match then {
            Then::Asks => At::Ask(Part::Tries),
            Then::Enters => At::Terms,
            Then::Ends(end) => At::Done(end),
            Then::NextKey => {
                next.todo[who] &= next.todo[who] - 1;
                return next.next_key(who);
            }
        };
        next
    }
}
