//! The answers of a table, and what its receipts give back, beside the random calls of `random.rs`.

use std::time::Duration;

use sluicegate::*;

use super::{one_line, table};

const TEN: Quota = quota!(10 / second);

#[test]
fn each_key_has_a_burst_of_its_own_and_earns_it_back() {
    let clock = ManualClock::at(7);
    let table = table(TEN, &clock);
    for key in 0..20 {
        for left in (0..10).rev() {
            let grant = table.try_acquire(&key, 1).unwrap();
            assert_eq!((grant.permits(), grant.remaining(), grant.limit()), (1, left, 10));
        }
        let denied = table.try_acquire(&key, 1).unwrap_err();
        assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)));
        assert_eq!((denied.which(), table.try_acquire(&key, 1)), (0, Err(denied)));
    }
    clock.advance(Duration::from_millis(250));
    for key in 0..20 {
        assert_eq!(table.try_acquire(&key, 3).unwrap_err().retry_after(), millis(50));
        assert_eq!(table.try_acquire(&key, 2).unwrap().remaining(), 0);
        assert_eq!(table.try_acquire(&key, 1).unwrap_err().retry_after(), millis(50));
    }
    assert_eq!(table.occupancy().live, 20);
}

#[test]
fn none_is_always_granted_and_leaves_no_trace_and_too_many_never() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    for key in 0..100 {
        for grant in [
            table.try_acquire(&key, 0),
            table.try_acquire_up_to(&key, 0),
            table.try_acquire_revocable(&key, 0).map(|receipt| receipt.grant()),
        ] {
            assert_eq!(grant.map(|grant| (grant.permits(), grant.remaining())), Ok((0, 10)));
        }
        let too_large = Denied::TooLarge { limit: 10, which: 0 };
        for permits in [11, 1 << 25, 1 << 32, 1 << 45, 1 << 63, u64::MAX] {
            assert_eq!(table.try_acquire(&key, permits), Err(too_large));
            assert_eq!(table.peek(&key, permits), Err(too_large));
            assert_eq!(table.try_acquire_revocable(&key, permits).unwrap_err(), too_large);
            let answers = table.try_acquire_batch(&[key, key], permits);
            assert_eq!(answers, [Err(too_large); 2]);
        }
    }
    assert_eq!(table.occupancy().live + table.occupancy().pending, 0);
    table.try_acquire(&1, 10).unwrap();
    assert_eq!(table.try_acquire(&1, 0).unwrap().remaining(), 0);
    assert_eq!(table.try_acquire(&1, 11).unwrap_err().retry_after(), None);
}

#[test]
fn a_receipt_gives_back_what_it_took_if_nothing_has_happened_since() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
    table.try_acquire(&1, 2).unwrap();
    clock.advance(Duration::from_millis(50));
    let (before, receipt) = (table.peek(&1, 0), table.try_acquire_revocable(&1, 3).unwrap());
    assert_eq!(receipt.grant().remaining(), 5);
    assert!(receipt.give_back());
    assert_eq!(table.peek(&1, 0), before);

    // Time goes on for what was given back too.
    let receipt = table.try_acquire_revocable(&1, 8).unwrap();
    clock.advance(Duration::from_millis(150));
    assert!(receipt.give_back());
    assert_eq!(table.peek(&1, 0).unwrap().remaining(), 10);

    for happened in 0..3 {
        let key = 100 + happened;
        table.try_acquire(&key, 1).unwrap();
        let receipt = table.try_acquire_revocable(&key, 3).unwrap();
        match happened {
            0 => assert!(table.try_acquire(&key, 1).is_ok()),
            1 => assert!(table.remove(&key)),
            _ => assert!(table.try_acquire_up_to(&key, 20).is_ok()),
        }
        let left = table.peek(&key, 0).unwrap().remaining();
        assert!(!receipt.give_back());
        assert_eq!(table.peek(&key, 0).unwrap().remaining(), left);
    }
    // A look and a denial are nothing.
    let receipt = table.try_acquire_revocable(&7, 3).unwrap();
    let _ = (table.peek(&7, 1), table.try_acquire(&7, 9), table.sweep());
    assert!(receipt.give_back());
}

#[test]
fn a_key_can_be_taken_and_given_back_any_number_of_times_while_the_clock_stands() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    for _ in 0..2_000 {
        assert!(table.try_acquire_revocable(&1, 10).unwrap().give_back());
    }
}

/// The word of a key may come back after a removal; what an old receipt then puts back is
/// never older than a removal now would leave it.
#[test]
fn a_receipt_from_before_a_removal_gives_back_a_burst_at_most() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
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
    let table = one_line(TEN, &clock);
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
fn entries_tell_how_long_until_each_key_is_full() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
    for key in 0..10 {
        table.try_acquire(&key, key + 1).unwrap();
    }
    let mut waits: Vec<Duration> = table.iter().map(|entry| entry.full_after()).collect();
    waits.sort_unstable();
    assert_eq!(waits, (1..=10).map(|key| Duration::from_millis(100 * key)).collect::<Vec<_>>());
    clock.advance(Duration::from_millis(450));
    assert_eq!((table.iter().count(), table.occupancy().live), (6, 6));
    assert_eq!(table.occupancy().expired, 4);
    assert!(table.iter().all(|entry| entry.fingerprint() > 0 && entry.fingerprint() < 1 << 24));
}

#[test]
fn keys_are_what_the_hasher_makes_of_them_and_those_it_cannot_tell_apart_share() {
    #[derive(Clone, Copy, Default)]
    struct Same(u64);
    impl std::hash::BuildHasher for Same {
        type Hasher = Same;
        fn build_hasher(&self) -> Same {
            *self
        }
    }
    impl std::hash::Hasher for Same {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, _: &[u8]) {}
    }
    for hash in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
        let clock = ManualClock::new();
        let table = KeyTable::<str, _, _>::builder_with(TEN, Same(hash), &clock).keys(100).unwrap();
        let granted = (0..100).filter(|n| table.try_acquire(&n.to_string(), 1).is_ok()).count();
        assert_eq!((granted, table.occupancy().live), (10, 1));
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what `retry_after` returns")]
fn millis(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}
