//! Threads and tasks that do everything at once to one line.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::wait::{LineLimits, WhenLineFull};
use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight};

use super::Over;

const THREADS: u64 = 5;
const TASKS: u64 = 5;
const STEPS: u64 = if cfg!(miri) { 20 } else { 4_000 };
const LIMIT: u64 = 7;
/// Looks in a row that find a line in which nobody can go on, before it counts as stuck.
const PATIENCE: u32 = 3_000_000;

/// Permits that are held, as the test counts them: less than what the limit counts, never more.
#[derive(Default)]
struct Held {
    now: AtomicU64,
    most: AtomicU64,
}

impl Held {
    /// Counts the permits of `guard` while it acts, and ends it then.
    fn during(&self, guard: InFlight<'_>, act: impl FnOnce()) {
        let now = self.now.fetch_add(guard.permits(), SeqCst) + guard.permits();
        self.most.fetch_max(now, SeqCst);
        act();
        self.now.fetch_sub(guard.permits(), SeqCst);
        drop(guard);
    }
}

/// One step of a thread.
fn step(limit: &ConcurrencyLimit, held: &Held, random: &mut SmallRng) {
    let permits = random.random_range(0..=4);
    let micros = Duration::from_micros(random.random_range(0..100));
    let guard = match random.random_range(0..12) {
        0..=3 => limit.try_acquire(permits).ok(),
        4..=6 => limit.acquire_blocking(permits).ok(),
        7..=9 => limit.acquire(permits).timeout(micros).wait_blocking().ok(),
        _ => {
            // Polled a few times, and dropped wherever it is.
            let mut caller = pin!(limit.acquire(permits));
            let mut answer = Poll::Pending;
            for _ in 0..random.random_range(1..4) {
                if answer.is_pending() {
                    answer = caller.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    thread::yield_now();
                }
            }
            match answer {
                Poll::Ready(answer) => answer.ok(),
                Poll::Pending => None,
            }
        }
    };
    if let Some(guard) = guard {
        let yields = random.random_ratio(1, 4);
        held.during(guard, || {
            if yields {
                thread::yield_now();
            }
        });
    }
}

/// Ends only if no wake-up is lost: most callers wait until they are woken.
#[test]
fn a_storm_of_threads_and_tasks_keeps_the_limit_and_leaves_nothing() {
    for when_full in [WhenLineFull::RefuseNewest, WhenLineFull::EvictOldest] {
        let limit = Arc::new(ConcurrencyLimit::new(LIMIT));
        limit.line().set_limits(LineLimits::new().max_waiters(8).when_full(when_full));
        let held = Arc::new(Held::default());
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let over = Over(&is_over);
            let threads: Vec<_> = (0..THREADS)
                .map(|seed| {
                    let (limit, held) = (&*limit, &*held);
                    scope.spawn(move || {
                        let mut random = SmallRng::seed_from_u64(seed);
                        for _ in 0..STEPS {
                            step(limit, held, &mut random);
                        }
                    })
                })
                .collect();
            let changer = scope.spawn(|| {
                let mut random = SmallRng::seed_from_u64(99);
                while !is_over.load(SeqCst) {
                    limit.set_limit(random.random_range(0..=LIMIT));
                    thread::yield_now();
                }
                limit.set_limit(LIMIT);
            });
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_time()
                .build()
                .unwrap();
            let tasks: Vec<_> = (0..TASKS)
                .map(|seed| {
                    let (limit, held) = (Arc::clone(&limit), Arc::clone(&held));
                    runtime.spawn(async move {
                        let mut random = SmallRng::seed_from_u64(1_000 + seed);
                        for _ in 0..STEPS {
                            let mut caller = limit.acquire_owned(random.random_range(0..=4));
                            if random.random_ratio(1, 3) {
                                let micros = random.random_range(0..100);
                                caller = caller.timeout(Duration::from_micros(micros));
                            }
                            let Ok(guard) = caller.await else { continue };
                            held.during(guard, || {});
                            tokio::task::yield_now().await;
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            for task in tasks {
                runtime.block_on(task).unwrap();
            }
            drop(over);
            changer.join().unwrap();
        });
        let most = held.most.load(SeqCst);
        assert!((1..=LIMIT).contains(&most), "{most} of {LIMIT}");
        assert_eq!((limit.line().waiters(), limit.line().permits()), (0, 0));
        assert_eq!((limit.in_flight(), limit.limit()), (0, LIMIT));
        assert!(limit.try_acquire(LIMIT).is_ok(), "the gate is open");
    }
}

/// Nothing happens here but ends, and nobody gives up: an end that wakes nobody is made good by no
/// other. It then hangs, unless the main thread sees that nothing is in flight and callers still
/// wait, which no caller's own steps can bring about: each of them has settled when it returns.
#[test]
fn each_caller_is_woken_by_the_ends_of_others_alone() {
    let limit = ConcurrencyLimit::new(LIMIT);
    let held = Held::default();
    let left = AtomicU64::new(THREADS);
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (limit, held, left) = (&limit, &held, &left);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed);
                for _ in 0..STEPS {
                    // A closed line ends the test after a failure.
                    let Ok(guard) = limit.acquire_blocking(random.random_range(3..=LIMIT)) else {
                        break;
                    };
                    held.during(guard, thread::yield_now);
                }
                left.fetch_sub(1, SeqCst);
            });
        }
        let mut idle = 0;
        while left.load(SeqCst) > 0 {
            let is_stuck = limit.in_flight() == 0 && limit.line().waiters() > 0;
            idle = if is_stuck { idle + 1 } else { 0 };
            if idle == PATIENCE {
                limit.line().close();
                panic!("callers wait, and nothing is in flight");
            }
            thread::yield_now();
        }
    });
    assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
    assert!(held.most.load(SeqCst) <= LIMIT);
    assert!(limit.try_acquire(LIMIT).is_ok(), "the gate is open");
}

#[test]
fn threads_and_tasks_stand_in_one_line_and_each_has_its_turn() {
    let limit = Arc::new(ConcurrencyLimit::new(1));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let order = std::sync::Mutex::new(Vec::new());
    let held = limit.try_acquire(1).unwrap();
    thread::scope(|scope| {
        for caller in 0..6 {
            let (limit, order, handle) = (&*limit, &order, runtime.handle());
            scope.spawn(move || {
                let guard = if caller % 2 == 0 {
                    limit.acquire_blocking(1)
                } else {
                    handle.block_on(limit.acquire(1))
                };
                order.lock().unwrap().push(caller);
                drop(guard);
            });
            while limit.line().waiters() <= caller {
                thread::yield_now();
            }
        }
        drop(held);
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}
