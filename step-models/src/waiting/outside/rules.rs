//! Invariants of every state, and the goal.

use super::*;

pub(super) const TOLD: &str = "permits were granted, but callers were told of";
pub(super) const STANDS: &str = "stands in line, though all were refused";
pub(super) const LEFT: &str = "a line is left";

impl Outside {
    /// Adds a step, with its fault or that of the state that it leads to.
    pub(super) fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        next: State,
        fault: Option<String>,
    ) {
        let fault = fault.or_else(|| self.fault(&next));
        found.add(who, what, next, fault);
    }

    /// The fault of a denial at the gate while the head could be granted its permits, if nobody will come
    /// to ask for them.
    pub(super) fn denied_for_ever(&self, state: &State, who: usize) -> Option<String> {
        let line = state.line(who);
        let head = line.row.first().filter(|_| line.holder.is_none())?;
        let key = self.key(head);
        let nobody = !line.row.iter().any(|waiter| self.is_polled(waiter));
        let is_due = state.turn(key, self.permits(head)) <= state.clock;
        (nobody && is_due && !state.untold[key]).then(|| UNPOLLED.to_owned())
    }

    fn fault(&self, state: &State) -> Option<String> {
        let threads = 0..self.visits.len();
        if let Some(fault) = threads.clone().find_map(|who| self.fault_of(state, who)) {
            return Some(fault);
        }
        let told = threads.clone().map(|who| self.told(state, who)).sum::<i8>();
        if told != state.charged {
            return Some(format!("{} {TOLD} {told}", state.charged));
        }
        let is_done = |who: usize| matches!(state.threads[who], At::Done(_));
        let has_closed = |who: usize| is_done(who) && self.visit(who) == Visit::Close;
        if threads.clone().any(has_closed)
            && let Some(who) = threads.clone().find(|&who| state.is_waiting(who))
        {
            return Some(format!("thread {who} {STANDS}"));
        }
        let lines = state.map.iter().flatten().count();
        if !self.checks_gate {
            return None;
        }
        if threads.clone().all(is_done) && (lines > 0 || state.count != 0) {
            return Some(LEFT.to_owned());
        }
        let is_wrong = |line: &Line| line.holder.is_none() && line.gate == line.row.is_empty();
        let is_counted = !self.is_keyed()
            || state.shards.iter().any(Option::is_some)
            || state.count == lines as i8;
        let is_told = !state.lines.iter().any(is_wrong) && is_counted;
        (!is_told).then(|| "the gate does not tell whether somebody stands in line".to_owned())
    }

    /// The permits that a caller has been told of, or will be.
    fn told(&self, state: &State, who: usize) -> i8 {
        let node = &state.nodes[who];
        let is_told = node.is_admitted || node.standing == Standing::Granted;
        if is_told { self.permits(who) } else { 0 }
    }

    fn fault_of(&self, state: &State, who: usize) -> Option<String> {
        use Standing::{Gone, Granted, Refused};
        let (node, at) = (&state.nodes[who], state.threads[who]);
        let is_double = match node.standing {
            Granted => at == At::Done(End::Gone),
            Gone => at == At::Done(End::Admitted),
            _ => false,
        };
        if is_double {
            return Some(format!("thread {who} {OUTCOME}: {node:?}, {at:?}"));
        }
        let is_settled = matches!(node.standing, Granted | Refused);
        let is_asleep = at == At::Parked && self.is_polled(who) && !node.is_woken;
        if is_settled && is_asleep && state.line(who).holder.is_none() {
            let wakes = |at: &At| matches!(at, At::Wake { wake, .. } if wake.has(who));
            let is_lost = !state.threads.iter().any(wakes);
            return is_lost.then(|| format!("thread {who} {LOST}"));
        }
        None
    }

    /// Returns whether a waiter sleeps for longer than a look, though its permits are there.
    fn is_stalled(&self, state: &State, who: usize) -> bool {
        let (key, row) = (self.key(who), state.line(who).row);
        let before: Vec<usize> = row
            .iter()
            .take_while(|&other| other != who)
            .filter(|&other| self.key(other) == key)
            .collect();
        let ahead = before.iter().map(|&other| self.permits(other)).sum::<i8>();
        let is_due = state.turn(key, ahead + self.permits(who)) <= state.clock;
        let armed = state.nodes[who].armed;
        if !is_due || armed <= state.clock + LOOK || state.untold[key] && !self.tells_of_returns {
            return false;
        }
        // Whoever is due behind others is granted its permits by the head, if that is polled. Behind a
        // new head that nobody polls it has its old timer only, or none if nobody knew its turn.
        let unpolled = before.iter().any(|&other| !self.is_polled(other));
        before.is_empty() || unpolled && self.tells && armed == NEVER
    }
}

impl Goal for Outside {
    /// Nobody that is polled stands in line though it is due; nobody is on its way.
    fn is_goal(&self, state: &State) -> bool {
        (0..self.visits.len()).all(|who| match state.threads[who] {
            At::Idle | At::Done(_) => true,
            At::Parked if !self.is_polled(who) => true,
            At::Parked => {
                let node = state.nodes[who];
                let rests = !node.is_woken && node.armed > state.clock;
                rests && state.is_waiting(who) && !self.is_stalled(state, who)
            }
            _ => false,
        })
    }
}
