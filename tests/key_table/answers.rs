//! Every verb, one after the other.

use std::time::Duration;

use sluicegate::keyed::TableEntry;
use sluicegate::*;

use super::{SECOND, builder, one_line, table};

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
fn up_to_takes_what_is_there_and_at_least_one() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
    assert_eq!(table.try_acquire_up_to(&1, 4).unwrap().permits(), 4);
    let grant = table.try_acquire_up_to(&1, u64::MAX).unwrap();
    assert_eq!((grant.permits(), grant.remaining()), (6, 0));
    assert_eq!(table.try_acquire_up_to(&1, 5).unwrap_err().retry_after(), millis(100));
    clock.advance(Duration::from_millis(299));
    assert_eq!(table.try_acquire_up_to(&1, 5).unwrap().permits(), 2);
    assert_eq!(table.try_acquire_up_to(&2, u64::MAX).unwrap().permits(), 10);
    assert_eq!(table.try_acquire_up_to(&3, 0).unwrap().permits(), 0);
    assert_eq!(table.occupancy().live, 2);
}

#[test]
fn a_look_writes_nothing_and_takes_no_place() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    for key in 0..100 {
        for permits in [0, 1, 10] {
            let grant = table.peek(&key, permits).unwrap();
            assert_eq!((grant.permits(), grant.remaining()), (permits, 10 - permits));
        }
        assert_eq!(table.peek(&key, 11), Err(Denied::TooLarge { limit: 10, which: 0 }));
    }
    assert_eq!(table.occupancy().live + table.occupancy().pending, 0);
    table.try_acquire(&5, 7).unwrap();
    let before: Vec<TableEntry> = table.iter().collect();
    assert_eq!(table.peek(&5, 3).unwrap().remaining(), 0);
    assert_eq!(table.peek(&5, 0).unwrap().remaining(), 3);
    assert_eq!(table.peek(&5, 4).unwrap_err(), table.try_acquire(&5, 4).unwrap_err());
    assert_eq!(table.iter().collect::<Vec<_>>(), before);
    assert_eq!(table.full_events(), 0);
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
fn the_first_grant_of_a_key_can_be_given_back_in_full() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
    for key in 0..10 {
        assert!(table.try_acquire_revocable(&key, 10).unwrap().give_back());
        assert_eq!(table.peek(&key, 0).unwrap().remaining(), 10);
        assert_eq!(table.try_acquire(&key, 10).unwrap().remaining(), 0);
        assert!(table.try_acquire(&key, 1).is_err());
    }
}

#[test]
fn a_key_can_be_taken_and_given_back_any_number_of_times_while_the_clock_stands() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    for _ in 0..2_000 {
        assert!(table.try_acquire_revocable(&1, 10).unwrap().give_back());
    }
}

#[test]
fn a_tier_has_a_burst_and_a_rate_of_its_own_to_the_nanosecond() {
    let clock = ManualClock::at(3 * SECOND);
    let table = builder(TEN, &clock)
        .tier(quota!(1_000 / second, burst 50))
        .tier(quota!(3 / minute, burst 3))
        .keys(100)
        .unwrap();
    assert!(table.tier(3).is_none());
    let tiers = [0, 1, 2].map(|number| table.tier(number).unwrap());
    let rows = [(10, 100_000_000), (50, 1_000_000), (3, 20 * SECOND)];
    for (number, (tier, (burst, nanos))) in std::iter::zip(tiers, rows).enumerate() {
        let key = number as u64;
        assert_eq!(tier.try_acquire(&key, burst).unwrap().remaining(), 0);
        let denied = tier.try_acquire(&key, 1).unwrap_err();
        assert_eq!(denied.retry_after(), Some(Duration::from_nanos(nanos)));
        let too_large = Denied::TooLarge { limit: burst, which: 0 };
        assert_eq!(tier.try_acquire(&key, burst + 1), Err(too_large));
        clock.advance_nanos(nanos - 1);
        assert!(tier.try_acquire(&key, 1).is_err());
        clock.advance_nanos(1);
        assert_eq!(tier.try_acquire_up_to(&key, burst).unwrap().permits(), 1);
        clock.advance_nanos(nanos * burst);
        assert_eq!(tier.peek(&key, 0).unwrap().remaining(), burst);
        let answers = tier.try_acquire_batch(&[key, key], burst);
        assert!(answers[0].is_ok() && answers[1].is_err());
        assert!(tier.try_acquire_revocable(&(key + 10), 2).unwrap().give_back());
    }
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
