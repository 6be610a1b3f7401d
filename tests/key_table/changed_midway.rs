//! Changes of a table's quota while something else is under way: a step back of the clock, a
//! marker or a tombstone in a key's slot, a receipt, a batch, a seat.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use sluicegate::keyed::HotKeys;
use sluicegate::*;

use super::{Open, SECOND, builder};
use crate::support::held_up::HeldUp;

const MS: u64 = 1_000_000;

const SMALL: Quota = quota!(10 / second);
const LARGE: Quota = quota!(10 / second, burst 20);
const FAST: Quota = quota!(40 / second);

#[test]
fn a_step_back_of_up_to_a_second_across_a_change_grants_an_emptied_key_nothing_anew() {
    for (old, new) in [(SMALL, LARGE), (LARGE, SMALL), (SMALL, FAST), (FAST, LARGE)] {
        for back in [1, MS, 300 * MS, SECOND] {
            for is_changed_first in [false, true] {
                let clock = ManualClock::at(1_000 * SECOND);
                let table = builder(old, &clock).room_for(new).keys(64).unwrap();
                clock.advance_nanos(100 * SECOND);
                assert!(table.try_acquire(&1, old.burst()).is_ok());
                let emptied_nanos = clock.now_nanos();
                if is_changed_first {
                    table.reconfigure(new).unwrap();
                    clock.rewind(Duration::from_nanos(back));
                } else {
                    clock.rewind(Duration::from_nanos(back));
                    table.reconfigure(new).unwrap();
                }
                let denied = table.try_acquire(&1, 1).unwrap_err();
                assert!(denied.retry_after() > Some(Duration::from_nanos(back)), "{denied:?}");
                assert!(table.try_acquire_up_to(&1, u64::MAX).is_err());
                assert!(table.try_acquire_batch(&[2, 1], 1)[1].is_err());
                clock.set_nanos(emptied_nanos);
                let denied = table.try_acquire(&1, 1).unwrap_err();
                // From there on it earns at the new rate.
                clock.advance(denied.retry_after().unwrap());
                assert_eq!(table.try_acquire_up_to(&1, 99).unwrap().permits(), 1);
                assert_eq!(table.healed(), 0);
            }
        }
    }
}

/// The key's slot has gone to another key, or was swept. The clock steps back, and the key comes
/// again under a larger quota, by which it can spend all the time that a table keeps for a key.
#[test]
fn a_key_that_has_lost_its_slot_does_not_earn_the_same_time_twice_across_a_change() {
    for is_swept in [false, true] {
        let clock = ManualClock::at(1_000 * SECOND);
        let table = builder(SMALL, &clock).room_for(LARGE).memory(64).unwrap();
        clock.advance_nanos(10 * SECOND);
        assert!((0..8).all(|key| table.try_acquire(&key, 10).is_ok()));
        // Twenty permits are earned, of which it could have spent ten.
        clock.advance_nanos(2 * SECOND + 10 * MS);
        if is_swept {
            assert_eq!(table.sweep(), 8);
        } else {
            assert!((8..16).all(|key| table.try_acquire(&key, 1).is_ok()));
            assert!((8..16).all(|key| table.remove(&key)));
        }
        clock.advance_nanos(10 * MS);
        // The table's time is that of the latest new key.
        assert!(table.try_acquire(&99, 1).is_ok());
        let latest_nanos = clock.now_nanos();
        clock.rewind(Duration::from_secs(1));
        table.reconfigure(LARGE).unwrap();
        for key in 0..4 {
            assert_eq!(table.try_acquire_up_to(&key, 99).unwrap().permits(), 20);
            assert!(table.try_acquire(&key, 1).is_err());
        }
        clock.set_nanos(latest_nanos);
        // The grants have used up all that was earned until then.
        for key in 0..4 {
            assert_eq!(table.peek(&key, 0).unwrap().remaining(), 0, "{is_swept}");
        }
        assert_eq!((table.healed(), table.full_events()), (0, 0));
    }
}

type Held = Arc<KeyTable<u64, Open, Arc<HeldUp>>>;

/// A table, and its clock.
fn held(old: Quota, new: Quota) -> (Held, Arc<HeldUp>) {
    let clock = Arc::new(HeldUp::at(1_000 * SECOND));
    let builder = KeyTable::builder_with(old, Open::default(), clock.clone()).room_for(new);
    (Arc::new(builder.memory(64).unwrap()), clock)
}

/// Runs `happens` once the next call for a new key has placed its marker: at its second reading of
/// the clock.
fn when_marked(clock: &Arc<HeldUp>, happens: impl FnOnce() + Send + 'static) {
    let again = clock.clone();
    clock.meanwhile(move || again.meanwhile(happens));
}

