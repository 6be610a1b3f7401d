//! A line that is divided among tenants by weight: who is the first. Each call locks the line, so a call is one step; a
//! model explores every order of a few callers that come, leave and are granted permits, which come one with each tick.
//!
//! A tenant has a *pace*: what it was granted in line, divided by its weight. *Now* is the pace of the tenant whose caller
//! is the first.
//!
//! * Who stands has a place for its tenant, or stands among the strangers, which are one tenant. A tenant keeps its place
//!   while it has callers in line, and while its pace is above now.
//! * A tenant that comes begins at its pace, or at now if that is more, rounded up to a permit divided by its weight.
//! * When the first leaves, the next is of the tenant with the lowest pace, of equal ones of that whose turn is longest ago; it
//!   is the oldest of its tenant.
//! * A grant raises the pace of the tenant. Nothing else does, but coming.
//! * When nobody is left, all is forgotten.
//!
//! Stated of every state: while two tenants both wait, what they are granted, each divided by its weight, differs by at most a
//! largest request of the one and one of the other; what others are granted before a caller is bounded by what stood ahead of it in its
//! own tenant, with a largest request of each; callers of a tenant are granted their permits in the order in which they came;
//! nobody that could have its permits is left first in line; somebody is the first if anybody waits.
//!
//! Left out: priorities, which are the same rules within a tenant; changes of weights; permits that come back. Those are in
//! `tests/wait/random_tenants.rs` and the unit tests of `src/wait/order/by_tenant.rs`. Weights divide the parts of a permit, so nothing
//! else is rounded.
//!
//! | mutant             | what it drops                                          | what goes wrong |
//! |--------------------|--------------------------------------------------------|-----------------|
//! | `BeginsAtOwnPace`  | that a tenant begins at now                            | one that was idle makes the others wait |
//! | `ForgetsAtOnce`    | that a tenant which is ahead is remembered             | one caller after the other gets more than its part |
//! | `PlaceForAll`      | the bound of places                                    | a stream of new tenants makes one wait |
//! | `ChargesWhoStands` | that only a grant raises the pace                      | who leaves was charged: the division |
//! | `LeavesFirst`      | that the next is chosen when the first leaves          | nobody is the first |
//! | `ServesWhoFits`    | that only the first is served                          | a small request passes a large one: the division |
//! | `NewestOfTenant`   | that the oldest of a tenant is its first               | the order |
//! | `IgnoresWeight`    | the weight                                             | the division |
//! | `ChargesCalls`     | that a pace counts permits                             | large requests get more |
//! | `StaysWithTenant`  | that the next tenant is that of the lowest pace        | the division |
//! | `StrangersMove`    | that a tenant stays among the strangers while it waits there | the order |

use crate::explore::{CLOCK, Found, Model};

#[path = "tenants/beside.rs"]
mod beside;
#[path = "tenants/checks.rs"]
mod checks;

const THREADS: usize = 4;
const TENANTS: usize = 4;
const STRANGERS: usize = TENANTS;
const SLOTS: usize = TENANTS + 1;
/// Parts of a permit.
const PARTS: i16 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    BeginsAtOwnPace,
    ForgetsAtOnce,
    PlaceForAll,
    ChargesWhoStands,
    LeavesFirst,
    ServesWhoFits,
    NewestOfTenant,
    IgnoresWeight,
    ChargesCalls,
    StaysWithTenant,
    StrangersMove,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Call {
    tenant: usize,
    permits: i16,
    may_leave: bool,
}

#[derive(Clone, Debug)]
struct Tenants {
    /// The weights of tenants; strangers have 1.
    weights: [i16; TENANTS],
    places: usize,
    /// Permits that come, one after the other.
    run: u8,
    /// Each thread waits for some, one after the other.
    calls: Vec<Vec<Call>>,
    mutant: Option<Mutant>,
}

/// A caller in line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waits {
    who: usize,
    tenant: usize,
    slot: usize,
    permits: i16,
    /// Permits ahead of it in its slot, and granted to each slot, when it came.
    behind: i16,
    granted: [i16; SLOTS],
}

/// Permits that two were granted while both waited, the one less the other in parts: now, at least, at most.
type Span = Option<(i16, i16, i16)>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: u8,
    pool: i16,
    /// In the order in which they came.
    line: Vec<Waits>,
    first: Option<usize>,
    now: i16,
    pace: [i16; SLOTS],
    /// The slots, that with the latest turn last.
    turns: [usize; SLOTS],
    /// The calls that each thread has made.
    calls: [u8; THREADS],
    /// The truth.
    granted: [i16; SLOTS],
    spans: [[Span; SLOTS]; SLOTS],
}

impl State {
    fn waits(&self, slot: usize) -> bool {
        self.line.iter().any(|it| it.slot == slot)
    }

