//! The line by definition: a list of all that stand in it, and paces in whole units.

use super::*;

#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) id: usize,
    /// `TENANTS` for a caller that names none.
    pub(super) tenant: usize,
    slot: usize,
    priority: usize,
    permits: u64,
    /// Permits ahead of it in its lane when it came.
    behind: u64,
    /// Permits that each lane had been granted by then.
    granted: [[u64; 3]; SLOTS],
}

/// A span in which two wait: what each was granted in it less the other, in parts.
#[derive(Clone, Copy)]
struct Span {
    difference: i64,
    least: i64,
    most: i64,
}

#[derive(Default)]
pub(super) struct Ideal {
    places: usize,
    pub(super) of: Weights,
    pub(super) line: Vec<Standing>,
    pace: [u64; SLOTS],
    turn: [u64; SLOTS],
    lane_pace: [[u64; 3]; SLOTS],
    lane_now: [u64; SLOTS],
    now: u64,
    turns: u64,
    first: Option<usize>,
    /// Permits that there are.
    pub(super) pool: u64,
    pub(super) sizes: Vec<u64>,
    gone: Vec<usize>,
    /// Permits that each lane was granted in line, and the largest request of each slot.
    granted_lane: [[u64; 3]; SLOTS],
    largest: [u64; SLOTS],
    spans: [[Option<Span>; SLOTS]; SLOTS],
    /// The lowest weight that each slot has had, if weights were changed.
    lowest: Option<[u64; SLOTS]>,
    changes: u64,
}

impl Ideal {
    pub(super) fn new(places: usize, of: Weights) -> Ideal {
        Ideal { places, of, ..Ideal::default() }
    }

    fn waits(&self, slot: usize) -> bool {
        self.line.iter().any(|it| it.slot == slot)
    }

    fn weight(&self, slot: usize) -> u64 {
        weight_of(self.of, slot)
    }

    /// The slot of a tenant that comes to stand.
    fn slot(&self, tenant: usize) -> usize {
        let has_place = |slot: usize| self.waits(slot) || self.pace[slot] > self.now;
        if tenant == TENANTS || [1, 2].contains(&tenant) || has_place(tenant) {
            return tenant;
        }
        let is_stranger = self.line.iter().any(|it| it.tenant == tenant && it.slot == STRANGERS);
        let taken = [0, 3, 4].into_iter().filter(|slot| has_place(*slot)).count();
        if is_stranger || taken >= self.places { STRANGERS } else { tenant }
    }

    pub(super) fn stand(&mut self, id: usize, tenant: usize, priority: usize, permits: u64) {
        let slot = self.slot(tenant);
        self.turns += 1;
        if !self.waits(slot) {
            self.pace[slot] = up(self.pace[slot].max(self.now), PARTS / self.weight(slot));
            self.turn[slot] = self.turns;
            (self.lane_pace[slot], self.lane_now[slot]) = ([0; 3], 0);
        }
        let in_lane = |it: &&Standing| it.slot == slot && it.priority == priority;
        let behind = self.line.iter().filter(in_lane).map(|it| it.permits).sum();
        if behind == 0 {
            let pace = &mut self.lane_pace[slot][priority];
            *pace = up((*pace).max(self.lane_now[slot]), PARTS / OF_PRIORITIES[priority]);
        }
        self.largest[slot] = self.largest[slot].max(permits);
        let granted = self.granted_lane;
        self.line.push(Standing { id, tenant, slot, priority, permits, behind, granted });
        if self.first.is_none() {
            self.choose();
        }
        self.settle();
    }

    fn choose(&mut self) {
        self.first = None;
        if self.line.is_empty() {
            (self.pace, self.now) = ([0; SLOTS], 0);
            return;
        }
        let slots = (0..SLOTS).filter(|slot| self.waits(*slot));
        let slot = slots.min_by_key(|slot| (self.pace[*slot], self.turn[*slot])).unwrap();
        self.now = self.pace[slot];
        let lanes = self.line.iter().filter(|it| it.slot == slot).map(|it| it.priority);
        let lane = lanes.min_by_key(|lane| (self.lane_pace[slot][*lane], *lane)).unwrap();
        self.lane_now[slot] = self.lane_pace[slot][lane];
        let first = self.line.iter().find(|it| it.slot == slot && it.priority == lane);
        self.first = first.map(|it| it.id);
    }

