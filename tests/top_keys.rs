//! The keys that take the most. What is checked, against exact counts:
//!
//! * every key that has more than its share is among those that are told;
//! * a count is never too low, and too high by no more than its error, and that by no more
//!   than a share;
//! * so it is of what several threads counted, but for decisions that were lost;
//! * a key whose comparison panics does no harm.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::keyed::{Buckets, Observe, TopKey, TopKeys};
use sluicegate::*;

/// Tells an observer of a decision on `permits`.
fn decide<K: ?Sized>(observer: &impl Observe<K>, key: &K, permits: u64, is_granted: bool) {
    static BUCKET: LazyLock<TokenBucket<ManualClock>> =
        LazyLock::new(|| TokenBucket::with_clock(quota!(4_294_967_296 / hour), ManualClock::new()));
    let answer = BUCKET.peek(if is_granted { permits } else { u64::MAX });
    observer.decided(key, permits, answer.as_ref());
}

/// Streams of `calls` keys, the `n`th of them as frequent as `1 / n^skew`.
fn zipf(skew: f64, keys: u32, calls: usize, seed: u64) -> Vec<u64> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += f64::from(rank).powf(-skew);
            sum
        })
        .collect();
    let mut random = SmallRng::seed_from_u64(seed);
    (0..calls)
        .map(|_| {
            let at = random.random_range(0.0..sum);
            sums.partition_point(|sum| *sum <= at) as u64
        })
        .collect()
}

/// Checks `top`, of `most` keys, against what was counted but for `lost`.
/// Returns the key, the count and the error of each.
fn shown<K>(top: &[TopKey<K>]) -> Vec<(&K, u64, u64)> {
    top.iter().map(|top| (&top.key, top.count, top.error)).collect()
}

fn check(top: &[TopKey<u64>], most: usize, exact: &HashMap<u64, u64>, lost: u64) {
    let all: u64 = exact.values().sum();
    let share = all / most as u64;
    assert!(top.len() <= most && (top.len() == most || top.len() == exact.len()));
    assert!(top.is_sorted_by(|one, next| one.count >= next.count));
    for TopKey { key, count, error, .. } in top {
        let truly = exact[key];
        assert!(truly <= count + lost, "{key}: {count} is below {truly}");
        assert!(count - error <= truly, "{key}: {count} - {error} is above {truly}");
        assert!(*error <= share, "{key}: {error} of {all}");
    }
    for (key, count) in exact {
        let is_there = top.iter().any(|top| top.key == *key);
        assert!(is_there || *count <= share + lost, "{key} has {count} of {all}");
    }
}

#[test]
fn keys_with_more_than_their_share_are_found_and_counts_are_right_within_their_errors() {
    for skew in [0.0, 0.6, 1.0, 1.5] {
        for (keys, most) in [(5, 10), (10, 10), (300, 10), (20_000, 100), (20_000, 1)] {
            let top = TopKeys::<u64>::new(most);
            let (mut granted, mut denied) = (HashMap::new(), HashMap::new());
            for (turn, key) in zipf(skew, keys, 20_000, 7).into_iter().enumerate() {
                let (permits, is_granted) = ((turn % 5) as u64, turn % 3 > 0);
                decide(&top, &key, permits, is_granted);
                if !is_granted {
                    *denied.entry(key).or_insert(0) += 1;
                } else if permits > 0 {
                    *granted.entry(key).or_insert(0) += permits;
                }
            }
            check(&top.granted(), most, &granted, 0);
            check(&top.denied(), most, &denied, 0);
            assert_eq!(top.lost(), 0);
        }
    }
}

#[test]
fn what_several_threads_count_is_merged() {
    for threads in [2, 4, 8] {
        let top = TopKeys::<u64>::new(50);
        let streams: Vec<_> = (0..threads).map(|seed| zipf(1.1, 5_000, 20_000, seed)).collect();
        thread::scope(|scope| {
            for stream in &streams {
                let top = &top;
                scope.spawn(move || stream.iter().for_each(|key| decide(top, key, 1, true)));
            }
        });
        let mut exact = HashMap::new();
        streams.iter().flatten().for_each(|key| *exact.entry(*key).or_insert(0) += 1);
        // One of four places is free to each of four.
        assert!(threads > 4 || top.lost() == 0);
        check(&top.granted(), 50, &exact, top.lost());
    }
}

#[test]
fn a_look_at_any_time_is_of_what_was_counted_before() {
    let top = TopKeys::<u64>::new(10);
    thread::scope(|scope| {
        let writer =
            scope.spawn(|| (0..50_000).for_each(|turn| decide(&top, &(turn % 4), 1, true)));
        while !writer.is_finished() {
            for TopKey { key, count, error, .. } in top.granted() {
                assert!(key < 4 && error == 0 && count <= 12_500);
            }
        }
    });
    let counted: u64 = top.granted().iter().map(|top| top.count).sum();
    assert_eq!(counted + top.lost(), 50_000);
}

#[test]
fn names_are_borrowed_and_all_is_forgotten_when_that_is_asked_for() {
    let top = Arc::new(TopKeys::<str>::new(0));
    decide(&top, "a", 5, true);
    decide(&top, "b", 2, true);
    decide(&top, "b", 0, true);
    let granted = top.granted();
    assert_eq!(shown(&granted), [(&"b".to_owned(), 7, 5)]);
    assert_eq!(top.denied(), []);
    top.clear();
    assert_eq!(top.granted(), []);
    decide(&top, "c", 1 << 32, true);
    decide(&top, "c", 1 << 32, true);
    assert_eq!(top.granted()[0].count, 1 << 33);
    assert!(format!("{top:?}").contains("keys"));
}