#[test]
fn a_marker_placed_under_one_quota_is_charged_once_across_a_change() {
    for (old, new) in [(SMALL, LARGE), (LARGE, SMALL)] {
        for is_joined in [false, true] {
            let (table, clock) = held(old, new);
            let beside = table.clone();
            when_marked(&clock, move || {
                assert_eq!(beside.occupancy().pending, 1);
                beside.reconfigure(new).unwrap();
                if is_joined {
                    let joined = beside.try_acquire(&1, new.burst()).unwrap();
                    assert_eq!(joined.limit(), new.burst());
                }
            });
            let answer = table.try_acquire(&1, 10);
            assert!(clock.has_happened());
            let left = table.peek(&1, 0).unwrap().remaining();
            match answer {
                // Decided by the old quota as a whole.
                Ok(grant) => {
                    assert_eq!((grant.limit(), grant.remaining()), (old.burst(), old.burst() - 10));
                    assert!(!is_joined);
                    assert_eq!(left, (old.burst() - 10).min(new.burst()));
                }
                // The other has taken all there was.
                Err(Denied::Wait(short)) => {
                    assert!(is_joined);
                    assert_eq!((short.limit(), short.remaining(), left), (old.burst(), 0, 0));
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_marker_whose_caller_never_came_back_is_charged_under_the_new_quota() {
    for (old, new) in [(SMALL, LARGE), (LARGE, SMALL), (SMALL, FAST)] {
        let (table, clock) = held(old, new);
        when_marked(&clock, || resume_unwind(Box::new(())));
        let left_off = catch_unwind(AssertUnwindSafe(|| table.try_acquire(&1, 1)));
        assert!(left_off.is_err());
        assert_eq!(table.occupancy().pending, 1);
        table.reconfigure(new).unwrap();
        let grant = table.try_acquire_up_to(&1, u64::MAX).unwrap();
        assert_eq!((grant.permits(), grant.limit()), (new.burst(), new.burst()));
        assert!(table.try_acquire(&1, 1).is_err());
        assert_eq!((table.occupancy().pending, table.occupancy().live), (0, 1));
    }
}

#[test]
fn a_receipt_given_back_after_a_change_leaves_the_time_that_was_saved_before() {
    let clock = ManualClock::new();
    for (new, after) in [(LARGE, [7, 20]), (quota!(10 / second, burst 5), [5, 5]), (FAST, [28, 40])]
    {
        let table = builder(SMALL, &clock).room_for(new).keys(64).unwrap();
        assert!(table.try_acquire(&1, 3).is_ok());
        let receipts = [1, 2, 3].map(|key| table.try_acquire_revocable(&key, 4).unwrap());
        let [known, unknown, used] = receipts;
        table.reconfigure(new).unwrap();
        assert!(table.try_acquire(&3, 1).is_ok());
        assert!(known.give_back() && unknown.give_back());
        assert_eq!([1, 2].map(|key| table.peek(&key, 0).unwrap().remaining()), after);
        // That would give back what the new quota has granted since.
        let left = table.peek(&3, 0).unwrap().remaining();
        assert!(!used.give_back());
        assert_eq!(table.peek(&3, 0).unwrap().remaining(), left);
    }
}

#[test]
fn a_batch_that_waits_for_its_keys_is_decided_by_the_quota_of_each_sixteen() {
    for permits in [1, 15] {
        let clock = ManualClock::new();
        let table = builder(SMALL, &clock).room_for(LARGE).keys(1_000).unwrap();
        let keys = (0..40_u64).collect::<Vec<_>>();
        let change = |key: &&u64| {
            if **key == 20 {
                table.reconfigure(LARGE).unwrap();
            }
        };
        let answers = table.try_acquire_batch(keys.iter().inspect(change), permits);
        assert_eq!(answers.len(), keys.len());
        for (answer, key) in answers.into_iter().zip(keys) {
            let limit = if key < 16 { 10 } else { 20 };
            match answer {
                Ok(grant) => {
                    assert_eq!((grant.limit(), grant.remaining()), (limit, limit - permits));
                }
                Err(denied) => assert_eq!(denied, Denied::TooLarge { limit, which: 0 }),
            }
            assert_eq!(answer.is_ok(), permits <= limit);
        }
    }
}

#[test]
fn a_refusal_kept_beside_a_seat_is_forgotten_if_the_change_goes_through_the_limiter() {
    for is_through in [false, true] {
        let clock = ManualClock::new();
        let table = builder(quota!(1_000 / hour), &clock).room_for(quota!(2_000 / hour));
        let limiter = HotKeys::with_places(table.keys(64).unwrap(), 1).unwrap();
        let mut granted = 0;
        while limiter.try_acquire(&1, 1).is_ok() {
            granted += 1;
        }
        assert!(limiter.is_hot(&1) && granted > 500 && limiter.try_acquire(&1, 1).is_err());
        if is_through {
            limiter.update(|table| table.reconfigure(quota!(2_000 / hour)).unwrap());
        } else {
            limiter.store().reconfigure(quota!(2_000 / hour)).unwrap();
        }
        // Half the time that a permit took under the old quota.
        clock.advance(Duration::from_millis(1_800));
        assert_eq!(limiter.try_acquire(&1, 1).is_ok(), is_through);
    }
}
