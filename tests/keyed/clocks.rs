//! Clocks that go back, or far ahead.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::bucket::Carry;
use sluicegate::keyed::{Buckets, Tiers};
use sluicegate::*;

use super::{InOneShard, SECOND, keyed};
use crate::support::held_up::HeldUp;

const HOUR: Duration = Duration::from_secs(3_600);

type Users<'a> = Keyed<u64, Buckets<&'a ManualClock>, InOneShard>;

fn in_one_shard(quota: Quota, clock: &ManualClock) -> Users<'_> {
    let buckets = Buckets::with_clock(quota, clock);
    Keyed::builder(buckets).hasher(InOneShard::default()).build().unwrap()
}

#[test]
fn a_clock_that_goes_back_is_believed_and_the_store_heals() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = in_one_shard(quota!(10 / second), &clock);
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
    // The one that was known, and all that were not.
    assert_eq!(users.healed(), 2);
    // Behind the beginning.
    clock.rewind(SECOND * 7_200);
    for _ in 0..2 {
        assert_eq!(users.try_acquire(&1, 3).unwrap().permits(), 3);
        assert_eq!(users.try_acquire(&2, 3).unwrap().permits(), 3);
    }
    clock.advance(SECOND);
    assert!(users.try_acquire(&1, 10).is_ok());
    assert_eq!(users.healed(), 3);
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

type TwoTiers<'a> = Keyed<u64, Buckets<&'a ManualClock, Tiers<fn(&u64) -> usize>>, InOneShard>;

/// A store whose keys are of two tiers, the first fast, and were forgotten at the present
/// time; they had been emptied an hour before.
fn forgotten(clock: &ManualClock) -> TwoTiers<'_> {
    let quotas = [quota!(10 / second), quota!(10 / hour)];
    let tier: fn(&u64) -> usize = |key| (key % 2) as usize;
    let buckets = Buckets::tiered_with_clock(quotas, tier, clock).unwrap();
    let users = Keyed::builder(buckets).hasher(InOneShard::default()).build().unwrap();
    for key in 0..10 {
        users.try_acquire(&key, 10).unwrap();
    }
    clock.advance(HOUR);
    assert_eq!((users.sweep(), users.len()), (10, 0));
    users
}

#[test]
fn a_key_that_was_forgotten_has_no_second_burst_by_a_clock_that_is_far_behind() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = forgotten(&clock);
    clock.rewind(HOUR / 2);
    // As if it had been kept.
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 5);
    assert_eq!(users.try_acquire(&1, 2).unwrap().remaining(), 3);
    assert_eq!(users.healed(), 1, "the other tier has no debt that is so deep");
    clock.advance(HOUR / 2);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 8);
    assert_eq!(users.peek(&3, 0).unwrap().remaining(), 10);
}

#[test]
fn keys_that_are_not_known_heal_with_their_tier_alone() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = forgotten(&clock);
    clock.rewind(HOUR / 2);
    assert_eq!(users.try_acquire(&0, 10).unwrap().remaining(), 0);
    assert_eq!(users.try_acquire(&1, 5).unwrap().remaining(), 0);
    assert_eq!(users.try_acquire(&2, 10).unwrap().remaining(), 0);
    assert_eq!(users.healed(), 1);
}

/// State remembered of a clock that has gone back is not in the way of what is new.
#[test]
fn after_a_clock_has_gone_back_one_that_is_a_little_behind_brings_no_key_back_fuller() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = forgotten(&clock);
    clock.rewind(HOUR / 2);
    users.try_acquire(&0, 5).unwrap();
    clock.advance(SECOND / 2);
    assert_eq!(users.sweep(), 1);
    clock.rewind(SECOND / 2);
    assert_eq!(users.try_acquire(&0, 5).unwrap().remaining(), 5);
    assert!(users.try_acquire(&0, 1).is_err());
}

#[test]
fn a_change_by_a_clock_that_is_far_behind_carries_what_a_forgotten_key_would_have() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = forgotten(&clock);
    clock.rewind(HOUR / 2);
    users.reconfigure_tier(1, quota!(1 / hour, burst 100), Carry::Keep).unwrap();
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 5);
    clock.advance(HOUR);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 6);
}

