//! The line of a few callers: who stands where, who is told what, and what is kept.

use super::*;

fn in_line(waiters: &Waiters) -> Vec<u64> {
    let mut permits = Vec::new();
    let mut next = waiters.first();
    while let Some(key) = next {
        permits.push(waiters.permits_of(key));
        next = waiters.nodes[key.place()].after;
    }
    assert_eq!((permits.len(), permits.iter().sum()), (waiters.len(), waiters.permits()));
    permits
}

#[test]
fn callers_leave_from_anywhere_and_the_others_keep_their_order() {
    for leaving in 0..4 {
        let mut waiters = Waiters::default();
        let keys: Vec<Key> = (1..=4).map(|permits| waiters.push(permits, None)).collect();
        waiters.leave(keys[leaving]);
        let left: Vec<u64> = (1..=4).filter(|permits| *permits != leaving as u64 + 1).collect();
        assert_eq!(in_line(&waiters), left);
        let newest = waiters.push(9, None);
        assert_eq!(newest, keys[leaving], "its node is used again");
        assert_eq!(in_line(&waiters).last(), Some(&9));
    }
}

#[test]
fn an_outcome_is_told_once_and_frees_the_node() {
    let mut waiters = Waiters::default();
    let (first, second) = (waiters.push(1, None), waiters.push(2, None));
    assert!(waiters.take_outcome(first).is_none());
    assert!(waiters.refuse(first, AcquireError::Closed).is_none());
    assert_eq!(waiters.first(), Some(second));
    assert!(matches!(waiters.take_outcome(first), Some(Outcome::Refused(_))));
    assert!(waiters.outcomes.is_empty());
    assert_eq!(waiters.push(3, None), first);
}

#[test]
fn the_permits_ahead_are_those_of_the_line_and_of_nobody_else() {
    let mut waiters = Waiters::default();
    let keys: Vec<Key> = [5, 7, 11, 13].map(|permits| waiters.push(permits, None)).into();
    let ahead = |waiters: &Waiters| {
        keys[2..].iter().map(|key| waiters.permits_up_to(*key)).collect::<Vec<_>>()
    };
    assert_eq!(ahead(&waiters), [23, 36]);
    waiters.leave(keys[1]);
    assert_eq!(ahead(&waiters), [16, 29]);
    waiters.refuse(keys[0], AcquireError::Closed);
    assert_eq!(ahead(&waiters), [11, 24]);
    let newest = waiters.push(17, None);
    assert_eq!(waiters.permits_up_to(newest), 41);
    assert_eq!(waiters.permits(), 41);
    assert!(waiters.refuse_above(12).is_empty());
    assert_eq!(in_line(&waiters), [11]);
}

#[test]
fn refusing_all_above_a_limit_leaves_the_line_as_refusing_one_after_the_other_does() {
    let sizes = [9, 1, 9, 9, 2, 3, 9, 1, 9];
    for limit in [0, 1, 2, 3, 8, 9] {
        let [mut at_once, mut one_by_one] = [(); 2].map(|()| Waiters::default());
        for permits in sizes {
            at_once.push(permits, None);
            one_by_one.push(permits, None);
        }
        at_once.refuse_above(limit);
        for (index, permits) in sizes.into_iter().enumerate() {
            if permits > limit {
                one_by_one.refuse(Key::new(index), AcquireError::TooLarge { limit });
            }
        }
        let newest = (at_once.push(4, None), one_by_one.push(4, None));
        assert_eq!(in_line(&at_once), in_line(&one_by_one));
        let here = (0..sizes.len())
            .filter(|index| matches!(at_once.nodes[*index].standing, NodeStanding::Waits));
        for key in here.map(Key::new).chain([newest.0]) {
            assert_eq!(at_once.permits_up_to(key), one_by_one.permits_up_to(key));
        }
    }
}

#[test]
fn a_long_line_that_has_ended_keeps_no_memory() {
    let mut waiters = Waiters::default();
    let keys: Vec<Key> = (0..=KEPT as u64).map(|permits| waiters.push(permits, None)).collect();
    for key in keys {
        waiters.leave(key);
    }
    assert_eq!((waiters.nodes.capacity(), waiters.len(), waiters.permits()), (0, 0, 0));
    let keys: Vec<Key> = (0..=KEPT as u64).map(|permits| waiters.push(permits, None)).collect();
    for key in &keys {
        waiters.refuse(*key, AcquireError::Closed);
    }
    assert!(keys.into_iter().all(|key| waiters.take_outcome(key).is_some()));
    assert_eq!((waiters.nodes.capacity(), waiters.outcomes.capacity()), (0, 0));
}

#[test]
fn many_reservations_that_are_charged_and_let_go_keep_no_memory() {
    let mut waiters = Waiters::default();
    let keys: Vec<Key> = (0..=KEPT as u64).map(|told| waiters.push_reserved(1, told)).collect();
    for key in &keys {
        waiters.note_charge(*key, Charged::NOTHING);
    }
    for key in keys {
        waiters.release_reserved(key);
    }
    assert_eq!((waiters.len(), waiters.permits()), (0, 0));
    assert_eq!(waiters.nodes.capacity(), 0);
    assert_eq!((waiters.reserved.capacity(), waiters.charges.capacity()), (0, 0));
}

#[test]
fn only_a_caller_that_sleeps_too_long_is_woken_early() {
    let mut waiters = Waiters::default();
    let key = waiters.push(1, None);
    waiters.arm(key, 100, Waker::noop().clone());
    assert!(waiters.wake_if_later(key, 0, 100).is_none());
    assert!(waiters.wake_if_later(key, 0, 99).is_some());
    assert!(waiters.wake_if_later(key, 0, 99).is_none(), "once");
    waiters.arm(key, 100, Waker::noop().clone());
    assert!(waiters.wake_if_later(key, 99, 200).is_none());
    assert!(waiters.wake_if_later(key, 100, 200).is_some(), "its timer should have woken it");
}

#[test]
fn only_a_caller_whose_turn_was_to_come_after_its_deadline_is_too_late() {
    let mut waiters = Waiters::default();
    let waker = || Waker::noop().clone();
    let [in_time, late, endless] =
        [Some(100), Some(100), None].map(|deadline_nanos| waiters.push(1, deadline_nanos));
    assert!(!waiters.is_too_late(late, 101), "its turn is not known");
    assert_eq!(waiters.arm(in_time, 100, waker()), 100);
    assert_eq!(waiters.arm(late, 101, waker()), 100);
    assert_eq!(waiters.arm(endless, 101, waker()), 101);
    let too_late = |waiters: &Waiters, now_nanos| {
        [in_time, late, endless].map(|key| waiters.is_too_late(key, now_nanos))
    };
    assert_eq!(too_late(&waiters, 100), [false; 3]);
    assert_eq!(too_late(&waiters, 500), [false, true, false]);
    assert!(waiters.wake_if_later(late, 0, 99).is_some());
    assert_eq!(too_late(&waiters, 500), [false; 3], "its turn comes earlier");
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
    let mut waiters = Waiters::default();
    let mut keys = Vec::new();
    while waiters.has_place() {
        keys.push(waiters.push(1, None));
    }
    assert_eq!(keys.len(), MOST_NODES);
    waiters.refuse(keys[0], AcquireError::Closed);
    assert!(!waiters.has_place(), "it was not told yet");
    waiters.take_outcome(keys[0]);
    assert!(waiters.has_place());
}