    fn has_turn(&mut self, slot: usize) {
        let at = self.turns.iter().position(|other| *other == slot).unwrap_or(0);
        self.turns[at..].rotate_left(1);
    }

    /// Begins spans of those that both wait, and ends others.
    fn note_waiting(&mut self) {
        for one in 0..SLOTS {
            for two in one + 1..SLOTS {
                let both_wait = self.waits(one) && self.waits(two);
                let span = &mut self.spans[one][two];
                *span = both_wait.then(|| span.unwrap_or((0, 0, 0)));
            }
        }
    }
}

impl Model for Tenants {
    type State = State;

    fn start(&self) -> State {
        State {
            clock: 0,
            pool: 0,
            line: Vec::new(),
            first: None,
            now: 0,
            pace: [0; SLOTS],
            turns: std::array::from_fn(|slot| slot),
            calls: [0; THREADS],
            granted: [0; SLOTS],
            spans: [[None; SLOTS]; SLOTS],
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run && !state.line.is_empty() {
            let mut next = state.clone();
            (next.clock, next.pool) = (next.clock + 1, next.pool + 1);
            self.settle(found, CLOCK, "a permit comes", next);
        }
        for (who, calls) in self.calls.iter().enumerate() {
            let Some(&call) = calls.get(usize::from(state.calls[who])) else { continue };
            let mut next = state.clone();
            if state.line.iter().any(|it| it.who == who) {
                if call.may_leave {
                    next.calls[who] += 1;
                    self.leave(&mut next, who);
                    found.counts.given_back += 1;
                    self.settle(found, who, "leaves", next);
                }
            } else {
                self.stand(&mut next, who, call);
                self.settle(found, who, "stands", next);
            }
        }
    }

    fn is_done(&self, _: &State) -> bool {
        // Those that wait when no more permits come.
        true
    }
}

impl Tenants {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn weight(&self, slot: usize) -> i16 {
        self.weights.get(slot).copied().unwrap_or(1)
    }

    /// The permits of a call, in parts for its weight.
    fn parts(&self, slot: usize, permits: i16) -> i16 {
        permits * PARTS / self.weight(slot)
    }

    fn rises(&self, slot: usize, permits: i16) -> i16 {
        match self.mutant {
            Some(Mutant::IgnoresWeight) => permits * PARTS,
            Some(Mutant::ChargesCalls) => self.parts(slot, 2),
            _ => self.parts(slot, permits),
        }
    }

    /// The largest request of a tenant, or of any stranger, in parts.
    fn largest(&self, slot: usize) -> i16 {
        let of = |call: &&Call| slot == STRANGERS || call.tenant == slot;
        let sizes = self.calls.iter().flatten().filter(of).map(|call| call.permits);
        self.parts(slot, sizes.max().unwrap_or(0))
    }

    fn slot(&self, state: &State, tenant: usize) -> usize {
        let has_place = |slot: usize| state.waits(slot) || state.pace[slot] > state.now;
        let stranger = |it: &Waits| it.tenant == tenant && it.slot == STRANGERS;
        if state.line.iter().any(stranger) && !self.is(Mutant::StrangersMove) {
            return STRANGERS;
        }
        let taken = (0..TENANTS).filter(|slot| has_place(*slot)).count();
        let is_free = taken < self.places || self.is(Mutant::PlaceForAll);
        if has_place(tenant) || is_free { tenant } else { STRANGERS }
    }

    fn stand(&self, state: &mut State, who: usize, Call { tenant, permits, .. }: Call) {
        let slot = self.slot(state, tenant);
        if !state.waits(slot) {
            if !self.is(Mutant::BeginsAtOwnPace) {
                let (pace, part) = (state.pace[slot].max(state.now), self.parts(slot, 1));
                state.pace[slot] = (pace + part - 1) / part * part;
            }
            state.has_turn(slot);
        }
        if self.is(Mutant::ChargesWhoStands) {
            state.pace[slot] += self.rises(slot, permits);
        }
        let behind = state.line.iter().filter(|it| it.slot == slot).map(|it| it.permits).sum();
        let granted = state.granted;
        state.line.push(Waits { who, tenant, slot, permits, behind, granted });
        if state.first.is_none() {
            self.choose(state, None);
        }
        state.note_waiting();
    }

