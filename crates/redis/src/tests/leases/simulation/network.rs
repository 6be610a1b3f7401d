//! Messages between nodes and server, time, and the faults of all of them.

use std::cmp::Reverse;

use rand::Rng;

use super::ledger::Entry;
use super::node::{Node, Send};
use super::{Event, SECOND, START, Simulation, TIME_LIMIT};
use crate::decision::Verb;

impl Simulation {
    pub(super) fn fault(&mut self) {
        let node = self.random.random_range(0..self.nodes.len());
        if self.strikes(60) {
            self.crash(node);
        }
        if self.strikes(60) {
            let by = self.random.random_range(0..60 * SECOND * 1_000);
            let nanos = self.nodes[node].nanos;
            let is_back = self.random.random();
            self.nodes[node].nanos = if is_back { nanos.saturating_sub(by) } else { nanos + by };
        }
        if self.strikes(200) {
            let by = self.random.random_range(0..SECOND);
            self.advance(by);
        }
        if self.strikes(200) {
            self.go_back();
        }
        if self.strikes(10) {
            self.server.replicate();
            self.unseen = 0;
        }
        if self.strikes(300) {
            self.server.fail_over();
            self.ledger.add(START + self.micros, Entry::Forgotten(self.unseen));
            self.unseen = 0;
        }
    }

    /// Ends a node. Another one takes its place.
    pub(super) fn crash(&mut self, node: usize) {
        let nanos = self.nodes[node].nanos;
        self.nodes[node] = Node::new(&self.name, nanos);
        self.lives[node] += 1;
    }

    /// Sends a message of a node, to whatever fate.
    pub(super) fn send(&mut self, node: usize, send: Send) {
        let keyed = &self.own[node].keyed;
        let (from, keys, request) = match send {
            Send::Lease { flight, least, permits } => {
                let from = Some((node, self.lives[node], flight));
                (from, vec![self.name.clone()], keyed.lease(&self.name, least, permits))
            }
            Send::GiveBack(lot) => {
                let marker = format!("{}:back:{}", self.name, self.numbers);
                let request = keyed.give_back(&self.name, lot.permits, &lot.charged);
                (None, vec![self.name.clone(), marker], request)
            }
        };
        let arguments = request.arguments().iter().map(|argument| argument.to_vec()).collect();
        let delay = self.random.random_range(0..2_000);
        let event = Event::Runs { from, keys, arguments };
        let give_up = Event::Answered { to: from, reply: None, ran: 0 };
        if self.strikes(20) {
            self.push(self.micros + TIME_LIMIT, give_up);
            return;
        }
        if self.strikes(20) {
            let longest = if from.is_some() { 3 * TIME_LIMIT } else { 600 * SECOND };
            let late = self.random.random_range(TIME_LIMIT..=longest);
            self.push(self.micros + late, event.clone());
            self.push(self.micros + TIME_LIMIT, give_up);
        }
        if self.strikes(if from.is_some() { 20 } else { 3 }) {
            let longest = if self.random.random() { TIME_LIMIT } else { 100 * SECOND };
            let late = self.random.random_range(0..=longest);
            self.push(self.micros + late, event.clone());
        }
        self.push(self.micros + delay, event);
    }

    /// Takes as much as there is, without a lease, by a script of the whole limit.
    pub(super) fn call_without_leases(&mut self) {
        let request = self.whole.request("ada", Verb::UpTo, self.whole.limit.limit()).unwrap();
        let arguments: Vec<Vec<u8>> =
            request.arguments().iter().map(|argument| argument.to_vec()).collect();
        let reply = self.server.run(
            self.whole.limit.script(),
            std::slice::from_ref(&self.name),
            &arguments,
        );
        if let Ok(granted) = u64::try_from(reply[0]) {
            self.ledger.add(START + self.micros, Entry::Granted(granted));
        }
    }

    /// Lets the server's clock go forward, and nothing else.
    fn advance(&mut self, micros: u64) {
        self.micros += micros;
        self.server.set_clock(START + self.micros - self.back);
    }

    /// Sets the server's clock back, and nothing else: a little, by which its time stands still, or more.
    pub(super) fn go_back(&mut self) {
        let spans = [SECOND, 20 * SECOND, 3_600 * SECOND];
        let most = spans[self.random.random_range(0..spans.len())];
        let micros = self.random.random_range(0..most);
        // What was granted before it and what is granted after it have other times.
        self.advance(1);
        self.back += micros;
        self.ledger.add(START + self.micros, Entry::SetBack(micros));
        self.advance(1);
    }

    /// Lets time pass, with what happens in it.
    pub(super) fn pass(&mut self, micros: u64) {
        let end = self.micros + micros;
        while let Some(Reverse((at, ..))) = self.events.peek().filter(|event| event.0.0 <= end) {
            let at = (*at).max(self.micros);
            let Some(Reverse((_, _, event))) = self.events.pop() else { break };
            self.let_pass(at);
            self.steps += 1;
            self.happen(event);
        }
        self.let_pass(end.max(self.micros));
    }

    fn let_pass(&mut self, until: u64) {
        let passed = until - self.micros;
        for (index, node) in self.nodes.iter_mut().enumerate() {
            // Some clocks go faster than others.
            node.nanos += passed * (990 + index as u64 % 20);
        }
        self.advance(passed);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Runs { from, keys, arguments } => {
                let reply = self.server.run(self.whole.limit.script(), &keys, &arguments);
                if from.is_some() {
                    self.unseen += u64::try_from(reply[0]).unwrap_or(0);
                }
                let delay = self.random.random_range(0..2_000);
                let is_lost = self.strikes(20);
                let ran = START + self.micros;
                let reply = (!is_lost).then_some(reply);
                let after = if is_lost { TIME_LIMIT } else { delay };
                self.push(self.micros + after, Event::Answered { to: from, reply, ran });
            }
            Event::Answered { to: Some((node, life, flight)), reply, ran } => {
                if self.lives[node] != life {
                    return;
                }
                let number = self.number();
                let (granted, next) =
                    self.nodes[node].land(flight, reply, number, &self.own[node].terms);
                for grant in granted {
                    let at = if grant.is_counted && ran > 0 { ran } else { START + self.micros };
                    self.ledger.add(at, Entry::Granted(grant.permits));
                }
                if let Some(next) = next {
                    self.send(node, next);
                }
            }
            Event::Answered { to: None, .. } => {}
        }
    }
}
