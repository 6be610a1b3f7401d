//! Counts of any limiter's answers. What is checked:
//!
//! * each call that takes is counted once, by its answer; looks, resets and calls of the wrapped
//!   limiter are not;
//! * the sums of many threads are exact in the end, and meanwhile only grow, and never exceed what
//!   was answered;
//! * denials are counted by kind, and in permits;
//! * it answers as the limiter does, inside a store of keys and around other wrappers too.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use sluicegate::compose::{All, AnswerCounters, Counted, Counts, StripedCounters};
use sluicegate::keyed::Each;
use sluicegate::*;

pub(crate) fn counts(granted: u64, denied: u64, permits: u64) -> Counts {
    let mut counts = Counts::default();
    (counts.granted, counts.denied, counts.permits) = (granted, denied, permits);
    counts
}

#[test]
fn each_call_that_takes_is_counted_once_by_its_answer() {
    let clock = ManualClock::new();
    let limiter = Counted::new(TokenBucket::with_clock(quota!(10 / second), &clock));
    assert_eq!(limiter.counts(), Counts::default());
    limiter.try_acquire(3).unwrap();
    limiter.try_acquire_up_to(5).unwrap();
    assert_eq!(limiter.counts(), counts(2, 0, 8));
    assert!(limiter.try_acquire_revocable(1).unwrap().give_back());
    assert_eq!(limiter.counts(), counts(3, 0, 9), "given back, and granted all the same");
    assert_eq!(limiter.try_acquire_up_to(5).unwrap().permits(), 2);
    limiter.try_acquire(0).unwrap();
    assert_eq!(limiter.counts(), counts(5, 0, 11));
    limiter.try_acquire(1).unwrap_err();
    limiter.try_acquire(11).unwrap_err();
    limiter.try_acquire_up_to(1).unwrap_err();
    limiter.try_acquire_revocable(1).unwrap_err();
    assert_eq!(limiter.counts(), counts(5, 4, 11));
}

#[test]
fn denials_are_counted_by_kind_and_in_permits() {
    let clock = ManualClock::new();
    let limiter = Counted::new(TokenBucket::with_clock(quota!(10 / second), &clock));
    limiter.try_acquire(10).unwrap();
    limiter.try_acquire(1).unwrap_err();
    limiter.try_acquire(4).unwrap_err();
    limiter.try_acquire(11).unwrap_err();
    let denials = limiter.denials();
    assert_eq!((denials.rate, denials.too_large, denials.permits), (2, 1, 16));
    assert_eq!((denials.total(), limiter.counts().denied), (3, 3));

    // A caller that asks for more than there can be does not turn the sum back.
    limiter.try_acquire(u64::MAX).unwrap_err();
    assert_eq!(limiter.denials().permits, 16 + Quota::MAX_BURST);

    let leased = Counted::new(Sharded::with_clock(quota!(10 / second), &clock));
    let lease = leased.limiter().lease(10).unwrap();
    leased.try_acquire(5).unwrap_err();
    assert_eq!((leased.denials().leased, leased.denials().total()), (1, 1));
    drop(lease);
}

#[test]
fn answers_that_are_told_by_hand_are_counted_as_those_of_a_limiter() {
    let counters = AnswerCounters::with_slots(1);
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    for permits in [0, 1, 2, 11] {
        counters.count(permits, bucket.try_acquire(permits).as_ref());
    }
    let full = Denied::Full { retry_after: Duration::ZERO };
    counters.count(1, Err(&full));
    assert_eq!(counters.counts(), counts(3, 2, 3));
    let kinds = counters.denials().kinds();
    let seen: Vec<_> = kinds.iter().filter(|(_, count)| *count > 0).copied().collect();
    assert_eq!(seen, [("too_large", 1), ("no_space", 1)]);
    assert_eq!(counters.denials().permits, 12);
}

#[test]
fn a_store_of_keys_is_counted_as_a_whole() {
    let clock = ManualClock::new();
    let builder = KeyTable::<u64>::builder(quota!(2 / second)).clock(&clock);
    let counted = Counted::new(builder.keys(1_000).unwrap());
    let table: &dyn KeyedLimiter<u64> = &counted;
    assert!(table.try_acquire(&1, 2).is_ok() && table.try_acquire(&1, 1).is_err());
    assert_eq!(table.try_acquire_up_to(&2, 5).unwrap().permits(), 2);
    assert!(table.try_acquire_revocable(&3, 1).unwrap().give_back());
    assert_eq!(table.try_acquire_batch(&mut [3, 3, 3].iter(), 1).len(), 3);
    assert_eq!((table.len(), table.is_empty()), (3, false));
    table.peek(&4, 9).unwrap_err();
    assert_eq!(counted.counts(), counts(5, 2, 7));
}