    fn choose(&self, state: &mut State, before: Option<usize>) {
        if state.line.is_empty() {
            (state.pace, state.now, state.first) = ([0; SLOTS], 0, None);
            state.turns = std::array::from_fn(|slot| slot);
            return;
        }
        let waiting = state.turns.into_iter().filter(|slot| state.waits(*slot));
        // Of equal ones the first.
        let lowest = waiting.min_by_key(|slot| state.pace[*slot]).unwrap_or(STRANGERS);
        let stays = before.filter(|slot| self.is(Mutant::StaysWithTenant) && state.waits(*slot));
        let slot = stays.unwrap_or(lowest);
        state.now = state.pace[slot];
        let mut of_slot = state.line.iter().filter(|it| it.slot == slot);
        let first =
            if self.is(Mutant::NewestOfTenant) { of_slot.next_back() } else { of_slot.next() };
        state.first = first.map(|it| it.who);
        // One that is not ahead is as one that never came.
        for slot in 0..SLOTS {
            if !state.waits(slot) && state.pace[slot] <= state.now {
                state.pace[slot] =
                    if self.is(Mutant::BeginsAtOwnPace) { state.pace[slot] } else { 0 };
            }
        }
    }

    fn leave(&self, state: &mut State, who: usize) {
        let Some(at) = state.line.iter().position(|it| it.who == who) else { return };
        let left = state.line.remove(at);
        if self.is(Mutant::ForgetsAtOnce) && !state.waits(left.slot) {
            state.pace[left.slot] = 0;
        }
        if state.first == Some(who) {
            state.first = None;
            if !self.is(Mutant::LeavesFirst) || state.line.is_empty() {
                self.choose(state, Some(left.slot));
            }
        }
        state.note_waiting();
    }

    /// Grants the first its permits while they are there, and adds the step.
    fn settle(&self, found: &mut Found<State>, who: usize, what: &'static str, mut state: State) {
        let mut fault = None;
        while let Some(first) = self.next(&state) {
            let it = state.line[first];
            state.pool -= it.permits;
            let is_charged = !self.is(Mutant::ChargesWhoStands);
            state.pace[it.slot] += if is_charged { self.rises(it.slot, it.permits) } else { 0 };
            state.has_turn(it.slot);
            state.granted[it.slot] += it.permits;
            found.counts.grants += 1;
            fault = fault.or(self.fault_of(&mut state, &it));
            state.calls[it.who] += 1;
            self.leave(&mut state, it.who);
        }
        if state.first.is_none() && !state.line.is_empty() {
            fault = fault.or(Some("nobody is the first"));
        }
        found.add(who, what, state, fault.map(str::to_owned));
    }

    /// The place of the caller that is granted its permits next.
    fn next(&self, state: &State) -> Option<usize> {
        let is_first = |it: &Waits| Some(it.who) == state.first;
        let fits = |it: &Waits| it.permits <= state.pool;
        if self.is(Mutant::ServesWhoFits) {
            return state.line.iter().position(fits);
        }
        state.line.iter().position(|it| is_first(it) && fits(it))
    }

    /// Returns the fault of a grant to `it`, which is still in line.
    fn fault_of(&self, state: &mut State, it: &Waits) -> Option<&'static str> {
        let slot = it.slot;
        let parts = self.parts(slot, it.permits);
        let is_older = |other: &Waits| other.tenant == it.tenant && other.who != it.who;
        let at = state.line.iter().position(|other| other.who == it.who).unwrap_or(0);
        if state.line[..at].iter().any(is_older) {
            return Some("a tenant's callers in another order");
        }
        for other in (0..SLOTS).filter(|other| *other != slot) {
            let (one, two) = (slot.min(other), slot.max(other));
            if let Some((difference, least, most)) = &mut state.spans[one][two] {
                *difference += if slot == one { parts } else { -parts };
                *least = (*difference).min(*least);
                *most = (*difference).max(*most);
                if *most - *least > self.largest(one) + self.largest(two) {
                    return Some("the division");
                }
            }
            let granted = self.parts(other, state.granted[other] - it.granted[other]);
            if granted > self.parts(slot, it.behind) + self.largest(slot) + self.largest(other) {
                return Some("others were granted too much before it");
            }
        }
        let all: i16 = (0..SLOTS).map(|slot| state.granted[slot] - it.granted[slot]).sum();
        (all - it.permits > self.most_before(it)).then_some("it waited for too many")
    }

    /// The most permits that all others are granted before a caller: of as many others as there are places.
    fn most_before(&self, it: &Waits) -> i16 {
        let own = self.parts(it.slot, it.behind) + self.largest(it.slot);
        let of = |slot: usize| (own + self.largest(slot)) * self.weight(slot) / PARTS;
        let mut others: Vec<i16> = (0..TENANTS).filter(|slot| *slot != it.slot).map(of).collect();
        others.sort_unstable_by(|one, other| other.cmp(one));
        let places = self.places - usize::from(it.slot != STRANGERS).min(self.places);
        let strangers = if it.slot == STRANGERS { 0 } else { of(STRANGERS) };
        it.behind + others.iter().take(places).sum::<i16>() + strangers
    }
}
