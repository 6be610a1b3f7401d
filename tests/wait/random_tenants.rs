//! Random callers of tenants in a divided line, each history compared with the line by definition: a list of all that
//! stand there, and paces in whole units, of tenants that are never forgotten.
//!
//! * Each is granted its permits when the definition says, and is woken for it; so is everybody refused by a close.
//! * Between two tenants, and between two priorities of one, the division holds in every span in which both wait.
//! * Nobody starves: what others are granted before a caller is bounded as `Tenant` says.

mod ideal;

use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::wait::{AcquireError, LinePriority, LineWeights, Queued};
use sluicegate::{Denied, Grant, Limiter, Wait};

use super::support::Caller;

use self::ideal::Ideal;

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
    let mut ideal = Ideal::new(places, of);
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
