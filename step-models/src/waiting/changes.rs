//! Calls that go through the gate: force, changes, and permits that are given back. The last two
//! poke the line afterwards if they found the gate closed.

use super::*;

impl Scene {
    /// Decides what a change makes of the word, by every reading.
    pub(super) fn prepare(&self, state: &State, who: usize, seen: Word, found: &mut Found<State>) {
        for now in self.readings(state) {
            if self.reserves(who) {
                self.reserve(state, who, (seen, now), found);
                continue;
            }
            let base = seen.level.max(now - state.cap);
            let (level, cap, instant) = match self.ops[who] {
                Op::Reset => (now - state.cap, state.cap, now),
                Op::Force(permits) => (base + permits, state.cap, now),
                // Keeps the tokens, but no more than the new burst.
                Op::Burst(cap) => (base.max(now - cap), cap, now),
                op => unreachable!("{op:?} is not done by one CAS"),
            };
            let next = Word { level, ..seen };
            let is_deep = matches!(self.ops[who], Op::Force(_)) && level > now + self.debt;
            let at = if is_deep {
                At::Done(End::Denied)
            } else {
                At::ChangeCas { seen, next, cap, instant }
            };
            self.add(found, who, "reads the clock", state.move_to(who, at), None);
        }
    }

    pub(super) fn change(
        &self,
        state: &State,
        who: usize,
        seen: Word,
        (mut word, cap, instant): (Word, i8, i8),
        found: &mut Found<State>,
    ) {
        let op = self.ops[who];
        if state.word != seen && !self.is(Mutant::ForcesByStore) {
            let next = state.move_to(who, At::ChangeLoad);
            return self.add(found, who, "fails to change the word", next, None);
        }
        word.gate = state.word.gate;
        if op.is_change() {
            word.gate &= !self.is(Mutant::ChangeDropsGate);
            word.terms += u8::from(!self.is(Mutant::ChangeKeepsTerms));
        }
        let mut next = state.clone();
        next.word = word;
        next.cap = cap;
        let mut fault = None;
        match op {
            // What was admitted before does not count any more.
            Op::Reset => {
                next.admitted = [0; INSTANTS];
                self.count_the_line(&mut next);
                next.replay = word.level;
            }
            Op::Burst(_) => {
                let at = instant.max(word.level);
                next.admitted = [0; INSTANTS];
                next.admitted[at as usize] = word.level - (at - cap);
                self.count_the_line(&mut next);
                next.replay = word.level;
            }
            _ => fault = self.admit(&mut next, instant, instant, op.permits()),
        }
        if op.reserves() {
            fault = fault.or_else(|| state.overtaking(who));
            next.nodes[who].standing = Standing::Granted;
            next.nodes[who].armed = instant;
            next.nodes[who].before = (state.word.level, state.word.count);
            next.nodes[who].grant = Some((word, instant));
        }
        let pokes = op.is_change() && state.word.gate && !self.is(Mutant::ChangeDoesNotPoke);
        next.threads[who] = match op {
            _ if pokes => At::ChangeLock,
            op if op.is_change() => At::Done(End::Gone),
            Op::ReserveAndCancel(_) => At::Parked,
            _ => At::Done(End::Admitted),
        };
        self.add(found, who, "changes the word", next, fault);
    }

    /// Gives back what a try took, if the level has not moved since; a turn may come earlier then.
    pub(super) fn refund(
        &self,
        state: &State,
        who: usize,
        (left, instant): (Word, i8),
        found: &mut Found<State>,
    ) {
        let mut next = state.move_to(who, At::Done(End::Admitted));
        let is_blind = self.is(Mutant::CancelsBlindly) && self.reserves(who);
        if (state.word.is_as_left(left) || is_blind) && state.word.terms == left.terms {
            found.counts.given_back += 1;
            self.take_off(&mut next, who, (left, instant));
            let pokes = state.word.gate && !self.is(Mutant::RefundDoesNotPoke);
            next.threads[who] = if pokes { At::ChangeLock } else { At::Done(End::Gone) };
            next.nodes[who].standing = Standing::Gone;
        }
        self.add(found, who, "gives back what it took, or finds the level moved", next, None);
    }

    /// Takes an admission off again. One from before a change is not part of the level any more.
    pub(super) fn take_off(&self, state: &mut State, who: usize, (left, instant): (Word, i8)) {
        let permits = self.ops[who].permits();
        let before = state.nodes[who].before;
        let rise = left.level - before.0;
        match self.kind {
            _ if state.word.is_as_left(left) => (state.word.level, state.word.count) = before,
            // As only mutants do.
            Kind::Bucket => state.word.level -= rise,
            Kind::Window(_) => state.word.count -= permits,
        }
        if state.word.terms == left.terms {
            if self.kind == Kind::Bucket {
                state.replay -= rise;
            }
            state.admitted[instant as usize] -= permits;
        }
    }
}