#[test]
fn a_key_that_is_restored_by_a_clock_that_is_far_behind_has_what_it_had() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = forgotten(&clock);
    users.try_acquire(&1, 7).unwrap();
    let snapshot = users.snapshot_of(&1).unwrap();
    assert!(users.remove(&1));
    // All keys were full when they were forgotten, which is far ahead of the clock then.
    clock.rewind(HOUR / 2);
    assert_eq!(users.restore([(1, snapshot)], Duration::ZERO), 0);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 3);
    clock.advance(HOUR / 2);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 8);
}

#[test]
fn a_sweep_by_a_thread_whose_clock_is_behind_brings_no_key_back_fuller() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = in_one_shard(quota!(10 / second), &clock);
    users.try_acquire(&1, 5).unwrap();
    clock.advance(SECOND / 2);
    users.try_acquire(&2, 5).unwrap();
    assert_eq!(users.sweep(), 1);
    // By a clock that is behind another key is forgotten, which was made full by it.
    clock.rewind(SECOND / 2);
    users.reset(&2);
    assert_eq!(users.sweep(), 1);
    assert_eq!(users.try_acquire(&1, 5).unwrap().remaining(), 5);
    clock.advance(SECOND / 2);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 5);
}

#[test]
fn a_key_that_is_restored_by_a_thread_whose_clock_is_behind_comes_back_no_fuller() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = in_one_shard(quota!(10 / second), &clock);
    users.try_acquire(&1, 5).unwrap();
    let snapshot = users.snapshot_of(&1).unwrap();
    clock.advance(SECOND / 2);
    assert_eq!(users.sweep(), 1);
    clock.rewind(SECOND / 2);
    assert_eq!(users.restore([(1, snapshot)], Duration::ZERO), 0);
    // As of when it was forgotten, or it would have by then what was earned until then, too.
    clock.advance(SECOND / 2);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 5);
}

/// A key that is not known holds less than a permit only then.
#[test]
fn a_drain_of_less_than_a_permit_is_remembered() {
    let clock = ManualClock::at(86_400_000_000_000);
    let quota = quota!(1 / hour);
    let (users, bucket) = (in_one_shard(quota, &clock), TokenBucket::with_clock(quota, &clock));
    users.try_acquire(&1, 1).unwrap();
    bucket.try_acquire(1).unwrap();
    clock.advance(HOUR);
    assert_eq!(users.sweep(), 1);
    clock.rewind(HOUR / 2);
    assert_eq!((users.drain(&1).unwrap().permits(), bucket.drain().permits()), (0, 0));
    assert!(users.contains(&1));
    for _ in 0..4 {
        clock.advance(HOUR / 4);
        let same = |answer: Result<Grant, Denied>| answer.map_err(|denied| denied.retry_after());
        let [user, bucket] = [users.peek(&1, 1), bucket.peek(1)].map(same);
        assert_eq!(user.is_ok(), bucket.is_ok());
        assert_eq!(user.err(), bucket.err());
    }
    // As ever, what takes nothing makes no key known.
    assert!(users.try_acquire(&2, 0).is_ok() && !users.contains(&2));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire(u64, u64),
    Sweep,
    To(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..2_u64, 3..6_u64).prop_map(|(key, permits)| Step::Acquire(key, permits)),
        1 => Just(Step::Sweep),
        2 => (100..108_u64).prop_map(Step::To),
    ]
}

proptest! {
    /// The clock goes to and fro. Whatever is forgotten between, a key is granted its burst,
    /// and what the highest reading has earned.
    #[test]
    fn no_key_is_granted_more_than_the_highest_reading_has_earned(
        steps in proptest::collection::vec(step(), 1..100),
    ) {
        let clock = ManualClock::at(100_000_000_000);
        // Of so much debt that nothing heals.
        let quota = quota!(1 / second, burst 5).with_max_debt(100).unwrap();
        let users = in_one_shard(quota, &clock);
        let (mut granted, mut latest) = ([0; 2], 100);
        for step in steps {
            match step {
                Step::Acquire(key, permits) => {
                    if users.try_acquire(&key, permits).is_ok() {
                        granted[key as usize] += permits;
                        prop_assert!(granted[key as usize] <= 5 + latest - 100);
                    }
                }
                Step::Sweep => {
                    users.sweep();
                }
                Step::To(seconds) => {
                    clock.set_nanos(seconds * 1_000_000_000);
                    latest = latest.max(seconds);
                }
            }
        }
        prop_assert_eq!(users.healed(), 0);
    }
}

