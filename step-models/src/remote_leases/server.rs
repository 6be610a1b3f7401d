//! The server, and messages on their way.

use super::*;

impl Remote {
    fn burst(&self) -> i8 {
        if self.is(Mutant::NoCarveOut) { self.cap } else { self.cap - self.stated * self.lease }
    }

    /// The permits that the server would grant now.
    pub(super) fn available(&self, state: &State) -> i8 {
        let now = state.clock + state.ahead;
        let mut least = self.burst();
        for first in &state.charges {
            let later = state.charges.iter().filter(|charge| charge.time >= first.time);
            let charged: i8 = later.map(|charge| charge.permits).sum();
            least = least.min(self.burst() + now - first.time - charged);
        }
        least.max(0)
    }

    pub(super) fn step_of_message(&self, state: &State, index: usize, found: &mut Found<State>) {
        let mut arrived = state.clone();
        let message = arrived.messages.remove(index);
        self.add(found, CLOCK, "a message is lost", arrived.clone());
        if state.repeats > 0 {
            // It arrives, and stays on its way.
            let mut twice = state.clone();
            twice.repeats -= 1;
            let next = self.at(twice, message, found);
            self.add(found, CLOCK, "a message arrives, and will once more", next);
        }
        let next = self.at(arrived, message, found);
        self.add(found, CLOCK, "a message arrives", next);
    }

    fn at(&self, mut next: State, message: Message, found: &mut Found<State>) -> State {
        match message {
            Message::Ask { from, least, most } => {
                let permits = self.available(&next).min(most);
                let permits = if permits < least { 0 } else { permits };
                let lot = Lot { charge: next.charged, permits };
                if permits > 0 {
                    let time = next.clock + next.ahead;
                    next.charges.push(Charge { time, number: next.charged, permits });
                    next.charged += 1;
                } else {
                    found.counts.denials += 1;
                }
                next.messages.push(Message::Answer { to: from, lot, ran: next.clock });
                next
            }
            Message::Answer { to, lot, ran } => {
                let answered = self.answered(&next, to, lot, ran);
                found.counts.grants += usize::from(answered.granted != next.granted);
                answered
            }
            Message::Back(lot) => self.taken_back(next, lot),
        }
    }

    fn taken_back(&self, mut next: State, lot: Lot) -> State {
        if next.marks.contains(&lot.charge) && !self.is(Mutant::BackTwice) {
            return next;
        }
        next.marks.push(lot.charge);
        next.marks.sort_unstable();
        next.marks.dedup();
        let place = if self.is(Mutant::BackToNow) {
            // As a bucket does that adds tokens: they are there from now on.
            next.charges.iter().rposition(|charge| charge.permits >= lot.permits)
        } else {
            next.charges.iter().position(|charge| charge.number == lot.charge)
        };
        if let Some(place) = place {
            let charge = &mut next.charges[place];
            charge.permits -= lot.permits.min(charge.permits);
            if charge.permits == 0 {
                next.charges.remove(place);
            }
        }
        next
    }

    pub(super) fn step_of_server(&self, state: &State, found: &mut Found<State>) {
        if self.is(Mutant::ServerExpires) {
            let now = state.clock + state.ahead;
            for (index, charge) in state.charges.iter().enumerate() {
                if charge.time < now {
                    let mut next = state.clone();
                    next.charges.remove(index);
                    self.add(found, CLOCK, "the server takes a lease back", next);
                }
            }
        }
        if state.failovers == 0 {
            return;
        }
        let seen = (state.charges.clone(), state.marks.clone());
        if state.replica != seen {
            let next = State { replica: seen, ..state.clone() };
            self.add(found, CLOCK, "the replica catches up", next);
        }
        for ahead in [0, self.ahead] {
            let mut next = state.clone();
            next.failovers -= 1;
            next.ahead += ahead;
            (next.charges, next.marks) = state.replica.clone();
            let seen =
                |charge: &Charge| next.charges.iter().any(|other| other.number == charge.number);
            let unseen = state.charges.iter().filter(|charge| !seen(charge));
            next.forgotten += unseen.map(|charge| charge.permits).sum::<i8>();
            self.add(found, CLOCK, "the replica takes over", next);
        }
    }
}
