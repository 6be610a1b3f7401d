//! A side of a session: limiters of one algorithm, the requests that wait for them, and the decisions.

mod arrive;
mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluicegate::Clock;
use sluicegate_flow::concurrency::InFlight;

use self::line::Caller;
use super::answer::Answer;
use super::decisions::DecisionLog;
use super::events::EventQueue;
use super::fields::ResponseWriter;
use super::sleep::{VirtualTimer, Woken};
use crate::algorithm::{AnyLimiter, SharedClock};
use crate::setup::CheckedSide;
use crate::units;
use crate::wire::{Decision, InUse, KeyState, Outcome, SideFrame, State, Totals};

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) n: u64,
    pub(super) key: Arc<str>,
    pub(super) cost: u64,
    /// Time for which permits in flight are held.
    pub(super) hold_nanos: u64,
}

/// A request that is in flight.
#[derive(Debug)]
struct Held {
    request: Request,
    since_nanos: u64,
    until_nanos: u64,
    limiter: Arc<str>,
    /// Gives the permits back when it is dropped.
    _guard: InFlight<'static>,
}

/// A side of a session.
pub(super) struct Side {
    /// The index of the side.
    place: usize,
    /// A number that no other side of the session has, or has had.
    id: u64,
    terms: CheckedSide,
    clock: SharedClock,
    timer: VirtualTimer,
    woken: Woken,
    /// By key, or the only one by the empty key, which no request has.
    limiters: BTreeMap<Arc<str>, Arc<AnyLimiter>>,
    /// The keys that have asked, if a limiter has shares of theirs.
    tenants: BTreeSet<Arc<str>>,
    /// Requests that wait, by their number: they came in this order.
    callers: BTreeMap<u64, Caller>,
    held: BTreeMap<u64, Held>,
    granted: u64,
    refused: u64,
    decisions: DecisionLog,
    last: Option<Answer>,
    writer: ResponseWriter,
}

impl Side {
    pub(super) fn new((place, id): (usize, u64), terms: CheckedSide, clock: &SharedClock) -> Side {
        let mut side = Side {
            place,
            id,
            writer: ResponseWriter::new(&terms),
            terms,
            clock: Arc::clone(clock),
            timer: VirtualTimer::new(Arc::clone(clock)),
            woken: Woken::default(),
            limiters: BTreeMap::new(),
            tenants: BTreeSet::new(),
            callers: BTreeMap::new(),
            held: BTreeMap::new(),
            granted: 0,
            refused: 0,
            decisions: DecisionLog::default(),
            last: None,
        };
        side.begin();
        side
    }

    /// Puts the limiter in place that all keys share. Those of a key are made when it comes.
    fn begin(&mut self) {
        if !self.terms.per_key {
            // A limiter that cannot be made is told to each request.
            let _ = self.limiter("");
        }
    }

    /// Puts other terms in force: in the limiters as they are if the engine can, or else in new ones. Then
    /// what was used is forgotten, and requests that wait give up.
    pub(super) fn change(&mut self, terms: CheckedSide, events: &mut EventQueue) {
        self.writer = ResponseWriter::new(&terms);
        let old = std::mem::replace(&mut self.terms, terms);
        let terms = &self.terms;
        let is_kept = old.terms == terms.terms;
        let mut limiters = self.limiters.values();
        let is_changed = old.per_key == terms.per_key
            && (is_kept || limiters.all(|limiter| limiter.reconfigure(&old.terms, &terms.terms)));
        if !is_changed {
            for (_, caller) in std::mem::take(&mut self.callers) {
                let alarm = caller.alarm;
                let Caller { request, since_nanos, .. } = caller;
                events.remove(alarm);
                let answer =
                    Answer::refused_because(&"the limiter was replaced by a new one", None);
                self.conclude(&request, Some(since_nanos), answer);
            }
            self.held.clear();
            self.limiters.clear();
            self.tenants.clear();
            self.begin();
        }
        self.note_woken(events);
    }

    /// Ends the request with the number `n` that is in flight, or lets it leave a queue.
    pub(super) fn end(&mut self, n: u64, events: &mut EventQueue) {
        self.held.remove(&n);
        self.leave_queue(n);
        self.note_woken(events);
    }

