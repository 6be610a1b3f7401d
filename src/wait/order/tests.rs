//! The line of a few callers: who stands where, who is told what, and what is kept.

use super::*;

fn in_line(order: &Order) -> Vec<u64> {
    let mut permits = Vec::new();
    let mut next = order.first();
    while let Some(place) = next {
        permits.push(order.permits_of(place));
        next = order.nodes[place.index()].after;
    }
    assert_eq!((permits.len(), permits.iter().sum()), (order.len(), order.permits()));
    permits
}

#[test]
fn callers_leave_from_anywhere_and_the_others_keep_their_order() {
    for leaving in 0..4 {
        let mut order = Order::default();
        let places: Vec<Place> = (1..=4).map(|permits| order.push(permits, None)).collect();
        order.leave(places[leaving]);
        let left: Vec<u64> = (1..=4).filter(|permits| *permits != leaving as u64 + 1).collect();
        assert_eq!(in_line(&order), left);
        let newest = order.push(9, None);
        assert_eq!(newest, places[leaving], "its node is used again");
        assert_eq!(in_line(&order).last(), Some(&9));
    }
}

#[test]
fn an_outcome_is_told_once_and_frees_the_node() {
    let mut order = Order::default();
    let (first, second) = (order.push(1, None), order.push(2, None));
    assert!(order.take_outcome(first).is_none());
    assert!(order.refuse(first, AcquireError::Closed).is_none());
    assert_eq!(order.first(), Some(second));
    assert!(matches!(order.take_outcome(first), Some(Outcome::Refused(_))));
    assert!(order.outcomes.is_empty());
    assert_eq!(order.push(3, None), first);
}

#[test]
fn the_permits_ahead_are_those_of_the_line_and_of_nobody_else() {
    let mut order = Order::default();
    let places: Vec<Place> = [5, 7, 11, 13].map(|permits| order.push(permits, None)).into();
    let ahead = |order: &Order| {
        places[2..].iter().map(|place| order.permits_up_to(*place)).collect::<Vec<_>>()
    };
    assert_eq!(ahead(&order), [23, 36]);
    order.leave(places[1]);
    assert_eq!(ahead(&order), [16, 29]);
    order.refuse(places[0], AcquireError::Closed);
    assert_eq!(ahead(&order), [11, 24]);
    let newest = order.push(17, None);
    assert_eq!(order.permits_up_to(newest), 41);
    assert_eq!(order.permits(), 41);
    assert!(order.refuse_above(12).is_empty());
    assert_eq!(in_line(&order), [11]);
}

#[test]
fn refusing_all_above_a_limit_leaves_the_line_as_refusing_one_after_the_other_does() {
    let sizes = [9, 1, 9, 9, 2, 3, 9, 1, 9];
    for limit in [0, 1, 2, 3, 8, 9] {
        let [mut at_once, mut one_by_one] = [(); 2].map(|()| Order::default());
        for permits in sizes {
            at_once.push(permits, None);
            one_by_one.push(permits, None);
        }
        at_once.refuse_above(limit);
        for (index, permits) in sizes.into_iter().enumerate() {
            if permits > limit {
                one_by_one.refuse(Place::new(index), AcquireError::TooLarge { limit });
            }
        }
        let newest = (at_once.push(4, None), one_by_one.push(4, None));
        assert_eq!(in_line(&at_once), in_line(&one_by_one));
        let here = (0..sizes.len())
            .filter(|index| matches!(at_once.nodes[*index].standing, NodeStanding::Waits));
        for place in here.map(Place::new).chain([newest.0]) {
            assert_eq!(at_once.permits_up_to(place), one_by_one.permits_up_to(place));
        }
    }
}

#[test]
fn a_long_line_that_has_ended_keeps_no_memory() {
    let mut order = Order::default();
    let places: Vec<Place> = (0..=KEPT as u64).map(|permits| order.push(permits, None)).collect();
    for place in places {
        order.leave(place);
    }
    assert_eq!((order.nodes.capacity(), order.len(), order.permits()), (0, 0, 0));
    let places: Vec<Place> = (0..=KEPT as u64).map(|permits| order.push(permits, None)).collect();
    for place in &places {
        order.refuse(*place, AcquireError::Closed);
    }
    assert!(places.into_iter().all(|place| order.take_outcome(place).is_some()));
    assert_eq!((order.nodes.capacity(), order.outcomes.capacity()), (0, 0));
}

#[test]
fn many_reservations_that_are_charged_and_let_go_keep_no_memory() {
    let mut order = Order::default();
    let places: Vec<Place> = (0..=KEPT as u64).map(|told| order.push_reserved(1, told)).collect();
    for place in &places {
        order.note_charge(*place, Charged::NOTHING);
    }
    for place in places {
        order.release_reserved(place);
    }
    assert_eq!((order.len(), order.permits()), (0, 0));
    assert_eq!(order.nodes.capacity(), 0);
    assert_eq!((order.reserved.capacity(), order.charges.capacity()), (0, 0));
}

#[test]
fn only_a_caller_that_sleeps_too_long_is_woken_early() {
    let mut order = Order::default();
    let place = order.push(1, None);
    order.arm(place, 100, Waker::noop().clone());
    assert!(order.wake_if_later(place, 0, 100).is_none());
    assert!(order.wake_if_later(place, 0, 99).is_some());
    assert!(order.wake_if_later(place, 0, 99).is_none(), "once");
    order.arm(place, 100, Waker::noop().clone());
    assert!(order.wake_if_later(place, 99, 200).is_none());
    assert!(order.wake_if_later(place, 100, 200).is_some(), "its timer should have woken it");
}

#[test]
fn only_a_caller_whose_turn_was_to_come_after_its_deadline_is_too_late() {
    let mut order = Order::default();
    let waker = || Waker::noop().clone();
    let [in_time, late, endless] =
        [Some(100), Some(100), None].map(|deadline_nanos| order.push(1, deadline_nanos));
    assert!(!order.is_too_late(late, 101), "its turn is not known");
    assert_eq!(order.arm(in_time, 100, waker()), 100);
    assert_eq!(order.arm(late, 101, waker()), 100);
    assert_eq!(order.arm(endless, 101, waker()), 101);
    let too_late = |order: &Order, now_nanos| {
        [in_time, late, endless].map(|place| order.is_too_late(place, now_nanos))
    };
    assert_eq!(too_late(&order, 100), [false; 3]);
    assert_eq!(too_late(&order, 500), [false, true, false]);
    assert!(order.wake_if_later(late, 0, 99).is_some());
    assert_eq!(too_late(&order, 500), [false; 3], "its turn comes earlier");
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_node_is_a_line_of_the_cache_with_the_tag_of_the_slab() {
    #[expect(dead_code, reason = "as the slab has it")]
    enum Entry {
        Vacant(usize),
        Occupied(Node),
    }
    assert_eq!(size_of::<Entry>(), 64);
}

#[test]
fn a_line_has_as_many_places_as_there_are_keys() {
    let mut order = Order::default();
    let mut places = Vec::new();
    while order.has_place() {
        places.push(order.push(1, None));
    }
    assert_eq!(places.len(), MOST_NODES);
    order.refuse(places[0], AcquireError::Closed);
    assert!(!order.has_place(), "it was not told yet");
    order.take_outcome(places[0]);
    assert!(order.has_place());
}
