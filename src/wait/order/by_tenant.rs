//! The order of a line that is divided among tenants by weight: the caller that is the first, and the proof of the
//! division. No atomics here, and no clock.
//!
//! Each tenant in line has a **pace**: the permits that it was granted in line, divided by its weight. **Now** is the
//! pace of the tenant whose caller is the first in line.
//!
//! ```text
//! stand    a tenant that has nobody in line: its pace becomes the higher of its pace and now, rounded up
//!          to a permit's part
//! next     when the first leaves: the tenant with the lowest pace, of equal ones that whose last turn is
//!          longest ago; now becomes its pace
//! grant    of n permits: its pace rises by n / weight
//! leave    without a grant: nothing but that its place in the lane is free
//! ```
//!
//! A tenant has three lanes, one for each priority. The same rules, with the weights of the priorities, choose the
//! lane; in a lane the oldest is the first. (This is start-time fair queueing, with tags for the tenants and not for
//! the callers, so that who leaves has not been charged. Deficit round robin does the same in rounds of a quantum.)
//!
//! The first stays the first until it is granted its permits or leaves: whoever comes has a pace that is no lower.
//!
//! Below, `w` is a tenant's weight, and `m` its largest request, or 1 if that is more.
//!
//! **Lemma.** Now never falls while anybody stands in line. The pace of a tenant in line is from now to now + m / w.
//!
//! *Proof.* A tenant comes with a pace of now or more, and no pace falls below now; so the lowest pace, which is the next
//! now, is no lower. The pace rises only by a grant to the first in line, from now to now + n / w; and when its tenant comes,
//! by being rounded up, to less than now + 1 / w. From then on now does not fall. ∎
//!
//! **Theorem (division).** While two tenants both have callers in line, the permits that they are granted in line, each
//! divided by the tenant's weight, differ by at most m / w of the one plus m / w of the other.
//!
//! *Proof.* As long as a tenant stays in line its pace changes by grants only, so these are the difference of its pace at
//! the end and at the beginning. At both times the difference between the two tenants' paces is from -m / w of the
//! one to m / w of the other, by the lemma. ∎
//!
//! **Theorem (nobody starves).** Let a caller come to stand behind `a` permits of its own lane, in a line in which no tenant has
//! another priority. Until it is granted its own, each other place is granted at most `w' (a + m) / w + m'` permits, where
//! `w'` and `m'` are those of the place.
//!
//! *Proof.* The caller is granted its permits when its tenant, whose pace was at most now + m / w, has risen by a / w. So
//! now rises by at most (a + m) / w until then. Another place is granted its first permits at a pace of now or more, and each
//! before the last leaves it at a pace that is no more than now is in the end: so all but the last together are at most
//! w' (a + m) / w. ∎
//!
//! The number of places is bounded. A place is given to another tenant once its pace is not above now, so that the tenant that
//! takes it begins where the other one could have gone on: the proof holds for places as it does for tenants. (If a tenant that
//! comes for the first time found a place in any case, a stream of new tenants would stay at now, and the others above it would
//! wait for ever.) With priorities, the same theorem for the lanes of a tenant bounds what the tenant is granted before the
//! caller, and that takes the place of `a`.
//!
//! **A change of the weights** keeps paces, rounded up by less than a permit's part. From then on the lemma has, for each tenant,
//! the lowest weight that it has had, and `m` and a permit for each change; once now has passed a pace, it is as before.
//!
//! **Nobody is charged for nothing.** A pace rises by grants only. Permits that come back because their caller was not told of
//! them lower it again, though not below now: others may have had their turns in between.
//!
//! **First come, first served within a lane.** A tenant that finds no place stands among the strangers, and all that it
//! has in line does, until none of its callers stands there any more.

mod changes;
mod foresee;
mod pace;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use std::collections::HashMap;

use slab::Slab;

use crate::wait::lane::{Lane, PRIORITIES};
use crate::wait::line_weights::LineWeights;

use self::pace::Pace;
use super::{KEPT, Place};

/// The tenants in line, and those that are ahead of the others.
#[derive(Debug)]
pub(crate) struct ByTenant {
    weights: LineWeights,
    slots: Slab<Slot>,
    /// The slots of tenants, by fingerprint.
    known: HashMap<u64, usize>,
    /// Tenants that stand among the strangers, and the number of their callers there.
    strangers: HashMap<u64, usize>,
    /// Number of slots of tenants that have no weight of their own.
    unnamed: usize,
    /// The tenants that have callers in line.
    in_line: BTreeSet<Rank>,
    /// The tenants that have none, and whose pace is above now.
    ahead: BTreeSet<Rank>,
    /// The weights of all in line.
    weight: u64,
    /// The callers in line, by the indices of their places.
    steps: Vec<Step>,
    now: Pace,
    first: Option<Place>,
    /// Number of turns that tenants have had, or waited for.
    turns: u64,
}