/// At the highest rate the word of a level comes round in 136 years, and is taken for one
/// that is ahead after half of that.
#[test]
fn a_store_that_is_asked_after_very_long_answers_as_a_bucket() {
    const YEAR: Duration = Duration::from_secs(31_557_600);
    let quota = quota!(2_147_483_648 / second, burst 1_000);
    for years in [10, 60, 67, 69, 80, 100, 130, 145, 147, 200, 500] {
        let clock = ManualClock::new();
        let (users, bucket) = (keyed::<u64>(quota, &clock), TokenBucket::with_clock(quota, &clock));
        users.try_acquire(&1, 300).unwrap();
        bucket.try_acquire(300).unwrap();
        clock.advance(YEAR * years);
        for key in [1, 2] {
            assert_eq!(users.peek(&key, 0).unwrap().remaining(), 1_000, "{years}");
            assert_eq!(users.try_acquire(&key, 900).unwrap().remaining(), 100, "{years}");
            assert!(users.try_acquire(&key, 101).is_err());
        }
        assert_eq!(bucket.try_acquire(900).unwrap().remaining(), 100);
        // Beyond the end a bucket that can grant does not look, and heals when it denies.
        if years < 146 {
            assert_eq!(users.healed() > 0, bucket.healed() > 0, "{years}");
        }
        // Also those that come back.
        clock.advance(SECOND);
        assert_eq!(users.sweep(), 2);
        assert_eq!(users.try_acquire(&1, 1_000).unwrap().remaining(), 0);
    }
}

#[test]
fn a_look_by_a_thread_whose_clock_is_behind_tells_what_it_would_be_granted() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = in_one_shard(quota!(10 / second), &clock);
    users.try_acquire(&1, 5).unwrap();
    // An unknown key has ten at first, and all of the burst a second later.
    users.reconfigure(quota!(10 / second, burst 20), Carry::Keep);
    clock.advance(SECOND * 3 / 2);
    assert_eq!(users.sweep(), 1);
    clock.rewind(SECOND * 4 / 5);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 20);
    assert_eq!(users.try_acquire(&1, 20).unwrap().remaining(), 0);
}

#[test]
fn a_clock_before_the_beginning_of_a_store_that_was_never_asked_is_worth_one_burst() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = in_one_shard(quota!(10 / second), &clock);
    clock.rewind(SECOND * 7_200);
    assert!(users.try_acquire(&1, 10).is_ok());
    assert_eq!(users.healed(), 1);
    assert!(users.try_acquire(&1, 1).is_err());
}

#[test]
fn a_sweep_that_waits_for_calls_heals_no_key_that_they_spent_from() {
    let clock = HeldUp::at(SECOND.as_nanos() as u64);
    let quota = quota!(1 / second, burst 10, max_debt 0);
    let users = Keyed::<u64, _>::with_clock(quota, &clock);
    let drain_all = || (0..1_000).for_each(|key| assert!(users.drain(&key).is_ok()));
    drain_all();
    let (has_read, reads) = channel();
    let (has_spent, spends) = channel();
    clock.meanwhile(move || {
        has_read.send(()).unwrap();
        // In vain, if the keys of the shard are locked by then.
        let _ = spends.recv_timeout(SECOND / 10);
    });
    thread::scope(|scope| {
        let (drain_all, clock) = (&drain_all, &clock);
        scope.spawn(move || {
            reads.recv().unwrap();
            clock.manual.advance(3 * SECOND);
            drain_all();
            // Nobody listens any more if the sweep has gone on.
            let _ = has_spent.send(());
        });
        users.sweep();
    });
    assert_eq!(users.healed(), 0);
    assert!((0..1_000).all(|key| users.try_acquire(&key, 1).is_err()));
}
