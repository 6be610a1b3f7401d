//! Seats: the keys that get one, the permits that are prepaid for it, and the answers from it.

use sluicegate::keyed::HotKeys;
use sluicegate::*;

use super::subject::{heat, rivals, take_all, with, with_each};
use super::{EACH, Open, QUOTA, SPARED};

#[test]
fn a_key_is_hot_at_a_place_once_it_was_asked_for_64_times_there() {
    with_each(QUOTA, 2, |kind, limiter, _| {
        for (place, key) in [(0, 1), (1, 2)] {
            for turn in 0..64 {
                assert!(!limiter.has_seat(key), "{kind:?} {turn}");
                assert!(limiter.ask_at(place, key, 1).is_ok());
            }
            assert!(limiter.has_seat(key), "{kind:?}");
            assert_eq!(limiter.has(key), 936, "nothing is drawn before it is asked for");
        }
    });
}

#[test]
fn what_a_hot_key_is_granted_comes_from_its_seat() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        heat(limiter, 0, 1);
        // The store does not know the key yet.
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), 999);
        // An eighth is passed over; one is granted, and 16 are prepaid for the calls to come.
        let mut left = 16;
        for _ in 0..4 {
            let before = limiter.has(1).min(SPARED);
            let grant = limiter.ask_at(0, 1, 1).unwrap();
            assert_eq!((grant.permits(), grant.remaining()), (1, left), "{kind:?}");
            assert_eq!((grant.limit(), grant.reset_after().as_nanos()), (1_000, 1_000_000_000));
            assert_eq!(limiter.has(1), before - left - 1, "{kind:?}");
            for used in 1..=left {
                let (grant, readings) = clock.readings(|| limiter.ask_at(0, 1, 1).unwrap());
                assert_eq!((grant.remaining(), readings), (left - used, 1), "{kind:?}");
            }
            assert_eq!(limiter.has(1), before - left - 1, "{kind:?}");
            // Twice what was used, or an eighth of what is there, and one for the call.
            left = (2 * left).min(limiter.has(1) / 8 - 1);
        }
    });
}

#[test]
fn what_cannot_be_or_is_nothing_is_answered_as_by_the_store() {
    with_each(QUOTA, 2, |kind, limiter, _| {
        heat(limiter, 0, 1);
        for round in 0..3 {
            for permits in [1_001, 1 << 40, u64::MAX] {
                let denied = limiter.ask_at(0, 1, permits).unwrap_err();
                assert_eq!(denied, Denied::TooLarge { limit: 1_000, which: 0 }, "{kind:?}");
            }
            let left = limiter.has(1);
            let grant = limiter.ask_at(0, 1, 0).unwrap();
            assert_eq!((grant.permits(), grant.remaining(), grant.limit()), (0, left, 1_000));
            assert_eq!(limiter.has(1), left, "{kind:?} {round}");
            assert!(limiter.ask_at(0, 1, 1).is_ok());
        }
        // There is nothing left, and that is remembered.
        take_all(limiter, &[0], 1);
        assert_eq!(limiter.ask_at(0, 1, 0).unwrap().remaining(), 0);
        let denied = limiter.ask_at(0, 1, u64::MAX).unwrap_err();
        assert_eq!(denied, Denied::TooLarge { limit: 1_000, which: 0 }, "{kind:?}");
    });
}

#[test]
fn a_request_for_more_than_the_seat_has_uses_that_up_and_takes_the_rest() {
    with_each(QUOTA, 2, |kind, limiter, _| {
        heat(limiter, 0, 1);
        let mut taken = 0;
        for permits in [1, 1, 17, 40, 77, 300, 200] {
            assert_eq!(limiter.ask_at(0, 1, permits).unwrap().permits(), permits, "{kind:?}");
            taken += permits;
        }
        // All the rest at once, of the seat and the store. (One was taken before the eighth
        // was passed over.)
        let grant = limiter.ask_at(0, 1, SPARED + 1 - taken).unwrap();
        assert_eq!(grant.remaining(), 0, "{kind:?}");
        assert_eq!((limiter.has(1), take_all(limiter, &[0, 1], 1)), (0, 0), "{kind:?}");
    });
}

#[test]
fn single_permits_are_taken_from_other_places_before_any_is_refused() {
    with_each(QUOTA, 4, |kind, limiter, _| {
        let mut taken = 0;
        for place in 0..4 {
            heat(limiter, place, 1);
            for _ in 0..3 {
                taken += limiter.ask_at(place, 1, 1).unwrap().permits();
            }
        }
        taken += limiter.drain(1);
        let seated = SPARED + 1 - taken;
        assert!(seated > 16, "{kind:?} {seated}");
        // More than any has, though all have it.
        assert!(limiter.ask_at(2, 1, seated).is_err(), "{kind:?}");
        for _ in 0..seated {
            assert_eq!(limiter.ask_at(2, 1, 1).unwrap().permits(), 1, "{kind:?}");
        }
        for place in 0..4 {
            assert!(limiter.ask_at(place, 1, 1).is_err(), "{kind:?}");
        }
    });
}

#[test]
fn a_small_burst_is_not_split() {
    for burst in [1, 2, 7, 19, 39] {
        with_each(quota!(1 / second).with_burst(burst).unwrap(), 2, |kind, limiter, _| {
            heat(limiter, 0, 1);
            heat(limiter, 1, 1);
            for turn in 0..burst {
                let grant = limiter.ask_at(turn as usize % 2, 1, 1).unwrap();
                assert_eq!(grant.remaining(), burst - turn - 1, "{kind:?}");
            }
            assert_eq!(take_all(limiter, &[0, 1], 1), 0, "{kind:?}");
        });
    }
}