#[test]
fn counters_beyond_their_number_are_left_alone() {
    let counters = StripedCounters::<2>::with_slots(1_000);
    counters.add(1, 3);
    counters.add(2, 4);
    assert_eq!((counters.sums(), counters.sum(2)), ([0, 3], 0));
}

#[test]
fn threads_that_come_and_go_hand_their_slots_on_and_add_while_they_end() {
    const THREADS: u64 = if cfg!(miri) { 12 } else { 400 };
    static COUNTERS: LazyLock<StripedCounters<1>> =
        LazyLock::new(|| StripedCounters::with_slots(4));
    struct AddsAtTheEnd;
    impl Drop for AddsAtTheEnd {
        fn drop(&mut self) {
            COUNTERS.add(0, 1);
        }
    }
    thread_local! { static END: AddsAtTheEnd = const { AddsAtTheEnd } }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..THREADS / 4 {
                    // Joined, as a scope does not wait for what a thread does at its end.
                    let short = thread::spawn(|| {
                        END.with(|_| ());
                        COUNTERS.add(0, 1);
                        COUNTERS.add(0, 1);
                    });
                    short.join().unwrap();
                }
            });
        }
    });
    assert_eq!(COUNTERS.sum(0), 3 * THREADS);
}

#[test]
fn looks_resets_and_calls_of_the_wrapped_limiter_are_not_counted() {
    let clock = ManualClock::at(3_600_000_000_000);
    let limiter = Counted::new(TokenBucket::with_clock(quota!(10 / second), &clock));
    limiter.peek(3).unwrap();
    limiter.peek(11).unwrap_err();
    assert!(limiter.is_idle());
    limiter.limiter().try_acquire(10).unwrap();
    assert!(!limiter.is_idle());
    limiter.limiter().try_acquire(1).unwrap_err();
    limiter.reset();
    clock.rewind(Duration::from_secs(1_800));
    limiter.limiter().try_acquire(11).unwrap_err();
    assert_eq!((limiter.counts(), limiter.healed()), (Counts::default(), 1));
    assert_eq!(limiter.into_inner().peek(0).unwrap().remaining(), 10);
}

#[test]
fn the_sums_of_many_threads_only_grow_never_run_ahead_and_are_exact_in_the_end() {
    const EACH: u64 = if cfg!(miri) { 40 } else { 20_000 };
    for slots in [0, 1, 2, 7, 300] {
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota!(100_000 / second), &clock);
        let limiter = Counted::with_slots(bucket, slots);
        let (is_done, granted) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut last = Counts::default();
                while !is_done.load(SeqCst) {
                    let now = limiter.counts();
                    let gone = 100_000 - limiter.limiter().peek(0).unwrap().remaining();
                    assert!(now.permits <= gone, "{now:?} of {gone}");
                    let is_later = now.granted >= last.granted && now.denied >= last.denied;
                    assert!(is_later && now.permits >= last.permits, "{now:?} after {last:?}");
                    last = now;
                }
            });
            let callers: Vec<_> = (1..=4)
                .map(|permits| {
                    let (limiter, granted) = (&limiter, &granted);
                    scope.spawn(move || {
                        for _ in 0..EACH {
                            let calls = u64::from(limiter.try_acquire(permits).is_ok());
                            granted.fetch_add(calls, SeqCst);
                        }
                    })
                })
                .collect();
            for caller in callers {
                caller.join().unwrap();
            }
            is_done.store(true, SeqCst);
            watcher.join().unwrap();
        });
        let granted = granted.into_inner();
        // A few may be left, if the threads that ask for as few were done before.
        let permits = 100_000 - limiter.limiter().peek(0).unwrap().remaining();
        assert_eq!(limiter.counts(), counts(granted, 4 * EACH - granted, permits), "{slots} slots");
    }
}

#[test]
fn each_key_of_a_store_has_counts_of_its_own() {
    let clock = ManualClock::new();
    let each = Each::with_clock(
        |_: &u64| Counted::with_slots(TokenBucket::with_clock(quota!(2 / second), &clock), 1),
        &clock,
    );
    let users = Keyed::with(each);
    assert_eq!(
        [1, 1, 1, 2].map(|key| users.try_acquire(&key, 1).is_ok()),
        [true, true, false, true]
    );
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 0);
    clock.advance(Duration::from_secs(1));
    assert_eq!(users.sweep(), 2);
}

#[test]
fn a_wrapper_of_wrappers_counts_what_its_callers_get() {
    let clock = ManualClock::new();
    let window = || FixedWindow::with_clock(rate!(2 / minute), &clock).unwrap();
    let limiters: [Box<dyn Limiter + '_>; 2] =
        [Box::new(Counted::new(window())), Box::new(window())];
    let all = Counted::new(All::new(limiters).unwrap());
    let granted = (0..5).filter(|_| all.try_acquire(1).is_ok()).count();
    assert_eq!((granted, all.counts()), (2, counts(2, 3, 2)));
}
