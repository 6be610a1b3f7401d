//! Settling, by the holder of one lock or of both.

use super::*;

impl Settling {
    fn without(self, lines: u8) -> At {
        At::Settle(Settling { todo: self.todo & !lines, ..self })
    }

    fn again(self, todo: u8) -> At {
        At::Settle(Settling { todo: self.todo | todo, ..self })
    }
}

impl Pair {
    /// Loads the word of the next line, and decides what to do there.
    fn look(&self, state: &State, who: usize, settling: Settling) -> At {
        let Some(line) = lines_of(settling.todo).next() else {
            return At::Unlock { held: settling.held, then: self.end(state, who, settling) };
        };
        let seen = state.words[line];
        let gate = |line: usize, gate, is_over| At::Gate {
            settling,
            line,
            seen: state.words[line],
            gate,
            is_over,
        };
        let Some(head) = state.lines[line].first() else {
            return if seen.gate { gate(line, false, true) } else { settling.without(1 << line) };
        };
        if self.needs(head) != BOTH {
            return At::GrantOne { settling, line, seen };
        }
        let other = 1 - line;
        let is_alone = self.is(Flaw::NobodyReaches) && head != who;
        if state.lines[other].first() != Some(head) || is_alone {
            return if seen.gate { settling.without(1 << line) } else { gate(line, true, true) };
        }
        if settling.held != BOTH {
            return At::Reach { settling, line };
        }
        match (0..LIMITERS).find(|&line| !state.words[line].gate) {
            Some(open) => gate(open, true, false),
            None => At::LoadOther { settling, first: state.words[0] },
        }
    }

    fn end(&self, state: &State, who: usize, settling: Settling) -> End {
        match (settling.why, state.nodes[who]) {
            (Why::Help, _) if state.lines[self.own(who)].is_empty() => End::Again,
            (Why::Help, _) => End::Denied,
            (Why::Cancel, _) => End::Gone,
            (_, Standing::Granted) => End::Admitted,
            _ => End::Parked,
        }
    }

    fn grant(state: &mut State, lines: u8, who: usize, now: i8) {
        state.nodes[who] = Standing::Granted;
        for line in lines_of(lines) {
            state.lines[line] = state.lines[line].without(who);
            state.since[line] = now;
        }
    }

    pub(super) fn settle_step(
        &self,
        state: &State,
        who: usize,
        next: &mut State,
        fault: &mut Option<String>,
        found: &mut Found<State>,
    ) -> Option<&'static str> {
        let what = match state.at[who] {
            At::Settle(settling) => {
                next.at[who] = self.look(state, who, settling);
                "looks at a line and its word"
            }
            At::Reach { settling, line } => {
                let other = 1 - line;
                if state.holders[other].is_none() {
                    next.holders[other] = Some(who as u8);
                    let held = BOTH;
                    next.at[who] = At::Settle(Settling { held, todo: BOTH, ..settling });
                } else if self.is(Flaw::WaitsForOther) {
                    return None;
                } else {
                    let seen = state.words[line];
                    next.at[who] = At::Gate { settling, line, seen, gate: true, is_over: true };
                }
                "tries the other lock"
            }
            At::Gate { settling, line, seen, gate, is_over } => {
                next.at[who] = if state.words[line] == seen {
                    next.words[line].gate = gate;
                    settling.without(if is_over { 1 << line } else { 0 })
                } else {
                    settling.again(0)
                };
                "moves the gate, or fails to"
            }
            At::GrantOne { settling, line, seen } => {
                let head = state.lines[line].first().expect("somebody waits");
                let turn = self.turn(state, line, seen, head, settling.now);
                if let Some((level, instant)) = turn.filter(|_| state.words[line] == seen) {
                    found.counts.grants += 1;
                    next.words[line] = Bucket { level, gate: state.lines[line].len() > 1 };
                    *fault = self.charge(next, line, instant, self.permits(head));
                    Pair::grant(next, 1 << line, head, settling.now);
                    next.at[who] = settling.again(0);
                } else if turn.is_some() {
                    next.at[who] = settling.again(0);
                } else if seen.gate {
                    next.at[who] = settling.without(1 << line);
                } else {
                    next.at[who] = At::Gate { settling, line, seen, gate: true, is_over: true };
                }
                "grants the head, if it is due"
            }
            at => unreachable!("{at:?} is another's step"),
        };
        Some(what)
    }

    /// For a head of both lines, with both locks held and both gates closed.
    pub(super) fn charge_step(
        &self,
        state: &State,
        who: usize,
        next: &mut State,
        fault: &mut Option<String>,
        found: &mut Found<State>,
    ) -> &'static str {
        match state.at[who] {
            At::LoadOther { settling, first } => {
                let seen = [first, state.words[1]];
                let head = state.lines[0].first().expect("somebody waits");
                let is_due =
                    |line: usize| self.turn(state, line, seen[line], head, settling.now).is_some();
                let are_due = is_due(0) && (is_due(1) || self.is(Flaw::ChargesFirst));
                next.at[who] =
                    if are_due { At::Charge { settling, seen } } else { settling.without(BOTH) };
                "loads the other word"
            }
            At::Charge { settling, seen } => {
                let head = state.lines[0].first().expect("somebody waits");
                let turn = self.turn(state, 0, seen[0], head, settling.now);
                let (level, instant) = turn.expect("is due");
                next.at[who] = if state.words[0] == seen[0] {
                    let left = Bucket { level, gate: !self.is(Flaw::OpensBetween) };
                    next.words[0] = left;
                    *fault = self.charge(next, 0, instant, self.permits(head));
                    next.without = Some(level - self.permits(head));
                    At::ChargeOther { settling, left, second: seen[1], instant }
                } else {
                    settling.again(BOTH)
                };
                "charges the first, or fails to"
            }
            At::ChargeOther { settling, left, second, instant } => {
                let head = state.lines[0].first().expect("somebody waits");
                let turn = self.turn(state, 1, second, head, settling.now);
                let is_same = state.words[1] == second;
                next.at[who] = if let Some((level, instant)) = turn.filter(|_| is_same) {
                    found.counts.grants += 1;
                    next.words[1].level = level;
                    *fault = self.charge(next, 1, instant, self.permits(head));
                    Pair::grant(next, BOTH, head, settling.now);
                    next.without = None;
                    settling.again(BOTH)
                } else {
                    At::TakeBack { settling, left, instant }
                };
                "charges the second, or fails to"
            }
            At::TakeBack { settling, left, instant } => {
                let head = state.lines[0].first().expect("somebody waits");
                if state.words[0] == left || self.is(Flaw::TakesBackBlindly) {
                    found.counts.given_back += 1;
                    let permits = self.permits(head);
                    next.words[0].level -= permits;
                    next.replay[0] = state.without.expect("was charged");
                    next.admitted[0][instant as usize] -= permits;
                } else {
                    found.counts.lost += 1;
                }
                next.without = None;
                next.at[who] = settling.again(BOTH);
                "takes the first back, if nobody has moved it"
            }
            at => unreachable!("{at:?} is another's step"),
        }
    }
}
