//! The order alone: the lemma in every state of random histories, and what is kept.

use proptest::prelude::*;

use super::*;
use crate::wait::lane::LinePriority;

const TENANTS: u64 = 5;
const PRIORITIES: [LinePriority; 3] = [LinePriority::High, LinePriority::Normal, LinePriority::Low];

#[derive(Clone, Debug)]
enum Op {
    Stand { tenant: u64, priority: usize, permits: u64 },
    Grant,
    Leave(usize),
    Refund { tenant: u64, permits: u64 },
    Reweigh([u32; TENANTS as usize]),
}

fn weights(places: usize, of: [u32; TENANTS as usize]) -> LineWeights {
    let mut weights = LineWeights::new(places).default_weight(of[0]).priorities([3, 2, 1]);
    // Two of them have weights of their own.
    for tenant in [1, 2] {
        weights = weights.with_own(tenant, of[tenant as usize]);
    }
    weights
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => (0..=TENANTS, 0..3_usize, 1..9_u64)
            .prop_map(|(tenant, priority, permits)| Op::Stand { tenant, priority, permits }),
        7 => Just(Op::Grant),
        2 => (0..12_usize).prop_map(Op::Leave),
        1 => (0..=TENANTS, 1..9_u64).prop_map(|(tenant, permits)| Op::Refund { tenant, permits }),
        1 => prop::array::uniform5(1..6_u32).prop_map(Op::Reweigh),
    ];
    prop::collection::vec(op, 1..80)
}

fn lane(tenant: u64, priority: usize) -> Lane {
    Lane { tenant: (tenant < TENANTS).then_some(tenant), priority: PRIORITIES[priority] }
}

/// Checks all that the module says of a state; no request wants more than `most`.
fn check(order: &ByTenant, most: u64, line: &[(Place, u64, Lane)]) {
    let waiters: usize = order.slots.iter().map(|(_, slot)| slot.waiters).sum();
    assert_eq!(waiters, line.len());
    assert_eq!(order.first().is_some(), !line.is_empty());
    for (index, slot) in &order.slots {
        assert!(slot.waiters > 0 || index == STRANGERS || slot.pace > order.now, "it is kept");
        let mut lanes = 0;
        for (which, lane) in slot.lanes.iter().enumerate() {
            let mut next = lane.first;
            while let Some(place) = next {
                lanes += 1;
                let step = order.steps[place.index()];
                assert_eq!((step.slot, step.lane.priority as usize), (index, which));
                next = step.after;
            }
        }
        assert_eq!(lanes, slot.waiters);
        if slot.waiters == 0 {
            continue;
        }
        assert!(order.in_line.contains(&slot.rank(index)));
        assert!(order.now <= slot.pace);
        assert!(slot.pace <= order.now.rounded_up(slot.weight).plus(most), "the lemma");
        for lane in slot.lanes.iter().filter(|lane| lane.first.is_some()) {
            assert!(slot.now <= lane.pace, "the lemma, for a lane");
        }
    }
    assert_eq!(order.known.len() + 1, order.slots.len());
    let unnamed = order.slots.iter().filter(|(_, slot)| is_unnamed(&order.weights, slot.tenant));
    assert_eq!(unnamed.count(), order.unnamed);
    assert!(order.in_line.len() + order.ahead.len() <= order.slots.len());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_lemma_holds_in_every_state(
        places in 0..4_usize,
        of in prop::array::uniform5(1..6_u32),
        ops in ops(),
    ) {
        let mut order = ByTenant::new(weights(places, of));
        let mut line: Vec<(Place, u64, Lane)> = Vec::new();
        // A change of weights keeps paces, which were bounded by the old ones.
        let mut most = 8;
        for op in ops {
            let gone = match op {
                Op::Stand { tenant, priority, permits } => {
                    let free = (0..100).map(Place::new).find(|place| line.iter().all(|it| it.0 != *place));
                    let (place, lane) = (free.unwrap(), lane(tenant, priority));
                    order.stand(place, permits, lane);
                    line.push((place, permits, lane));
                    None
                }
                Op::Grant => {
                    let first = order.first();
                    if let Some(first) = first {
                        order.charge(first);
                    }
                    first
                }
                Op::Leave(which) => line.get(which).map(|it| it.0),
                Op::Refund { tenant, permits } => {
                    order.refund(lane(tenant, 1), permits);
                    None
                }
                Op::Reweigh(of) => {
                    order.reweigh(weights(places, of));
                    most += 8 * 5;
                    None
                }
            };
            if let Some(place) = gone {
                let at = line.iter().position(|it| it.0 == place).unwrap();
                let (_, _, lane) = line.remove(at);
                let ahead = |it: &&(Place, u64, Lane)| it.2 == lane;
                let is_oldest = line[..at].iter().find(ahead).is_none();
                prop_assert!(is_oldest || order.first() != Some(place), "in order within a lane");
                order.leave(place);
            }
            check(&order, most, &line);
        }
        for (place, ..) in line {
            order.leave(place);
        }
        prop_assert_eq!(order.slots.len(), 1);
        prop_assert!(order.known.is_empty() && order.strangers.is_empty() && order.ahead.is_empty());
    }
}

#[test]
fn what_is_foreseen_is_exact_for_lanes_that_stay() {
    let mut order = ByTenant::new(weights(3, [1, 1, 3, 1, 1]));
    let places: Vec<Place> = (0..8).map(Place::new).collect();
    // One of weight 1 and one of weight 3, each with four callers.
    for (place, tenant) in places.iter().zip([1, 2, 1, 2, 1, 2, 1, 2]) {
        order.stand(*place, 2, lane(tenant, 1));
    }
    assert_eq!(order.permits_up_to(places[0], 16), 2);
    // Three of the other one are likely to go before the second of the first.
    assert_eq!(order.permits_up_to(places[2], 16), 16);
    assert_eq!(order.permits_up_to(places[5], 16), 8);
    assert_eq!([2, 5].map(|at| order.certain_up_to(places[at])), [4, 8]);
}
