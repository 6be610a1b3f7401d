//! Many keys at once.

use std::hash::{BuildHasherDefault, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::keyed::Buckets;
use sluicegate::*;

use super::{Parity, keyed};
use crate::support::held_up::HeldUp;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Known and new keys, some more than once, while the clock moves from batch to batch.
    #[test]
    fn a_batch_is_answered_as_its_calls_one_after_the_other(
        batches in proptest::collection::vec(
            (proptest::collection::vec(0..40_u64, 0..60), 0..5_u64, 0..2_000_000_000_u64),
            1..12,
        ),
    ) {
        let clock = ManualClock::new();
        // One for both, so that the same keys share a shard.
        let hasher = RandomState::new();
        let [together, apart] = [(); 2].map(|()| {
            let buckets = Buckets::with_clock(quota!(1 / second, burst 3), &clock);
            let builder = Keyed::<u64, _>::builder(buckets).hasher(hasher.clone());
            builder.max_keys(30).build().unwrap()
        });
        for (keys, permits, nanos) in batches {
            let singles: Vec<_> = keys.iter().map(|key| apart.try_acquire(key, permits)).collect();
            prop_assert_eq!(together.try_acquire_batch(&keys, permits), singles);
            prop_assert_eq!(together.len(), apart.len());
            clock.advance_nanos(nanos);
        }
    }
}

/// The closure that is called with an answer may ask again: no lock is held.
#[test]
fn an_answer_may_ask_for_keys_itself() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1 / second, burst 100), &clock);
    let keys: Vec<u64> = (0..50).collect();
    for _ in 0..2 {
        users.try_acquire_batch_with(&keys, 1, |index, answer| {
            assert!(answer.is_ok());
            assert!(users.try_acquire(&keys[index], 1).is_ok());
            users.remove(&((index as u64 + 1) % 50));
            assert!(users.try_acquire(&(1_000 + index as u64), 1).is_ok());
        });
    }
}

/// Two threads ask by batches that overlap, while a third puts in others and sweeps.
#[test]
fn batches_of_several_threads_admit_no_more_than_the_bursts() {
    const KEYS: u64 = 300;
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1 / hour, burst 50), &clock);
    let granted = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..2 {
            let (users, granted) = (&users, &granted);
            scope.spawn(move || {
                for round in 0..40 {
                    let keys: Vec<u64> =
                        (0..KEYS).map(|key| (key * 7 + round * 11 + thread) % KEYS).collect();
                    users.try_acquire_batch_with(&keys, 1, |_, answer| {
                        granted.fetch_add(u64::from(answer.is_ok()), Relaxed);
                    });
                }
            });
        }
        for guest in 0..2_000 {
            let _ = users.try_acquire(&(KEYS + guest), 1);
            if guest % 100 == 0 {
                users.sweep();
            }
        }
    });
    assert_eq!(granted.into_inner(), 50 * KEYS);
}

/// One caller has the lock of a shard, and does not go on until a key of another shard, which
/// comes first in a batch, was answered and taken out. A batch that waited for the one lock and
/// held the other would wait for ever; here, until the holder gives up.
#[test]
fn a_batch_that_waits_for_one_shard_is_in_nobodys_way_in_another() {
    const LONG: Duration = Duration::from_secs(20);
    let clock = HeldUp::at(1_000);
    let buckets = Buckets::with_clock(quota!(10 / second), &clock);
    let hasher = BuildHasherDefault::<Parity>::default();
    let users = Keyed::<u64, _>::builder(buckets).hasher(hasher).build().unwrap();
    // In either order of bytes one is even and one is odd.
    let (elsewhere, here) = (u64::MAX, 0);
    for key in [elsewhere, here] {
        users.try_acquire(&key, 5).unwrap();
    }
    let (is_held, holds) = channel();
    let (may_go, goes) = channel();
    let (was_told, tells) = channel();
    clock.meanwhile(move || {
        is_held.send(()).unwrap();
        was_told.send(goes.recv_timeout(LONG).is_ok()).unwrap();
    });
    thread::scope(|scope| {
        // Its clock is read under the lock.
        scope.spawn(|| users.reset(&here));
        holds.recv().unwrap();
        let mut answered = Vec::new();
        users.try_acquire_batch_with([&elsewhere, &here], 1, |index, answer| {
            answered.push(answer.unwrap().remaining());
            if index == 0 {
                assert!(users.remove(&elsewhere));
                // Nobody listens any more if the holder gave up.
                let _ = may_go.send(());
            }
        });
        assert!(tells.recv().unwrap(), "the holder of a lock was waited for with another");
        assert_eq!(answered, [4, 9]);
    });
}

#[test]
fn an_iterator_may_claim_any_number_of_keys() {
    struct Boastful<'a>(std::slice::Iter<'a, u64>);

    impl<'a> Iterator for Boastful<'a> {
        type Item = &'a u64;

        fn next(&mut self) -> Option<&'a u64> {
            self.0.next()
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (usize::MAX, None)
        }
    }

    let users = Keyed::<u64>::new(quota!(1 / hour));
    let answers = users.try_acquire_batch(Boastful([7, 8, 7].iter()), 1);
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
}
