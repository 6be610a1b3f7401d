//! A node of the simulation: the keys of a limiter as they are, with calls and requests that are told from outside what
//! time it is.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use crate::decision::Verb;
use crate::lease::parts::{Ask, Entered, Flight, LeaseTerms, LeasedKey, Lot, Told, Tried};

/// A call that waits.
#[derive(Debug)]
struct Call {
    number: u64,
    receiver: oneshot::Receiver<Told>,
    /// True once a request has landed that did not answer it.
    has_seen_one: bool,
}

impl Call {
    fn new(number: u64, receiver: oneshot::Receiver<Told>) -> Call {
        Call { number, receiver, has_seen_one: false }
    }
}

/// A grant, and whether it counts from the time at which the script ran, or from now.
pub(super) struct Granted {
    pub(super) permits: u64,
    pub(super) is_counted: bool,
}

/// The message that a node wants to send.
pub(super) enum Send {
    /// The flight of that number.
    Lease {
        flight: u64,
        least: u64,
        permits: u64,
    },
    GiveBack(Lot),
}

/// One process, with one key.
pub(super) struct Node {
    leased: Arc<LeasedKey>,
    /// The key before its lease ended, as callers see it that looked it up before.
    ended: Option<Arc<LeasedKey>>,
    calls: Vec<Call>,
    flights: HashMap<u64, Flight>,
    /// Permits that the server granted to this node, less those that it granted on.
    balance: u64,
    /// The clock of the process, which is its own.
    pub(super) nanos: u64,
}

impl Node {
    pub(super) fn new(name: &str, nanos: u64) -> Node {
        Node {
            leased: Arc::new(LeasedKey::new(name.to_owned(), nanos)),
            ended: None,
            calls: Vec::new(),
            flights: HashMap::new(),
            balance: 0,
            nanos,
        }
    }

    pub(super) fn held(&self) -> u64 {
        self.leased.left()
    }

    pub(super) fn waits(&self) -> usize {
        self.calls.len()
    }

    /// Notes that permits were granted to a caller.
    fn grant(&mut self, permits: u64) {
        let left = self.balance.checked_sub(permits).filter(|&left| left >= self.held());
        self.balance = left.expect("no permit is granted twice, or granted and kept");
    }

    /// Takes permits as the limiter does. `number` is one that no call or flight has had. Returns the permits granted at
    /// once, and what is to be sent.
    pub(super) fn call(
        &mut self,
        ask: Ask,
        number: u64,
        terms: &LeaseTerms,
    ) -> (Option<Result<u64, ()>>, Option<Send>) {
        if let Some(ended) = &self.ended
            && let Tried::Granted { grant, .. } = ended.try_take(ask.permits, self.nanos, terms)
        {
            panic!("a lease that has ended granted {grant:?}");
        }
        match self.leased.try_take(ask.permits, self.nanos, terms) {
            Tried::Granted { grant, is_low } => {
                let ahead = is_low.then(|| self.leased.ask_ahead(self.nanos, terms)).flatten();
                let send = ahead.map(|flight| self.board(flight, number));
                self.grant(grant.permits());
                return (Some(Ok(grant.permits())), send);
            }
            Tried::Short => {}
            Tried::Retired => self.begin_anew(),
        }
        match self.leased.enter(ask, self.nanos, terms) {
            Entered::Answer(answer) => {
                if let Ok(grant) = &answer {
                    self.grant(grant.permits());
                }
                (Some(answer.map(|grant| grant.permits()).map_err(|_| ())), None)
            }
            Entered::Wait(receiver) => {
                self.calls.push(Call::new(number, receiver));
                (None, None)
            }
            Entered::Lead(flight, receiver) => {
                self.calls.push(Call::new(number, receiver));
                // Behind its caller, which counts in it.
                let send = self.board(flight, number + 1);
                (None, Some(send))
            }
            Entered::Retired => unreachable!("it was made anew"),
        }
    }

    /// Gives up a call that waits, if there is one.
    pub(super) fn give_up(&mut self, index: usize) {
        if !self.calls.is_empty() {
            let index = index % self.calls.len();
            self.calls.swap_remove(index);
        }
    }

    /// Tells a flight its answer, or that there is none. Returns the grants of those who waited for it, and the next one.
    /// `number` is one that no call or flight has had.
    pub(super) fn land(
        &mut self,
        flight: u64,
        answer: Option<Vec<i64>>,
        number: u64,
        terms: &LeaseTerms,
    ) -> (Vec<Granted>, Option<Send>) {
        let Some(landing) = self.flights.remove(&flight) else { return (Vec::new(), None) };
        self.balance += answer.as_ref().map_or(0, |reply| u64::try_from(reply[0]).unwrap_or(0));
        let answer = answer.ok_or(crate::StoreError::TimedOut);
        let next = landing.land(answer, self.nanos, terms);
        let send = next.map(|next| self.board(next, number));
        let mut granted = Vec::new();
        self.calls.retain_mut(|call| match call.receiver.try_recv() {
            Ok(Told::Answer(answer)) => {
                let permits = answer.map_or(0, |grant| grant.permits());
                granted.push(Granted { permits, is_counted: call.number < flight });
                false
            }
            Ok(Told::Failed(_)) => false,
            Ok(Told::Lead(..)) => panic!("no caller is told to carry a request here"),
            Err(oneshot::TryRecvError::Empty) => {
                // It is counted in this one, or came while this one was on its way.
                assert!(call.number > flight && !call.has_seen_one, "waits for a third request");
                call.has_seen_one = true;
                true
            }
            Err(oneshot::TryRecvError::Disconnected) => panic!("a call was forgotten"),
        });
        self.grant(granted.iter().map(|grant| grant.permits).sum());
        (granted, send)
    }

    /// Ends the lease, if no request is on its way.
    pub(super) fn retire(&mut self) -> Vec<Send> {
        match self.leased.retire() {
            Ok(lots) => {
                self.begin_anew();
                lots.into_iter().map(Send::GiveBack).collect()
            }
            // Told when that has landed; nobody waits for it here.
            Err(_) => Vec::new(),
        }
    }

    fn begin_anew(&mut self) {
        self.balance = 0;
        let fresh = Arc::new(LeasedKey::new(self.leased.name().to_owned(), self.nanos));
        self.ended = Some(mem::replace(&mut self.leased, fresh));
    }

    fn board(&mut self, flight: Flight, number: u64) -> Send {
        let send = Send::Lease { flight: number, least: flight.least(), permits: flight.permits() };
        self.flights.insert(number, flight);
        send
    }
}

/// Returns a call for so many permits.
pub(super) fn ask(permits: u64, up_to: bool) -> Ask {
    Ask { verb: if up_to { Verb::UpTo } else { Verb::Take }, permits }
}
