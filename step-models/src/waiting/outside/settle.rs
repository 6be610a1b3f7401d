//! Settling, by the holder of a line.

use super::*;

/// The reason to settle, the part of the holder's call, and those to wake afterwards.
pub(super) type Settling = (Why, Part, Row);

impl Outside {
    pub(super) fn close_gate(
        &self,
        state: &State,
        who: usize,
        (why, part, wake): Settling,
    ) -> State {
        if state.line(who).row.is_empty() {
            return state.go(who, At::OpenGate { why, part, wake });
        }
        let mut next = state.go(who, At::AskHead { why, part, wake });
        next.line_mut(who).gate |= !self.is(Flaw::NobodyClosesGate);
        next
    }

    pub(super) fn open_gate(
        &self,
        state: &State,
        who: usize,
        (why, part, wake): Settling,
    ) -> State {
        let mut next = state.clone();
        let line = next.line_mut(who);
        line.gate &= self.is(Flaw::GateStaysClosed);
        line.due = 0;
        Self::settled(&next, who, (why, part, wake))
    }

    /// Asks the limiter for the head.
    pub(super) fn ask_for_head(
        &self,
        state: &State,
        who: usize,
        (why, part, wake): Settling,
        found: &mut Found<State>,
    ) {
        let row = state.line(who).row;
        let fits =
            |&waiter: &usize| state.turn(self.key(waiter), self.permits(waiter)) <= state.clock;
        let first = row.first().expect("somebody stands in line");
        let fitting = row.iter().find(fits).filter(|_| self.is(Flaw::PassesHead));
        let head = fitting.unwrap_or(first);
        let key = self.key(head);
        if self.permits(head) > state.cap {
            let mut next = state.go(who, At::Settle { why, part, wake: wake.with(head) });
            next.unlink(who, head, Standing::Refused);
            return self.add(found, who, "refuses the head", next, None);
        }
        let left = state.turn(key, self.permits(head));
        let mut next = state.clone();
        next.untold[key] = false;
        if left > state.clock {
            let due = if self.tells { left } else { state.clock + LOOK };
            next.line_mut(who).due = due;
            let sleeps = head != who && state.nodes[head].armed > due;
            let is_told = sleeps && !self.is(Flaw::HeadNotTold);
            let wake = if is_told { wake.with(head) } else { wake };
            let next = Self::settled(&next, who, (why, part, wake));
            return self.add(found, who, "is denied for the head", next, None);
        }
        next.levels[key] = left;
        next.charged += self.permits(head);
        next.unlink(who, head, Standing::Granted);
        found.counts.grants += 1;
        let wake = if self.is(Flaw::GrantDoesNotWake) { wake } else { wake.with(head) };
        next.line_mut(who).gate &= !self.is(Flaw::GrantOpensGate);
        next.threads[who] = if row.len() == 1 {
            At::OpenGate { why, part, wake }
        } else {
            At::Settle { why, part, wake }
        };
        let fault = state.overtaking(head);
        self.add(found, who, "is granted the head's permits", next, fault);
    }

    fn settled(state: &State, who: usize, (why, part, wake): Settling) -> State {
        let then = match why {
            Why::Push | Why::Poll => return state.go(who, At::Answer(wake)),
            Why::Help if state.line(who).row.is_empty() => End::Again,
            Why::Help => End::Denied,
            _ => End::Gone,
        };
        state.go(who, At::Unlock { part, wake, then })
    }

    /// A waiter sets its timer to its turn, unless it has its answer.
    pub(super) fn answer(&self, state: &State, who: usize, wake: Row) -> State {
        let mut next = state.clone();
        let row = state.line(who).row;
        let then = match state.nodes[who].standing {
            Standing::Granted => End::Admitted,
            Standing::Refused => End::Refused,
            _ => {
                let is_head = row.first() == Some(who);
                let ahead = row.iter().take_while(|&other| other != who);
                let permits = ahead.map(|other| self.permits(other)).sum::<i8>();
                let turn = state.turn(self.key(who), permits + self.permits(who));
                let sleeps_on = self.is(Flaw::OnlyHeadArms) || !self.tells;
                next.nodes[who].armed = match turn {
                    _ if is_head && !self.tells && self.is(Flaw::HeadLooksOnce) => NEVER,
                    _ if is_head && !self.tells => state.clock + LOOK,
                    _ if !is_head && sleeps_on => NEVER,
                    // It has come just now.
                    turn if turn <= state.clock => state.clock + LOOK,
                    turn => turn,
                };
                End::Parked
            }
        };
        // What it waits for itself it sees at once.
        next.go(who, At::Unlock { part: Part::Waits, wake: wake.without(who), then })
    }

    pub(super) fn unlock(
        &self,
        state: &State,
        who: usize,
        (part, wake, then): (Part, Row, End),
        found: &mut Found<State>,
    ) -> State {
        let mut next = state.clone();
        next.line_mut(who).holder = None;
        if then == End::Parked {
            next.nodes[who].has_stood = true;
        }
        self.after(&next, who, (part, wake, then), found)
    }

    /// Wakers are called with nothing locked.
    pub(super) fn after(
        &self,
        state: &State,
        who: usize,
        (part, wake, then): (Part, Row, End),
        found: &mut Found<State>,
    ) -> State {
        match then {
            _ if !wake.is_empty() => state.go(who, At::Wake { part, wake, then }),
            End::Parked if self.is(Flaw::RegistersLate) => state.go(who, At::Registers),
            End::Parked => state.go(who, At::Parked),
            // Nobody that stood in line when the call began stands there any more.
            End::Again => state.asks(who, part),
            End::Denied if self.is(Flaw::HelperAsks) => state.asks(who, part),
            End::Denied => self.denied(state, who, part, found),
            End::Gone if self.is(Flaw::UpdatePokesFirst) && !self.waits(who) => {
                state.go(who, At::Change)
            }
            then => self.ends(state, who, then),
        }
    }
}