/// A place for a tenant: its pace, and its callers.
#[derive(Debug)]
struct Slot {
    /// `None` for the strangers.
    tenant: Option<u64>,
    weight: u32,
    pace: Pace,
    /// The number of its last turn.
    turn: u64,
    waiters: usize,
    permits: u64,
    lanes: [LaneState; PRIORITIES],
    /// The pace of the lane that had the last turn.
    now: Pace,
}

#[derive(Clone, Copy, Debug)]
struct LaneState {
    pace: Pace,
    first: Option<Place>,
    last: Option<Place>,
    /// The permits of all that have stood here and not left without a grant; modulo 2^64.
    end: u64,
}

/// A caller in its lane.
#[derive(Clone, Copy, Debug)]
struct Step {
    slot: usize,
    lane: Lane,
    permits: u64,
    /// The permits of its lane up to this one, as in `LaneState`.
    end: u64,
    before: Option<Place>,
    after: Option<Place>,
}

/// The rank of a tenant: its pace, its last turn, its slot.
type Rank = (Pace, u64, usize);

/// The slot of all that find none.
const STRANGERS: usize = 0;

impl Slot {
    fn new(tenant: Option<u64>, weights: &LineWeights) -> Slot {
        let weight = weights.weight_of(tenant);
        Slot {
            tenant,
            weight,
            pace: Pace::ZERO.rounded_up(weight),
            turn: 0,
            waiters: 0,
            permits: 0,
            lanes: LaneState::all(weights),
            now: Pace::ZERO,
        }
    }

    fn rank(&self, index: usize) -> Rank {
        (self.pace, self.turn, index)
    }

    /// Returns the lane that is next.
    fn next_lane(&mut self) -> Option<LaneState> {
        let in_line = self.lanes.iter().filter(|lane| lane.first.is_some());
        let lane = in_line.min_by_key(|lane| lane.pace).copied();
        self.now = lane.map_or(self.now, |lane| lane.pace);
        lane
    }
}

impl LaneState {
    fn all(weights: &LineWeights) -> [LaneState; PRIORITIES] {
        weights.priorities.map(|weight| LaneState {
            pace: Pace::ZERO.rounded_up(weight),
            first: None,
            last: None,
            end: 0,
        })
    }
}

impl ByTenant {
    /// Returns the order of an empty line. The weights have been checked.
    pub(super) fn new(weights: LineWeights) -> ByTenant {
        let mut order = ByTenant {
            weights,
            slots: Slab::new(),
            known: HashMap::new(),
            strangers: HashMap::new(),
            unnamed: 0,
            in_line: BTreeSet::new(),
            ahead: BTreeSet::new(),
            weight: 0,
            steps: Vec::new(),
            now: Pace::ZERO,
            first: None,
            turns: 0,
        };
        order.begin_anew();
        order
    }

    pub(super) fn first(&self) -> Option<Place> {
        self.first
    }

    /// Puts a caller, which has come to `place`, at the end of its lane.
    pub(super) fn stand(&mut self, place: Place, permits: u64, lane: Lane) {
        let index = self.slot_for(lane.tenant);
        self.turns += 1;
        let slot = &mut self.slots[index];
        if slot.waiters == 0 {
            self.ahead.remove(&slot.rank(index));
            slot.pace = slot.pace.max(self.now.rounded_up(slot.weight));
            slot.turn = self.turns;
            self.in_line.insert(slot.rank(index));
            self.weight += u64::from(slot.weight);
        }
        slot.waiters += 1;
        slot.permits = slot.permits.saturating_add(permits);
        let state = &mut slot.lanes[lane.priority as usize];
        if state.first.is_none() {
            let weight = self.weights.priorities[lane.priority as usize];
            state.pace = state.pace.max(slot.now.rounded_up(weight));
            state.first = Some(place);
        }
        state.end = state.end.wrapping_add(permits);
        let before = state.last.replace(place);
        let step = Step { slot: index, lane, permits, end: state.end, before, after: None };
        if let Some(before) = before {
            self.steps[before.index()].after = Some(place);
        }
        if place.index() >= self.steps.len() {
            self.steps.resize(place.index() + 1, step);
        }
        self.steps[place.index()] = step;
        if self.first.is_none() {
            self.choose();
        }
    }

