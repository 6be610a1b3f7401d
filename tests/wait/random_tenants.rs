//! Random callers of tenants in a divided line, each history compared with the line by definition: a list of all that
//! stand there, and paces in whole units, of tenants that are never forgotten.
//!
//! * Each is granted its permits when the definition says, and is woken for it; so is everybody refused by a close.
//! * Between two tenants, and between two priorities of one, the division holds in every span in which both wait.
//! * Nobody starves: what others are granted before a caller is bounded as `Tenant` says.

use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::wait::{AcquireError, LinePriority, LineWeights, Queued};
use sluicegate::{Denied, Grant, Limiter, Wait};

use super::support::Caller;

const TENANTS: usize = 5;
/// The slot of those that have no place.
const STRANGERS: usize = TENANTS;
const SLOTS: usize = TENANTS + 1;
const MOST: u64 = 8;
/// Parts of a permit: a multiple of each weight.
const PARTS: u64 = 60;
const PRIORITIES: [LinePriority; 3] = [LinePriority::High, LinePriority::Normal, LinePriority::Low];
const OF_PRIORITIES: [u64; 3] = [6, 3, 1];

type Weights = [u32; TENANTS];

/// Tenants 1 and 2 have weights of their own.
fn weights(places: usize, of: Weights) -> LineWeights {
    let weights = LineWeights::new(places).default_weight(of[0]);
    weights
        .weight(&1_usize, of[1])
        .weight(&2_usize, of[2])
        .priorities(OF_PRIORITIES.map(|weight| weight as u32))
}

fn weight_of(of: Weights, slot: usize) -> u64 {
    let is_named = [1, 2].contains(&slot);
    u64::from(if is_named { of[slot] } else { of[0] })
}

#[derive(Clone, Debug)]
struct Standing {
    id: usize,
    /// `TENANTS` for a caller that names none.
    tenant: usize,
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
struct Ideal {
    places: usize,
    of: Weights,
    line: Vec<Standing>,
    pace: [u64; SLOTS],
    turn: [u64; SLOTS],
    lane_pace: [[u64; 3]; SLOTS],
    lane_now: [u64; SLOTS],
    now: u64,
    turns: u64,
    first: Option<usize>,
    /// Permits that there are.
    pool: u64,
    sizes: Vec<u64>,
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

