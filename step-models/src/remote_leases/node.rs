//! The steps of a node, and the answers that come to it.

use super::*;

impl Remote {
    pub(super) fn step_of_node(&self, state: &State, who: usize, found: &mut Found<State>) {
        let node = &state.nodes[who];
        for index in 0..node.requests.len() {
            self.add(found, who, "gives a request up", self.given_up(state, who, index));
            if node.requests[index].wants > 0 && state.departures > 0 {
                let mut next = state.clone();
                next.departures -= 1;
                next.nodes[who].requests[index].wants = 0;
                next.nodes[who].next += 1;
                self.add(found, who, "its caller goes", next);
            }
        }
        let Some(&op) = self.programs[who].get(usize::from(node.next)) else { return };
        let is_waiting = !node.requests.is_empty();
        let mut next = state.clone();
        let changed = &mut next.nodes[who];
        match op {
            Op::Call(permits) if sum(&node.lease) >= permits => {
                take(&mut changed.lease, permits);
                changed.next += 1;
                next.granted[state.clock as usize] += permits;
                found.counts.grants += 1;
                self.add(found, who, "spends", next);
            }
            // Its own, or one ahead: it waits.
            Op::Call(_) | Op::Retire if is_waiting => {}
            Op::Call(permits) => {
                let hand = changed.lease.clone();
                if !self.is(Mutant::Copies) {
                    changed.lease.clear();
                }
                let least = permits - sum(&hand);
                let request = Request { number: 0, hand, wants: permits, room: self.lease, least };
                send(&mut next, who, request, least + self.lease);
                self.add(found, who, "asks", next);
            }
            Op::Ahead => {
                let room = if self.is(Mutant::Unreserved) {
                    self.lease
                } else {
                    self.lease - sum(&node.lease)
                };
                if is_waiting && !self.is(Mutant::TwoRequests) {
                    return;
                }
                changed.next += 1;
                if room > 0 {
                    let request = Request { number: 0, hand: Vec::new(), wants: 0, room, least: 1 };
                    send(&mut next, who, request, room);
                }
                self.add(found, who, "asks ahead", next);
            }
            Op::Retire => {
                changed.next += 1;
                let lots = changed.lease.clone();
                if !self.is(Mutant::KeepsLent) {
                    changed.lease.clear();
                }
                found.counts.given_back += lots.len();
                next.messages.extend(lots.into_iter().map(Message::Back));
                self.add(found, who, "gives back", next);
            }
            Op::Crash => {
                // The call that waits goes down with it.
                let calls = node.requests.iter().filter(|request| request.wants > 0).count() as u8;
                let life = node.life + 1;
                *changed = Node { next: node.next + 1 + calls, life, ..Node::default() };
                self.add(found, who, "crashes", next);
            }
        }
    }

    fn given_up(&self, state: &State, who: usize, index: usize) -> State {
        let mut next = state.clone();
        let node = &mut next.nodes[who];
        let request = node.requests.remove(index);
        node.lease.splice(0..0, request.hand);
        if self.is(Mutant::FailureGrants) && request.wants > 0 {
            next.granted[state.clock as usize] += request.wants;
        }
        if request.wants > 0 {
            node.next += 1;
        }
        next
    }

    /// The state after an answer has come: as before, if it is for nobody.
    pub(super) fn answered(&self, state: &State, to: Sender, lot: Lot, ran: i8) -> State {
        let mut next = state.clone();
        let node = &mut next.nodes[usize::from(to.node)];
        let is_alive = node.life == to.life || self.is(Mutant::OldLife);
        let of_it = |request: &Request| request.number == to.request && is_alive;
        let Some(index) = node.requests.iter().position(of_it) else {
            if self.is(Mutant::AnyAnswer) && is_alive || self.is(Mutant::OldLife) && node.life > 0 {
                node.lease.push(lot);
            }
            return next;
        };
        let mut request = node.requests.remove(index);
        let mut lots = request.hand.split_off(0);
        if lot.permits > 0 {
            lots.push(lot);
        }
        if request.wants > 0 {
            node.next += 1;
            if sum(&lots) >= request.wants {
                take(&mut lots, request.wants);
                next.granted[ran as usize] += request.wants;
            }
        }
        if !self.is(Mutant::Uncut) {
            let beyond = sum(&lots) - request.room;
            take(&mut lots, beyond.max(0));
        }
        next.nodes[usize::from(to.node)].lease.extend(lots);
        next
    }
}

fn send(next: &mut State, who: usize, request: Request, most: i8) {
    let node = &mut next.nodes[who];
    node.sent += 1;
    let number = node.sent;
    let from = Sender { node: who as u8, life: node.life, request: number };
    let least = request.least;
    node.requests.push(Request { number, ..request });
    next.messages.push(Message::Ask { from, least, most });
}
