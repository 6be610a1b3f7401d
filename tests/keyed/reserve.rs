//! Reservations of a key's permits. What is checked:
//!
//! * instants, refusals and cancellations are those of a bucket without keys, in any mixture of calls;
//! * nothing is given back to a key that was changed, or evicted, or to another one;
//! * keys for which there is no space are answered as the store's policy says.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::Carry;
use sluicegate::keyed::{Buckets, TopKeys, WhenFull};
use sluicegate::wait::{AcquireError, Reservation, Reserve};
use sluicegate::*;

const MILLI: Duration = Duration::from_millis(1);

type Users<'a> = Keyed<String, Buckets<&'a ManualClock>>;

fn users(clock: &ManualClock) -> Users<'_> {
    Keyed::with_clock(quota!(1_000 / second, burst 10), clock)
}

fn balance(users: &Users<'_>, key: &str) -> i64 {
    users.peek(key, 0).unwrap().balance()
}

#[test]
fn reservations_of_a_key_follow_each_other_and_the_newest_can_be_cancelled() {
    let clock = ManualClock::at(1_000_000_000);
    let users = users(&clock);
    let first = users.reserve("ada", 10).unwrap();
    let second = users.reserve("ada", 4).unwrap();
    let third = users.reserve("ada", 5).unwrap();
    let waits = [&first, &second, &third].map(Reservation::ready_after);
    assert_eq!(waits, [Duration::ZERO, 4 * MILLI, 9 * MILLI]);
    assert_eq!((third.key(), third.permits(), third.at_nanos()), ("ada", 5, 1_009_000_000));
    assert_eq!(users.reserve("bob", 10).unwrap().ready_after(), Duration::ZERO);
    clock.advance(3 * MILLI);
    assert_eq!((third.wait_left(), third.ready_after()), (6 * MILLI, 9 * MILLI));
    let full = AcquireError::LineFull { retry_after: MILLI };
    assert_eq!(users.reserve("ada", 5).unwrap_err(), full);
    assert!(third.cancel() && !first.cancel() && second.cancel());
    assert_eq!(balance(&users, "ada"), 3);
    assert!(users.reserve("cy", 0).unwrap().cancel() && !users.contains("cy"));
}

#[test]
fn a_reservation_of_a_key_that_comes_too_late_takes_nothing() {
    let clock = ManualClock::new();
    let users = users(&clock);
    users.force("ada", 12).unwrap();
    let late = AcquireError::TimedOut { retry_after: 3 * MILLI };
    assert_eq!(users.reserve_within("ada", 1, 2 * MILLI).unwrap_err(), late);
    assert_eq!(users.reserve("ada", 11).unwrap_err(), AcquireError::TooLarge { limit: 10 });
    assert_eq!(users.reserve("bob", 11).unwrap_err(), AcquireError::TooLarge { limit: 10 });
    assert_eq!((balance(&users, "ada"), users.len()), (-2, 1));
    assert_eq!(users.reserve_within("ada", 1, 3 * MILLI).unwrap().ready_after(), 3 * MILLI);
}