#[test]
fn a_seat_goes_to_a_key_that_is_asked_for_instead() {
    // A burst too small for prepayments.
    let keys = rivals(&Open::default(), 1, 3);
    with_each(quota!(1 / second), 1, |kind, limiter, _| {
        for round in 0..3 {
            for &key in &keys {
                heat(limiter, 0, key);
                let hot = keys.iter().filter(|&&key| limiter.has_seat(key)).count();
                assert_eq!(hot, 1, "{kind:?} {round}");
            }
        }
        // Of two that are asked for in turn neither is hotter than the other.
        for _ in 0..1_000 {
            let _ = (limiter.ask_at(0, keys[0], 1), limiter.ask_at(0, keys[1], 1));
        }
        assert!(limiter.has_seat(keys[2]), "{kind:?}");
    });
}

#[test]
fn two_keys_that_want_one_seat_take_nothing_from_each_other() {
    let keys = rivals(&Open::default(), 1, 3);
    // Small enough that each gets the seat from the others.
    let quota = quota!(400 / second);
    with_each(quota, 2, |kind, limiter, _| {
        let mut taken = [0; 3];
        for turn in 0..60 {
            let who = turn % 3;
            heat(limiter, 0, keys[who]);
            for _ in 0..5 {
                taken[who] += limiter.ask_at(0, keys[who], 1).map_or(0, |grant| grant.permits());
            }
        }
        for (who, &key) in keys.iter().enumerate() {
            let all = taken[who] + limiter.drain(key) + take_all(limiter, &[0, 1], key);
            // What was in a seat that another got is lost.
            assert!((100..=400).contains(&all), "{kind:?} {all}");
        }
    });
}

#[test]
fn a_denial_says_when_to_come_again() {
    for places in [1, 4] {
        with_each(QUOTA, places, |kind, limiter, clock| {
            heat(limiter, 0, 1);
            let mut random = 7_u64;
            let mut denials = 0;
            for _ in 0..20_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // No more than what is there when what was prepaid before is lost.
                let permits = if random >> 60 == 0 { 1 + (random >> 40) % 400 } else { 1 };
                let Err(denied) = limiter.ask_at(0, 1, permits) else { continue };
                denials += 1;
                let wait = denied.retry_after().unwrap().as_nanos() as u64;
                // It is remembered, and is the same.
                assert_eq!(limiter.ask_at(0, 1, permits), Err(denied), "{kind:?}");
                clock.pass(wait / 3);
                let later = limiter.ask_at(0, 1, permits).unwrap_err().retry_after().unwrap();
                assert_eq!(later.as_nanos() as u64, wait - wait / 3, "{kind:?}");
                clock.pass(wait - wait / 3 - 1);
                // (Of a table up to a tick late.)
                assert!(kind.is_table() || limiter.ask_at(0, 1, permits).is_err(), "{kind:?}");
                clock.pass(1);
                assert!(limiter.ask_at(0, 1, permits).is_ok(), "{kind:?} {permits} {denied:?}");
            }
            assert!(denials > 200, "{kind:?} {denials}");
        });
    }
}

#[test]
fn a_denial_is_remembered_until_it_can_change() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        heat(limiter, 0, 1);
        take_all(limiter, &[0], 1);
        for _ in 0..3 {
            let (denied, readings) = clock.readings(|| limiter.ask_at(0, 1, 1));
            assert!(denied.is_err() && readings == 1, "{kind:?} {readings}");
            // One that has less than one has less than five.
            let (denied, readings) = clock.readings(|| limiter.ask_at(0, 1, 5));
            assert!(denied.is_err() && readings == 1, "{kind:?} {readings}");
        }
        limiter.touch();
        let (denied, readings) = clock.readings(|| limiter.ask_at(0, 1, 1));
        assert!(denied.is_err() && readings > 1, "{kind:?} {readings}");
        limiter.reset_key(1);
        assert!(limiter.ask_at(0, 1, 1).is_ok(), "{kind:?}");
        take_all(limiter, &[0], 1);
        limiter.remove(1);
        assert!(limiter.ask_at(0, 1, 5).is_ok(), "{kind:?}");
        take_all(limiter, &[0], 1);
        clock.pass(kind.quota(QUOTA).rate().period().as_nanos() as u64);
        assert!(limiter.ask_at(0, 1, 1).is_ok(), "{kind:?}");
    });
}

#[test]
fn several_tiers_of_a_table_can_have_seats_of_one_key() {
    let clock = super::chosen::Chosen::at(0);
    let table = KeyTable::builder_with(quota!(100 / second), Open::default(), &clock);
    let table = table.tier(QUOTA).memory(640).unwrap();
    let tiers = [0, 1].map(|tier| HotKeys::with_places(table.tier(tier).unwrap(), 1).unwrap());
    for _ in 0..64 {
        let _ = tiers.each_ref().map(|tier| tier.try_acquire(&7, 0));
    }
    assert!(tiers.iter().all(|tier| tier.is_hot(&7)));
    // What is spent in one is spent in both: a permit of the first is worth ten of the second.
    let (mut spent, mut turn) = (0, 0);
    while turn < 4_000 {
        let tier = turn % 2;
        let grant = tiers[tier].try_acquire(&7, 1);
        spent += grant.map_or(0, |_| if tier == 0 { 10 } else { 1 });
        turn += 1;
    }
    assert!((800..=1_000).contains(&spent), "{spent}");
    clock.pass(10 * EACH);
    with(super::subject::Kind::Tier, QUOTA, 1, &clock, |limiter| heat(limiter, 0, 7));
}