    pub(super) fn leave(&mut self, id: usize) -> Option<Standing> {
        let at = self.line.iter().position(|it| it.id == id)?;
        let left = self.line.remove(at);
        if self.first == Some(id) {
            self.choose();
        }
        Some(left)
    }

    pub(super) fn settle(&mut self) {
        while let Some(id) = self.first {
            let first = self.line.iter().find(|it| it.id == id).unwrap().clone();
            if first.permits > self.pool {
                break;
            }
            self.pool -= first.permits;
            self.turns += 1;
            self.turn[first.slot] = self.turns;
            self.pace[first.slot] += first.permits * PARTS / self.weight(first.slot);
            self.lane_pace[first.slot][first.priority] +=
                first.permits * PARTS / OF_PRIORITIES[first.priority];
            self.note_grant(&first);
            self.leave(id);
            self.gone.push(id);
            self.sizes.push(first.permits);
        }
        self.note_waiting();
    }

    /// Checks what is promised of a grant, apart from the order of grants.
    fn note_grant(&mut self, first: &Standing) {
        self.note_waiting();
        let (slot, parts) = (first.slot, first.permits * PARTS / self.weight(first.slot));
        for other in 0..SLOTS {
            for (one, two, sign) in [(slot, other, 1), (other, slot, -1)] {
                let Some(span) = &mut self.spans[one][two] else { continue };
                span.difference += sign * parts as i64;
                span.least = span.least.min(span.difference);
                span.most = span.most.max(span.difference);
                let lowest = |slot| self.lowest.map_or(weight_of(self.of, slot), |of| of[slot]);
                // Each change rounds a pace up, by less than a permit.
                let most = |slot: usize| self.largest[slot] + self.changes;
                let bound = |slot| most(slot) * PARTS / lowest(slot);
                let bound = bound(one) + bound(two);
                assert!((span.most - span.least) as u64 <= bound, "the division");
            }
        }
        if self.lowest.is_some() {
            return;
        }
        let lane = first.priority;
        self.granted_lane[slot][lane] += first.permits;
        let all = |lanes: &[[u64; 3]; SLOTS], slot: usize| lanes[slot].iter().sum::<u64>();
        let ahead = all(&self.granted_lane, slot) - all(&first.granted, slot) - first.permits;
        let own = (ahead + self.largest[slot]) * PARTS / self.weight(slot);
        for other in (0..SLOTS).filter(|other| *other != slot) {
            let granted = all(&self.granted_lane, other) - all(&first.granted, other);
            let most = own + self.largest[other] * PARTS / self.weight(other);
            assert!(granted * PARTS / self.weight(other) <= most, "nobody starves");
        }
        let own = (first.behind + self.largest[slot]) * PARTS / OF_PRIORITIES[lane];
        for other in (0..3).filter(|other| *other != lane) {
            let granted = self.granted_lane[slot][other] - first.granted[slot][other];
            let parts = PARTS / OF_PRIORITIES[other];
            assert!(granted * parts <= own + self.largest[slot] * parts, "no priority starves");
        }
    }

    /// Begins spans of those that both wait, and ends others.
    fn note_waiting(&mut self) {
        let fresh = Span { difference: 0, least: 0, most: 0 };
        for one in 0..SLOTS {
            for two in 0..SLOTS {
                let both_wait = one != two && self.waits(one) && self.waits(two);
                let span = &mut self.spans[one][two];
                *span = both_wait.then(|| span.unwrap_or(fresh));
            }
        }
    }

    pub(super) fn reweigh(&mut self, of: Weights) {
        // Permits that were granted by other weights are compared with nothing.
        self.spans = [[None; SLOTS]; SLOTS];
        let before = self.lowest.unwrap_or(std::array::from_fn(|slot| self.weight(slot)));
        self.of = of;
        self.changes += 1;
        self.lowest = Some(std::array::from_fn(|slot| before[slot].min(self.weight(slot))));
        for slot in 0..SLOTS {
            // One that is not ahead is as one that never came.
            let is_ahead = self.waits(slot) || self.pace[slot] > self.now;
            let pace = if is_ahead { self.pace[slot] } else { 0 };
            self.pace[slot] = up(pace, PARTS / self.weight(slot));
        }
        self.choose();
        self.settle();
    }
}

/// Rounds `parts` up to a multiple of `step`.
fn up(parts: u64, step: u64) -> u64 {
    parts.div_ceil(step) * step
}
