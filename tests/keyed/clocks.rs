//! Clocks that go back, or far ahead.

use sluicegate::*;

use super::{InOneShard, SECOND, keyed};

#[test]
fn a_clock_that_goes_back_is_believed_and_the_store_heals() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = keyed::<u64>(quota!(10 / second), &clock);
    // Behind the level of a key, but not the beginning of the store.
    clock.advance(SECOND * 3_600);
    users.try_acquire(&1, 10).unwrap();
    users.try_acquire(&2, 10).unwrap();
    clock.advance(SECOND * 2);
    users.sweep();
    users.try_acquire(&1, 10).unwrap();
    clock.rewind(SECOND * 1_800);
    assert_eq!(users.try_acquire(&1, 4).unwrap().remaining(), 6);
    assert_eq!(users.try_acquire(&2, 4).unwrap().remaining(), 6);
    assert_eq!(users.healed(), 1);
    // Behind the beginning.
    clock.rewind(SECOND * 7_200);
    for _ in 0..2 {
        assert_eq!(users.try_acquire(&1, 3).unwrap().permits(), 3);
        assert_eq!(users.try_acquire(&2, 3).unwrap().permits(), 3);
    }
    clock.advance(SECOND);
    assert!(users.try_acquire(&1, 10).is_ok());
    assert!(users.healed() > 1);
}

#[test]
fn a_thread_whose_clock_is_behind_brings_no_key_back_fuller() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = keyed::<u64>(quota!(10 / second), &clock);
    users.try_acquire(&1, 5).unwrap();
    clock.advance(SECOND / 2);
    assert_eq!(users.sweep(), 1);
    // As a thread with a clock of its own would.
    clock.rewind(SECOND / 2);
    assert_eq!(users.try_acquire(&1, 5).unwrap().remaining(), 5);
    assert!(users.try_acquire(&1, 1).is_err());
    clock.advance(SECOND / 2);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 5);
}

/// Each was changed at another time, so the clock may be before the beginning of one alone.
#[test]
fn only_the_keys_of_a_tier_that_cannot_tell_the_time_start_again() {
    let clock = ManualClock::at(86_400_000_000_000);
    let quotas = [quota!(10 / hour), quota!(10 / hour), quota!(10 / hour)];
    let buckets =
        Buckets::tiered_with_clock(quotas, |key: &u64| (key % 3) as usize, &clock).unwrap();
    let users = Keyed::builder(buckets).hasher(InOneShard::default()).build().unwrap();
    clock.advance(SECOND * 3_600);
    users.reconfigure_tier(1, quota!(11 / hour), Carry::Keep).unwrap();
    for key in 0..30 {
        users.try_acquire(&key, 8).unwrap();
    }
    clock.rewind(SECOND * 1_800);
    // Of the second tier.
    assert_eq!(users.try_acquire(&1, 3).unwrap().remaining(), 8);
    assert_eq!((users.healed(), users.len()), (1, 21));
    for key in 0..30 {
        let left = if key % 3 == 1 { 11 - 3 * u64::from(key == 1) } else { 0 };
        assert_eq!(users.peek(&key, 0).unwrap().remaining(), left, "{key}");
    }
    // The others lack what they had been granted, and what was not earned again.
    clock.advance(SECOND * 1_800);
    assert_eq!(users.peek(&0, 0).unwrap().remaining(), 2);
    assert_eq!(users.healed(), 1);
}