    fn stand(&mut self, id: usize, tenant: usize, priority: usize, permits: u64) {
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

    fn leave(&mut self, id: usize) -> Option<Standing> {
        let at = self.line.iter().position(|it| it.id == id)?;
        let left = self.line.remove(at);
        if self.first == Some(id) {
            self.choose();
        }
        Some(left)
    }

    fn settle(&mut self) {
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

    fn reweigh(&mut self, of: Weights) {
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

/// Permits that come when the test says. Notes the sizes of all that it grants.
#[derive(Default)]
struct Pool(Mutex<(u64, Vec<u64>)>);

impl Limiter for Pool {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        let mut pool = self.0.lock().unwrap();
        let (left, sizes) = &mut *pool;
        let denied = Denied::Full { retry_after: Duration::ZERO };
        *left = left.checked_sub(permits).ok_or(denied)?;
        sizes.push(permits);
        sluicegate::compose::Unlimited.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        if self.0.lock().unwrap().0 < permits {
            return Err(Denied::Full { retry_after: Duration::ZERO });
        }
        sluicegate::compose::Unlimited.try_acquire(permits)
    }

    fn reset(&self) {}
}

#[derive(Clone, Debug)]
enum Op {
    Stand { tenant: usize, priority: usize, permits: u64 },
    Leave(usize),
    Add(u64),
    Try(u64),
    Reweigh(Weights),
}

fn of() -> impl Strategy<Value = Weights> {
    prop::array::uniform5(1..=6_u32)
}

fn ops(priorities: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => (0..=TENANTS, 0..priorities, 1..=MOST)
            .prop_map(|(tenant, priority, permits)| Op::Stand { tenant, priority, permits }),
        3 => (0..16_usize).prop_map(Op::Leave),
        9 => (1..=2 * MOST).prop_map(Op::Add),
        1 => (1..=MOST).prop_map(Op::Try),
        1 => of().prop_map(Op::Reweigh),
    ];
    prop::collection::vec(op, 1..120)
}

struct InLine<'a> {
    id: usize,
    caller: Caller<'a>,
    /// Number of times that it had been woken when it last asked.
    woken: usize,
}

fn run(places: usize, of: Weights, ops: Vec<Op>) {
    let line = Queued::new(Pool::default()).with_weights(weights(places, of)).unwrap();
    let tenants = std::array::from_fn::<_, TENANTS, _>(|tenant| {
        PRIORITIES.map(|priority| line.tenant(&tenant).with_priority(priority))
    });
    let mut ideal = Ideal { places, of, ..Ideal::default() };
    let mut callers: Vec<InLine<'_>> = Vec::new();
    let mut told: Vec<usize> = Vec::new();
    for (id, op) in ops.into_iter().enumerate() {
        match op {
            Op::Stand { tenant, priority, permits } => {
                let (caller, priority) = match tenants.get(tenant) {
                    Some(tenant) => (Caller::new(&tenant[priority], permits), priority),
                    None => (Caller::new(&line, permits), 1),
                };
                if ideal.line.is_empty() && ideal.pool >= permits {
                    // No turn in line.
                    ideal.pool -= permits;
                    ideal.sizes.push(permits);
                    assert!(caller.was_told());
                    continue;
                }
                ideal.stand(id, tenant, priority, permits);
                callers.push(InLine { id, caller, woken: 0 });
            }
            Op::Leave(which) if which < callers.len() => {
                let gone = callers.remove(which);
                drop(gone.caller);
                ideal.leave(gone.id);
                ideal.settle();
            }
            Op::Leave(_) => {}
            Op::Add(permits) => {
                line.update(|pool| pool.0.lock().unwrap().0 += permits);
                ideal.pool += permits;
                ideal.settle();
            }
            Op::Try(permits) => {
                let is_granted = ideal.line.is_empty() && ideal.pool >= permits;
                assert_eq!(tenants[0][0].try_acquire(permits).is_ok(), is_granted);
                if is_granted {
                    ideal.pool -= permits;
                    ideal.sizes.push(permits);
                }
            }
            Op::Reweigh(of) => {
                line.set_weights(weights(places, of)).unwrap();
                ideal.reweigh(of);
            }
        }
        // Only those that were woken, or told at once, know anything.
        callers.retain_mut(|it| {
            let is_awake = it.caller.was_told() || it.caller.woken() > it.woken;
            it.woken = it.caller.woken();
            let is_told = is_awake && it.caller.is_granted();
            told.extend(is_told.then_some(it.id));
            !is_told
        });
        let waiting: Vec<usize> = callers.iter().map(|it| it.id).collect();
        let ideally: Vec<usize> = ideal.line.iter().map(|it| it.id).collect();
        assert_eq!(waiting, ideally, "the others are in line");
        for (tenant, handles) in tenants.iter().enumerate() {
            let waiters = ideal.line.iter().filter(|it| it.tenant == tenant).count();
            assert_eq!(handles[0].waiters(), waiters);
        }
        assert_eq!(line.limiter().0.lock().unwrap().clone(), (ideal.pool, ideal.sizes.clone()));
    }
    line.line().close();
    assert_eq!(line.line().waiters(), 0);
    for mut it in callers {
        assert!(it.caller.woken() > it.woken);
        assert_eq!(it.caller.error(), Some(AcquireError::Closed));
    }
    assert_eq!(line.limiter().0.lock().unwrap().0, ideal.pool);
}

proptest! {
    #[test]
    fn tenants_are_granted_permits_as_the_divided_line_is_defined(
        places in 0..=4_usize,
        of in of(),
        ops in ops(1),
    ) {
        run(places, of, ops);
    }

    #[test]
    fn priorities_of_tenants_are_granted_permits_as_the_divided_line_is_defined(
        places in 0..=4_usize,
        of in of(),
        ops in ops(3),
    ) {
        run(places, of, ops);
    }
}
