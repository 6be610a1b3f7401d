//! Receipts that were kept, and what a key with no place is told.

use std::time::Duration;

use sluicegate::keyed::WhenFull;
use sluicegate::{Denied, KeyTable, ManualClock, quota};

/// The word of a key may come back after a removal; what an old receipt then puts back is
/// never older than a removal now would leave it.
#[test]
fn a_receipt_from_before_a_removal_gives_back_a_burst_at_most() {
    let clock = ManualClock::new();
    let table = KeyTable::<u64>::builder(quota!(10 / second)).clock(&clock).keys(1_000).unwrap();
    for wait in [0, 50, 100, 900, 5_000] {
        clock.advance(Duration::from_secs(60));
        let receipt = table.try_acquire_revocable(&1, 10).unwrap();
        table.remove(&1);
        clock.advance(Duration::from_millis(wait));
        let taken = table.try_acquire_up_to(&1, 10).unwrap().permits();
        receipt.give_back();
        let left = table.peek(&1, 0).unwrap().remaining();
        assert!(left <= 10, "{left} after {taken}");
        // Not older than it need be: a sweep and a new key leave it all in order.
        table.sweep();
        for key in 100..200 {
            table.try_acquire(&key, 1).unwrap();
        }
        let more = table.try_acquire_up_to(&1, 10).map_or(0, |grant| grant.permits());
        assert_eq!(more, left);
    }
}

/// The key's place is as after a removal: no other key has it until the key is full by every clock.
#[test]
fn a_full_key_that_is_given_back_is_as_one_that_was_just_removed() {
    let clock = ManualClock::new();
    let table = KeyTable::<u64>::builder(quota!(10 / second)).clock(&clock).memory(64).unwrap();
    table.try_acquire(&0, 10).unwrap();
    // Full since long ago, when the others come.
    clock.advance(Duration::from_secs(10));
    for key in 1..8 {
        table.try_acquire(&key, 10).unwrap();
    }
    assert!(table.try_acquire_revocable(&0, 10).unwrap().give_back());
    assert_eq!(table.peek(&0, 0).unwrap().remaining(), 10);
    let Err(Denied::Full { retry_after }) = table.try_acquire(&8, 1) else {
        panic!("the place is as old as it was");
    };
    assert!(retry_after <= Duration::from_millis(2), "{retry_after:?}");
    clock.advance(retry_after);
    assert!(table.try_acquire(&8, 1).is_ok());
}

#[test]
fn a_request_beyond_the_shared_bucket_is_told_when_there_may_be_room() {
    let clock = ManualClock::new();
    let shared = WhenFull::Share(quota!(5 / second));
    let table = KeyTable::<u64>::builder(quota!(10 / second))
        .clock(&clock)
        .when_full(shared)
        .memory(64)
        .unwrap();
    for key in 0..8 {
        table.try_acquire(&key, 10).unwrap();
    }
    let Err(Denied::Full { retry_after }) = table.try_acquire(&8, 10) else {
        panic!("there is no place");
    };
    assert_eq!(table.try_acquire_up_to(&9, 10).unwrap().permits(), 5);
    clock.advance(retry_after);
    assert!(table.try_acquire(&8, 10).is_ok());
}

#[test]
fn a_key_that_is_admitted_without_a_place_gets_as_many_as_it_asks_for() {
    let clock = ManualClock::new();
    let table = KeyTable::<u64>::builder(quota!(10 / second))
        .clock(&clock)
        .when_full(WhenFull::Admit)
        .memory(64)
        .unwrap();
    for key in 0..8 {
        table.try_acquire(&key, 10).unwrap();
    }
    assert_eq!(table.try_acquire_up_to(&8, 7).unwrap().permits(), 7);
    assert_eq!(table.try_acquire_up_to(&8, 70).unwrap().permits(), 10);
    assert_eq!(table.full_events(), 2);
}
