//! Many threads at one limit.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate_flow::concurrency::{Adaptive, Aimd, ConcurrencyLimit, Outcome};

const THREADS: u64 = 6;
const CALLS: u64 = if cfg!(miri) { 100 } else { 20_000 };

/// Permits that are held, as the test counts them: less than what the limit counts, never more.
#[derive(Default)]
struct Held {
    now: AtomicU64,
    most: AtomicU64,
}

impl Held {
    fn during(&self, permits: u64, act: impl FnOnce()) {
        let now = self.now.fetch_add(permits, SeqCst) + permits;
        self.most.fetch_max(now, SeqCst);
        let _back = Back(self, permits);
        act();
    }
}

/// Takes permits back when dropped, in a panic too.
struct Back<'a>(&'a Held, u64);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(self.1, SeqCst);
    }
}

#[test]
fn never_are_more_in_flight_than_the_limit_and_nothing_is_left() {
    const LIMIT: u64 = 7;
    let limit = ConcurrencyLimit::new(LIMIT);
    let held = Held::default();
    let admitted = AtomicU64::new(0);
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (limit, held, admitted) = (&limit, &held, &admitted);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed);
                for _ in 0..CALLS {
                    let permits = random.random_range(0..=LIMIT + 1);
                    let Ok(guard) = limit.try_acquire(permits) else { continue };
                    assert!(permits <= LIMIT);
                    admitted.fetch_add(1, SeqCst);
                    held.during(permits, || {
                        if random.random_ratio(1, 8) {
                            thread::yield_now();
                        }
                    });
                    drop(guard);
                }
            });
        }
    });
    assert!(admitted.into_inner() > 0);
    let most = held.most.into_inner();
    assert!((1..=LIMIT).contains(&most), "{most} of {LIMIT}");
    assert_eq!((limit.in_flight(), limit.limit()), (0, LIMIT));
}

/// The most that was ever allowed is the bound, and after each change has returned, the new limit.
#[test]
fn nothing_is_lost_while_the_limit_is_changed() {
    const MOST: u64 = 9;
    let limit = Arc::new(ConcurrencyLimit::new(MOST));
    let held = Held::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut random = SmallRng::seed_from_u64(77);
            while !is_over.load(SeqCst) {
                let next = random.random_range(0..=MOST);
                limit.set_limit(next);
                assert_eq!(limit.limit(), next, "only this thread changes it");
                assert!(limit.try_acquire(next + 1).is_err());
                thread::yield_now();
            }
            limit.set_limit(3);
        });
        let callers: Vec<_> = (0..THREADS)
            .map(|seed| {
                let (limit, held) = (&limit, &held);
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(seed);
                    for _ in 0..CALLS {
                        let permits = random.random_range(1..=4);
                        if let Ok(mut guard) = limit.try_acquire_owned(permits) {
                            held.during(permits, || {});
                            drop(guard.split(permits / 2));
                        }
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        is_over.store(true, SeqCst);
        changer.join().unwrap();
    });
    assert!(held.most.into_inner() <= MOST);
    assert_eq!((limit.in_flight(), limit.limit(), limit.available()), (0, 3, 3));
    assert_eq!(Arc::strong_count(&limit), 1);
}

#[test]
fn guards_end_in_panics_and_in_other_threads() {
    const LIMIT: u64 = 4;
    let limit = Arc::new(ConcurrencyLimit::new(LIMIT));
    let held = Held::default();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (limit, held, sender) = (&limit, &held, sender.clone());
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed);
                for call in 0..CALLS / 10 {
                    let Ok(guard) = limit.try_acquire_owned(random.random_range(1..=2)) else {
                        continue;
                    };
                    match call % 3 {
                        0 => drop(sender.send(guard)),
                        1 => {
                            let permits = guard.permits();
                            let caught = catch_unwind(AssertUnwindSafe(|| {
                                let _guard = guard;
                                // Unwinds as a panic does, without a message.
                                held.during(permits, || resume_unwind(Box::new(())));
                            }));
                            assert!(caught.is_err());
                        }
                        _ => held.during(guard.permits(), || {}),
                    }
                }
            });
        }
        drop(sender);
        scope.spawn(move || receiver.into_iter().for_each(drop));
    });
    assert!(held.most.into_inner() <= LIMIT);
    assert_eq!((limit.in_flight(), limit.available()), (0, LIMIT));
}

#[test]
fn an_adaptive_limit_that_swings_is_never_exceeded_and_loses_nothing() {
    const MOST: u64 = 8;
    let algorithm = Aimd::new().with_initial(4).with_max(MOST).with_backoff(0.5);
    let adaptive = Adaptive::new(algorithm);
    let held = Held::default();
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (adaptive, held) = (&adaptive, &held);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed);
                for _ in 0..CALLS {
                    let permits = random.random_range(1..=2);
                    let Ok(guard) = adaptive.try_acquire(permits) else { continue };
                    held.during(permits, || {});
                    match random.random_range(0..10) {
                        0 => guard.end(Outcome::Dropped),
                        1 => guard.end(Outcome::Ignored),
                        2 => drop(guard),
                        _ => guard.end(Outcome::Success),
                    }
                }
            });
        }
    });
    assert!(held.most.into_inner() <= MOST);
    assert_eq!(adaptive.in_flight(), 0);
    let says =
        adaptive.with_algorithm(|aimd| sluicegate_flow::concurrency::LimitAlgorithm::limit(aimd));
    assert_eq!(says, Some(adaptive.limit()));
    assert!((1..=MOST).contains(&adaptive.limit()));
}