static IS_ANGRY: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Eq)]
struct Angry(u64);

impl Clone for Angry {
    fn clone(&self) -> Angry {
        assert!(!IS_ANGRY.load(Relaxed), "an angry key");
        Angry(self.0)
    }
}

impl Hash for Angry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Angry {
    fn eq(&self, other: &Angry) -> bool {
        assert!(!IS_ANGRY.load(Relaxed), "an angry key");
        self.0 == other.0
    }
}

#[test]
fn a_key_that_panics_leaves_the_counts_in_order() {
    let top = TopKeys::<Angry>::new(4);
    (0..100).for_each(|key| decide(&top, &Angry(key % 10), 1, true));
    IS_ANGRY.store(true, Relaxed);
    let panics = (0..10).rev().filter(|key| {
        let count = AssertUnwindSafe(|| decide(&top, &Angry(*key), 1, true));
        catch_unwind(count).is_err()
    });
    assert!(panics.count() > 0);
    IS_ANGRY.store(false, Relaxed);
    (0..100).for_each(|_| decide(&top, &Angry(3), 1, true));
    let first = &top.granted()[0];
    assert!(first.key.0 == 3 && first.count >= 100);
    // Keys that cannot be cloned, one after the other, cost no later count.
    IS_ANGRY.store(true, Relaxed);
    for key in 100..116 {
        let count = AssertUnwindSafe(|| decide(&top, &Angry(key), 1, true));
        assert!(catch_unwind(count).is_err());
    }
    IS_ANGRY.store(false, Relaxed);
    (0..100).for_each(|_| decide(&top, &Angry(3), 1, true));
    assert!(top.granted()[0].key.0 == 3 && top.granted()[0].count >= 200);
    assert_eq!(top.lost(), 0);
}

/// Each thread counts at a place of its own, or a few at one.
#[test]
fn few_keys_are_counted_exactly_whichever_threads_count_them() {
    let top = TopKeys::<u64>::new(100);
    let (all_are_here, turn) = (std::sync::Barrier::new(8), std::sync::Mutex::new(()));
    thread::scope(|scope| {
        for key in 0..8 {
            let (top, all_are_here, turn) = (&top, &all_are_here, &turn);
            scope.spawn(move || {
                for permits in [3, 1 + key] {
                    // One after the other, so that none is lost.
                    let _turn = turn.lock().unwrap();
                    decide(&top, &key, permits, true);
                }
                // Until then each has a number of its own.
                all_are_here.wait();
            });
        }
    });
    assert_eq!(top.lost(), 0);
    let exact: Vec<_> = [7, 6, 5, 4, 3, 2, 1, 0].iter().map(|key| (key, 4 + key, 0)).collect();
    assert_eq!(shown(&top.granted()), exact);
}

#[test]
fn the_least_is_given_up_in_whatever_order_the_keys_came() {
    let top = TopKeys::<u64>::new(7);
    let first = (0..).zip([9, 1, 2, 5, 10, 11, 6]);
    // In place of 1, 2, 3 and 6.
    for (key, permits) in first.chain((7..11).map(|key| (key, 100))) {
        decide(&top, &key, permits, true);
    }
    let told = top.granted().into_iter().map(|top| (top.key, top.count, top.error));
    let new = [(10, 106, 6), (9, 105, 5), (8, 102, 2), (7, 101, 1)];
    let old = [(5, 11, 0), (4, 10, 0), (0, 9, 0)];
    assert_eq!(told.collect::<Vec<_>>(), [&new[..], &old].concat());
}

/// Set when the clone of the second [`Slow`] key begins.
static IS_SLOW: AtomicBool = AtomicBool::new(false);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Slow(u64);

impl Clone for Slow {
    fn clone(&self) -> Slow {
        if self.0 == 2 && !IS_SLOW.swap(true, Relaxed) {
            // Time for the query to begin. If it begins later, it has nothing to wait for.
            thread::sleep(std::time::Duration::from_millis(100));
        }
        Slow(self.0)
    }
}

#[test]
fn a_query_waits_for_a_decision_that_is_being_counted() {
    let top = TopKeys::<Slow>::new(4);
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..1_000).for_each(|_| decide(&top, &Slow(1), 1, true));
            decide(&top, &Slow(2), 1, true);
        });
        while !IS_SLOW.load(Relaxed) {
            thread::yield_now();
        }
        let granted = top.granted().into_iter().map(|top| (top.key.0, top.count));
        assert_eq!(granted.collect::<Vec<_>>(), [(1, 1_000), (2, 1)]);
    });
}

#[test]
fn permits_are_counted_as_granted_and_not_as_asked_for() {
    let top = TopKeys::<u64>::new(4);
    let users = Keyed::<u64, _>::builder(Buckets::new(quota!(4 / hour))).observer(&top).build();
    assert_eq!(users.unwrap().try_acquire_up_to(&7, 10).unwrap().permits(), 4);
    assert_eq!(top.granted()[0].count, 4);
}