    /// Charges the tenant of the first in line, which is granted its permits and then leaves.
    pub(super) fn charge(&mut self, first: Place) {
        let Step { slot: index, lane, permits, .. } = self.steps[first.index()];
        self.turns += 1;
        let slot = &mut self.slots[index];
        self.in_line.remove(&slot.rank(index));
        slot.pace = slot.pace.plus(permits);
        slot.turn = self.turns;
        self.in_line.insert(slot.rank(index));
        let state = &mut slot.lanes[lane.priority as usize];
        state.pace = state.pace.plus(permits);
    }

    /// Takes a caller out of its lane. Takes as many steps as there are callers behind it there, unless it is the
    /// first of them.
    pub(super) fn leave(&mut self, place: Place) {
        let Step { slot: index, lane, permits, before, after, .. } = self.steps[place.index()];
        let slot = &mut self.slots[index];
        let state = &mut slot.lanes[lane.priority as usize];
        match before {
            Some(before) => self.steps[before.index()].after = after,
            None => state.first = after,
        }
        match after {
            Some(after) => self.steps[after.index()].before = before,
            None => state.last = before,
        }
        if before.is_some() {
            // Those behind it have less ahead of them.
            state.end = state.end.wrapping_sub(permits);
            let mut next = after;
            while let Some(behind) = next {
                let step = &mut self.steps[behind.index()];
                step.end = step.end.wrapping_sub(permits);
                next = step.after;
            }
        }
        slot.waiters -= 1;
        // Not less than 0, also where the sum was too large.
        slot.permits = slot.permits.saturating_sub(permits);
        if index == STRANGERS {
            self.forget_stranger(lane);
        }
        if self.slots[index].waiters == 0 {
            self.leave_line(index);
        }
        if self.first == Some(place) {
            self.choose();
        }
    }

    /// Returns the slot of a tenant that comes to stand: its own, a new one, or that of the strangers.
    fn slot_for(&mut self, tenant: Option<u64>) -> usize {
        let Some(tenant) = tenant else { return STRANGERS };
        if let Some(index) = self.known.get(&tenant) {
            return *index;
        }
        if !self.finds_place(tenant) {
            *self.strangers.entry(tenant).or_insert(0) += 1;
            return STRANGERS;
        }
        self.unnamed += usize::from(is_unnamed(&self.weights, Some(tenant)));
        let index = self.slots.insert(Slot::new(Some(tenant), &self.weights));
        self.known.insert(tenant, index);
        index
    }

    fn forget_stranger(&mut self, lane: Lane) {
        let Some(tenant) = lane.tenant else { return };
        let Some(waiters) = self.strangers.get_mut(&tenant) else { return };
        *waiters -= 1;
        if *waiters == 0 {
            self.strangers.remove(&tenant);
        }
    }

    /// Notes that a tenant has nobody in line any more.
    fn leave_line(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        self.in_line.remove(&slot.rank(index));
        self.weight -= u64::from(slot.weight);
        slot.lanes = LaneState::all(&self.weights);
        slot.now = Pace::ZERO;
        self.keep_if_ahead(index);
    }

    /// Keeps the slot of a tenant that has nobody in line only if its pace is above now.
    fn keep_if_ahead(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.pace > self.now {
            self.ahead.insert(slot.rank(index));
        } else if let Some(tenant) = slot.tenant {
            self.unnamed -= usize::from(is_unnamed(&self.weights, Some(tenant)));
            self.known.remove(&tenant);
            self.slots.remove(index);
        } else {
            slot.pace = Pace::ZERO.rounded_up(slot.weight);
        }
    }

    /// Chooses the first in line, and frees the places of those that are not ahead of it.
    fn choose(&mut self) {
        let Some(&(pace, _, index)) = self.in_line.first() else { return self.begin_anew() };
        self.now = pace;
        self.first = self.slots[index].next_lane().and_then(|lane| lane.first);
        while let Some(&(pace, _, index)) = self.ahead.first()
            && pace <= self.now
        {
            self.ahead.pop_first();
            self.keep_if_ahead(index);
        }
    }

    /// Forgets all, as nobody is left in line: there was enough for everybody.
    fn begin_anew(&mut self) {
        let is_large = self.slots.capacity() > KEPT;
        self.slots.clear();
        self.known.clear();
        self.ahead.clear();
        if is_large {
            (self.slots, self.known, self.strangers) = Default::default();
            self.steps = Vec::new();
        }
        (self.unnamed, self.turns, self.now, self.first) = (0, 0, Pace::ZERO, None);
        self.slots.insert(Slot::new(None, &self.weights));
    }
}

/// Returns whether a tenant takes one of the places for those without a weight of their own.
fn is_unnamed(weights: &LineWeights, tenant: Option<u64>) -> bool {
    tenant.is_some_and(|tenant| weights.own_weight(tenant).is_none())
}

#[cfg(test)]
mod tests;
