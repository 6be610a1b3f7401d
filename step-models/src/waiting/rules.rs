//! Invariants of every state, and the goal.

use super::*;

pub(super) const BOUND: &str = "more than the bound";
pub(super) const OVERTAKES: &str = "overtakes";
pub(super) const LEVEL: &str = "is not the replay of the admissions";
pub(super) const OUTCOME: &str = "has two outcomes";
pub(super) const LOST: &str = "sleeps on, though its outcome is known";
pub(super) const STALL: &str = "cannot reach the goal";
pub(super) const UNPOLLED: &str = "denied by a line that is due and that nobody polls";
pub(super) const LATER: &str = "is charged up to later than its estimate";
pub(super) const AFTER_DEADLINE: &str = "is granted after its deadline";
pub(super) const DEEP: &str = "is deeper in debt than any call may leave it";
pub(super) const UNITS: &str = "units were charged, but callers were admitted";

impl Scene {
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

    fn fault(&self, state: &State) -> Option<String> {
        if let Some(fault) = (0..self.ops.len()).find_map(|who| self.fault_of(state, who)) {
            return Some(fault);
        }
        if !state.is_free() {
            return None;
        }
        if self.checks_gate && state.word.gate == state.line.is_empty() {
            return Some("the gate does not tell whether somebody stands in line".to_owned());
        }
        if self.checks_gate && state.line.first().is_some_and(|head| self.reserves(head)) {
            return Some("a reservation stands at the front".to_owned());
        }
        if self.kind == Kind::Bucket && state.word.level > state.clock + self.ahead + self.debt {
            return Some(format!("the level {DEEP}"));
        }
        if self.kind == Kind::Bucket && state.word.level != state.replay {
            return Some(format!("the level {LEVEL}, {}", state.replay));
        }
        let charged: i8 = state.admitted.iter().sum();
        let told = self.spent + (0..self.ops.len()).map(|who| self.told(state, who)).sum::<i8>();
        let is_wrong = self.is_unchanged() && charged != told;
        is_wrong.then(|| format!("{charged} {UNITS} for {told}"))
    }

    /// The units for which a caller has been told, or will be, that it is admitted.
    fn told(&self, state: &State, who: usize) -> i8 {
        let is_admitted = match state.nodes[who].standing {
            Standing::Granted => true,
            Standing::Waiting => self.reserves(who),
            Standing::Outside => {
                matches!(state.threads[who], At::Done(End::Admitted) | At::Refund { .. })
            }
            _ => false,
        };
        if is_admitted { self.ops[who].permits() } else { 0 }
    }

    fn fault_of(&self, state: &State, who: usize) -> Option<String> {
        use Standing::*;
        let (node, at) = (&state.nodes[who], state.threads[who]);
        if state.is_free() && (node.standing == Waiting) != state.line.has(who) {
            return Some(format!("thread {who} is {:?} in the line {:?}", node, state.line));
        }
        let is_double = match node.standing {
            Granted => at == At::Done(End::Gone),
            Gone => at == At::Done(End::Admitted),
            _ => false,
        };
        if is_double {
            return Some(format!("thread {who} {OUTCOME}: {node:?}, {at:?}"));
        }
        let is_settled = matches!(node.standing, Granted | Refused);
        let has_waker = self.ops[who].is_woken();
        let is_asleep = at == At::Parked && has_waker && !node.is_woken;
        if is_settled && is_asleep && state.is_free() {
            let wakes = |at: &At| matches!(at, At::Wake { wake, .. } if wake.has(who));
            let is_lost = !state.threads.iter().any(wakes);
            return is_lost.then(|| format!("thread {who} {LOST}"));
        }
        None
    }

    /// The fault of a denial at the gate while the head could be granted by any reading, if nobody
    /// will come to grant it.
    pub(super) fn denied_for_ever(&self, state: &State) -> Option<String> {
        let head = state.line.first().filter(|_| state.is_free())?;
        let nobody = !state.line.iter().any(|who| self.is_polled(who));
        let is_due = self.turn(state, state.word, head, state.clock - self.late).is_some();
        (nobody && is_due).then(|| UNPOLLED.to_owned())
    }

    /// Returns whether the grant of a waiter that was told an instant is charged to a later one. It may be if it is
    /// late, and permits come back meanwhile: its credit from before that is gone.
    pub(super) fn is_late(&self, state: &State, who: usize, level: i8) -> bool {
        let is_promised = state.nodes[who].has_stood
            && self.kind == Kind::Bucket
            && self.is_unchanged()
            && !self.has_reservations()
            && !self.ops.iter().any(|op| matches!(op, Op::Force(_)) || op.gives_back());
        let own = state.since - state.cap + self.ops[who].permits();
        is_promised && level > state.nodes[who].armed.max(own)
    }

    fn has_all_it_can(&self, state: &State, who: usize) -> bool {
        match state.threads[who] {
            At::Idle | At::Done(_) => return true,
            At::Parked if !self.is_polled(who) => return true,
            At::Parked if state.is_waiting(who) => {}
            _ => return false,
        }
        if self.acquire(who).deadline.is_some_and(|deadline| deadline <= state.clock) {
            return false;
        }
        if self.estimate(state, who, state.word) > state.clock {
            return true;
        }
        // Behind a new head that nobody polls, a waiter has its old timer only.
        let mut ahead = state.line.iter().take_while(|&other| other != who);
        let armed = state.nodes[who].armed;
        state.clock < armed && armed != NEVER && ahead.any(|other| !self.is_polled(other))
    }
}

impl Goal for Scene {
    /// Nobody that is polled stands in line though it is due or out of time; nobody is on its way.
    fn is_goal(&self, state: &State) -> bool {
        (0..self.ops.len()).all(|who| self.has_all_it_can(state, who))
    }
}