    /// Notes a decision, and counts it. A request that has waited since an instant has its second one.
    fn conclude(&mut self, request: &Request, since_nanos: Option<u64>, mut answer: Answer) {
        // A denial says which of several windows it is of.
        if answer.is_granted
            && let Some(limiter) = self.limiters.get(self.limiter_key(&request.key))
        {
            answer = answer.of_policy(limiter.tightest());
        }
        let outcome = match (answer.is_granted, since_nanos) {
            (true, None) => Outcome::Granted,
            (true, Some(_)) => Outcome::GrantedLate,
            (false, None) => Outcome::Refused,
            (false, Some(_)) => Outcome::GaveUp,
        };
        self.granted += u64::from(answer.is_granted);
        self.refused += u64::from(!answer.is_granted);
        let now_nanos = self.clock.now_nanos();
        let state = &answer.state;
        self.decisions.push(Decision {
            n: request.n,
            at: units::seconds(now_nanos),
            key: request.key.to_string(),
            cost: request.cost,
            outcome,
            waited: since_nanos.map(|since| units::seconds(now_nanos.saturating_sub(since))),
            remaining: state.remaining,
            retry_after: state.retry_after.map(|wait| wait.as_secs_f64()),
            reset_after: state.reset_after.map(|wait| wait.as_secs_f64()),
            reason: answer.reason.clone(),
            borrowed: answer.is_borrowed,
            which: answer.which.filter(|_| self.terms.terms.has_several_windows()),
        });
        self.last = Some(answer);
    }

    /// Lets the requests that were woken look again, at this instant.
    fn note_woken(&mut self, events: &mut EventQueue) {
        for n in self.woken.take() {
            events.add(self.clock.now_nanos(), super::events::Event::Look { side: self.place, n });
        }
    }

    /// Returns the key of the limiter for requests with `key`.
    fn limiter_key<'k>(&self, key: &'k str) -> &'k str {
        if self.terms.per_key { key } else { "" }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    fn totals(&self) -> Totals {
        let waiting = self.callers.len() as u64;
        Totals { granted: self.granted, refused: self.refused, waiting }
    }

    /// Returns the number of decisions so far.
    pub(super) fn decided(&self) -> u64 {
        self.decisions.pushed()
    }

    /// Returns the state, with the latest `most` of the decisions after the first `seen`; and the number of
    /// those that are left out.
    pub(super) fn frame(&self, seen: u64, most: usize) -> (SideFrame, u64) {
        let (decisions, dropped) = self.decisions.after(seen, most);
        let states = self.limiters.iter().map(|(key, limiter)| self.state(key, limiter));
        let states = states.chain(self.shares()).collect();
        let fields = self.last.as_ref().map(|answer| self.writer.write(answer));
        (SideFrame { decisions, totals: self.totals(), states, fields }, dropped)
    }

    /// Returns the state of each tenant's share, if the limiter has any.
    fn shares(&self) -> impl Iterator<Item = KeyState> {
        let now_nanos = self.clock.now_nanos();
        let share_of = move |tenant: &Arc<str>| {
            let AnyLimiter::Shares(shares) = &**self.limiters.get("")? else { return None };
            let state = State { shape: shares.share(tenant, now_nanos), line: Vec::new() };
            Some(KeyState { key: Some(tenant.to_string()), state })
        };
        self.tenants.iter().filter_map(share_of)
    }

    fn state(&self, key: &Arc<str>, limiter: &AnyLimiter) -> KeyState {
        let callers = self.callers.values().filter(|caller| caller.limiter == *key);
        let line = callers.map(Caller::shown).collect();
        let held = self.held.values().filter(|held| held.limiter == *key);
        let in_use = held.map(|held| InUse {
            key: held.request.key.to_string(),
            since: units::seconds(held.since_nanos),
            until: units::seconds(held.until_nanos),
            cost: held.request.cost,
        });
        let now_nanos = self.clock.now_nanos();
        let shape = limiter.shape(&self.terms.terms, now_nanos, in_use.collect());
        KeyState { key: (!key.is_empty()).then(|| key.to_string()), state: State { shape, line } }
    }
}
