//! Penalties for each key.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sluicegate::keyed::Penalties;
use sluicegate::penalty::{Offence, PenaltyRule};
use sluicegate::*;

use super::{SECOND, rule};

const MINUTE: Duration = Duration::from_secs(60);

type Store<'a> = Keyed<u64, Penalties<&'a ManualClock>>;

fn store(clock: &ManualClock, rule: PenaltyRule, max_keys: usize) -> Store<'_> {
    Keyed::builder(Penalties::with_clock(rule, clock)).max_keys(max_keys).build().unwrap()
}

#[test]
fn only_a_key_that_offends_is_remembered() {
    let clock = ManualClock::new();
    let keyed = store(&clock, rule(rate!(2 / minute), MINUTE), 10);
    for key in 0..10_000 {
        assert_eq!(keyed.try_acquire(&key, 3).unwrap().permits(), 3);
        assert_eq!(keyed.try_acquire_up_to(&key, 3).unwrap().permits(), 3);
        assert!(keyed.peek(&key, 1).is_ok() && !keyed.clear(&key));
        assert!(keyed.offend(&key, 0).is_ok());
    }
    let batch = keyed.try_acquire_batch(&[1, 2, 3], 1);
    assert!(keyed.is_empty() && batch.iter().all(Result::is_ok));

    assert_eq!(keyed.offend(&7, 1), Ok(Offence::Counted { remaining: 1 }));
    assert_eq!((keyed.len(), keyed.try_acquire(&7, 1).is_ok()), (1, true));
    assert!(keyed.offend(&7, 1).unwrap().is_penalized());
    assert!(keyed.try_acquire(&7, 1).is_err() && keyed.try_acquire_up_to(&7, 1).is_err());
    assert!(keyed.try_acquire_batch(&[7, 8], 1)[0].is_err());
    assert!(keyed.try_acquire(&8, 1).is_ok());
    assert_eq!(keyed.iter().map(|(key, grant)| (key, grant.remaining())).next(), Some((7, 0)));
}

#[test]
fn the_penalized_keys_can_be_listed_imposed_and_cleared() {
    let clock = ManualClock::new();
    let keyed = store(&clock, rule(rate!(2 / minute), MINUTE), 100);
    for key in 0..10 {
        keyed.offend(&key, 1 + key % 2).unwrap();
    }
    keyed.penalize_for(&4, 5 * MINUTE).unwrap();
    let mut listed: Vec<_> =
        keyed.penalized().map(|(key, left)| (key, left.as_secs() / 60)).collect();
    listed.sort_unstable();
    assert_eq!(listed, [(1, 1), (3, 1), (4, 5), (5, 1), (7, 1), (9, 1)]);
    assert!(keyed.clear(&4) && !keyed.clear(&4) && keyed.remove(&5));
    keyed.reset(&7);
    assert!([4, 5, 7].iter().all(|key| keyed.try_acquire(key, 1).is_ok()));
    clock.advance(MINUTE + SECOND);
    assert_eq!(keyed.penalized().count(), 0);
    // Idle keys go: two windows after an offence, and at the end of a penalty.
    clock.advance(MINUTE);
    keyed.sweep();
    assert!(keyed.is_empty());
}

#[test]
fn a_full_store_keeps_every_penalty_and_takes_no_new_offender() {
    let clock = ManualClock::new();
    let keyed = store(&clock, rule(rate!(2 / minute), 10 * MINUTE), 50);
    for key in 0..50 {
        assert!(keyed.offend(&key, 2).unwrap().is_penalized());
    }
    // A flood of offenders that are not known.
    for key in 1_000..5_000 {
        let denied = keyed.offend(&key, 2).unwrap_err();
        let Denied::Full { retry_after } = denied else { panic!("{denied:?}") };
        assert!(retry_after > Duration::ZERO && retry_after <= 10 * MINUTE + SECOND);
        assert!(keyed.penalize_for(&key, MINUTE).is_err());
        assert!(keyed.try_acquire(&key, 1).is_ok(), "its offence was not counted");
    }
    assert!((0..50).all(|key| keyed.try_acquire(&key, 1).is_err()), "no penalty is lost");
    assert_eq!(keyed.len(), 50);
    // Those that are over make space.
    clock.advance(10 * MINUTE + SECOND);
    for key in 1_000..1_050 {
        assert!(keyed.offend(&key, 2).unwrap().is_penalized());
    }
    assert_eq!(keyed.len(), 50);
}

#[test]
fn a_key_is_remembered_as_long_as_its_next_penalty_would_be_longer() {
    let clock = ManualClock::new();
    let doubled = rule(rate!(1 / minute), MINUTE).doubled_up_to(4 * MINUTE, 60 * MINUTE).unwrap();
    let keyed = store(&clock, doubled, 1);
    let minutes = || keyed.offend(&1, 1).unwrap().retry_after().unwrap().as_secs() / 60;
    assert_eq!(minutes(), 1);
    clock.advance(2 * MINUTE);
    keyed.sweep();
    assert!(keyed.offend(&2, 1).is_err(), "the only place is taken");
    assert_eq!(minutes(), 2);
    clock.advance(70 * MINUTE);
    assert!(keyed.offend(&2, 1).unwrap().is_penalized());
    assert!(!keyed.contains(&1));
}

#[test]
fn a_change_of_the_rule_holds_for_all_keys() {
    let clock = ManualClock::new();
    let keyed = store(&clock, rule(rate!(5 / minute), MINUTE), 100);
    keyed.offend(&1, 1).unwrap();
    keyed.limiter().reconfigure(rule(rate!(2 / minute), MINUTE));
    assert!(keyed.offend(&1, 1).unwrap().is_penalized());
    assert_eq!(keyed.offend(&2, 1), Ok(Offence::Counted { remaining: 1 }));
    assert_eq!(keyed.limiter().rule(), rule(rate!(2 / minute), MINUTE));
}

#[test]
fn a_clock_set_back_loses_no_penalty() {
    let clock = ManualClock::at(1_000_000_000_000_000);
    let keyed = store(&clock, rule(rate!(1 / minute), MINUTE), 2);
    keyed.offend(&1, 1).unwrap();
    clock.set_nanos(0);
    keyed.sweep();
    assert!(keyed.try_acquire(&1, 1).is_err());
    assert!(keyed.try_acquire(&1, 1).unwrap_err().retry_after().unwrap() < 2 * MINUTE);
    assert_eq!((keyed.limiter().healed(), keyed.healed()), (1, 0));
}

#[test]
fn threads_that_offend_for_the_same_new_keys_begin_one_penalty_each() {
    let keyed: Keyed<String, _> = Keyed::with(Penalties::with_clock(
        rule(rate!(4 / hour), 60 * MINUTE),
        Arc::new(ManualClock::new()),
    ));
    let begun = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let offend = |key: u64| keyed.offend(format!("{key}").as_str(), 1).unwrap();
                    (0..500).filter(|&key| offend(key).is_penalized()).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!((begun, keyed.penalized().count()), (500, 500));
}

#[test]
fn a_store_of_penalties_is_a_store_like_the_others() {
    let clock = ManualClock::new();
    let keyed = store(&clock, rule(rate!(1 / minute), MINUTE), 10);
    keyed.offend(&1, 1).unwrap();
    let store: &dyn KeyedLimiter<u64> = &keyed;
    assert!(store.try_acquire(&1, 1).is_err() && store.try_acquire(&2, 1).is_ok());
    store.reset(&1);
    assert!(store.try_acquire(&1, 1).is_ok());
}