/// After a change of the key, its level may come to be what it was, with other grants in it.
#[test]
fn nothing_is_given_back_after_a_change_even_if_the_level_is_as_before() {
    let changes: [fn(&Users<'_>); 4] = [
        |users| users.reset("ada"),
        |users| assert!(users.remove("ada")),
        |users| users.credit("ada", 4),
        |users| users.reconfigure(quota!(1_000 / second, burst 10), Carry::Reset),
    ];
    for change in changes {
        let clock = ManualClock::new();
        let users = users(&clock);
        let reservation = users.reserve("ada", 4).unwrap();
        change(&users);
        users.try_acquire("ada", 4).unwrap();
        assert!(!reservation.cancel());
        assert_eq!(balance(&users, "ada"), 6);
    }
}

#[test]
fn an_evicted_key_and_one_that_came_back_are_given_nothing() {
    let clock = ManualClock::new();
    let users = users(&clock);
    let (ada, bob) = (users.reserve("ada", 4).unwrap(), users.reserve("bob", 14).unwrap_err());
    assert_eq!(bob, AcquireError::TooLarge { limit: 10 });
    let bob = [10, 4].map(|permits| users.reserve("bob", permits).unwrap());
    clock.advance(4 * MILLI);
    // In debt no longer, but not full.
    assert_eq!((users.sweep(), users.len()), (1, 1));
    assert!(!ada.cancel() && !users.contains("ada"));
    clock.advance(20 * MILLI);
    assert_eq!(users.sweep(), 1);
    users.try_acquire("bob", 4).unwrap();
    let [_, second] = bob;
    assert!(!second.cancel());
    assert_eq!((balance(&users, "bob"), balance(&users, "ada")), (6, 10));
}

#[test]
fn a_key_without_space_is_answered_by_the_policy() {
    let clock = ManualClock::new();
    let share = WhenFull::Share(quota!(100 / second, burst 5));
    for policy in [WhenFull::Deny, WhenFull::Admit, share] {
        let buckets = Buckets::with_clock(quota!(1_000 / second, burst 10), &clock);
        let builder = Keyed::<String, _>::builder(buckets).max_keys(1).when_full(policy);
        let users = builder.build().unwrap();
        let _ = users.reserve("ada", 10).unwrap();
        match policy {
            WhenFull::Deny => {
                let full = users.reserve("bob", 1).unwrap_err();
                assert!(matches!(full, AcquireError::LineFull { .. }));
            }
            WhenFull::Admit => {
                let free = users.reserve("bob", 3).unwrap();
                assert_eq!(free.ready_after(), Duration::ZERO);
                assert!(free.cancel());
            }
            _ => {
                let first = users.reserve("bob", 5).unwrap();
                let second = users.reserve("cy", 1).unwrap();
                assert_eq!(second.ready_after(), 10 * MILLI);
                assert!(!first.cancel() && second.cancel());
                let full = users.reserve("cy", 6).unwrap_err();
                assert!(matches!(full, AcquireError::LineFull { .. }));
            }
        }
        assert_eq!(users.len(), 1);
    }
}

/// Several keys behave as several buckets do, each call of which is compared.
#[test]
fn any_mixture_of_calls_is_answered_as_by_a_bucket_for_each_key() {
    for seed in 0..40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let clock = ManualClock::new();
        let quota = quota!(1_000 / second, burst 10, max_debt 7);
        let keyed = Keyed::<u64, _>::with_clock(quota, &clock);
        let buckets = [(); 3].map(|()| TokenBucket::with_clock(quota, &clock));
        let keys = [0, 1, 2];
        let mut kept = Vec::new();
        for _ in 0..400 {
            let key = random.random_range(0..3);
            let (bucket, permits) = (&buckets[key], random.random_range(0..12));
            let key = &keys[key];
            match random.random_range(0..6) {
                0 => clock.advance(Duration::from_micros(random.random_range(0..4_000))),
                1 => assert_eq!(
                    keyed.try_acquire(key, permits).is_ok(),
                    bucket.try_acquire(permits).is_ok()
                ),
                2 if !kept.is_empty() => {
                    let (ours, theirs): (Reservation<'_, u64>, Reservation<'_>) =
                        kept.swap_remove(random.random_range(0..kept.len()));
                    // A bucket that is full again may be evicted: then there is nothing to give back.
                    let was_known = keyed.contains(ours.key());
                    let (ours, theirs) = (ours.cancel(), theirs.cancel());
                    assert!(ours == theirs || !was_known && !ours);
                }
                3 => _ = (keyed.sweep(), keyed.len()),
                _ => {
                    let longest = Duration::from_micros(random.random_range(0..12_000));
                    let ours = keyed.reserve_within(key, permits, longest);
                    let theirs = bucket.reserve_within(permits, longest);
                    match (ours, theirs) {
                        (Ok(ours), Ok(theirs)) => {
                            assert_eq!(ours.at_nanos(), theirs.at_nanos());
                            assert_eq!(ours.ready_after(), theirs.ready_after());
                            if random.random() {
                                kept.push((ours, theirs));
                            }
                        }
                        (ours, theirs) => assert_eq!(ours.unwrap_err(), theirs.unwrap_err()),
                    }
                }
            }
            for (key, bucket) in keys.iter().zip(&buckets) {
                let balances = (keyed.peek(key, 0).unwrap(), bucket.peek(0).unwrap());
                assert_eq!(balances.0.balance(), balances.1.balance());
            }
        }
    }
}

#[test]
fn the_observer_is_told_of_reservations_once() {
    let clock = ManualClock::new();
    let top = TopKeys::<u64>::new(4);
    let buckets = Buckets::with_clock(quota!(1_000 / second, burst 10), &clock);
    let users = Keyed::<u64, _>::builder(buckets).observer(&top).build().unwrap();
    let _ = users.reserve(&7, 10).unwrap();
    assert!(users.reserve_within(&7, 1, Duration::ZERO).is_err());
    assert_eq!(top.granted().len(), 1);
    assert_eq!(top.denied().len(), 1);
}
