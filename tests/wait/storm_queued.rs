//! Threads that do everything at once to lines outside of their limiters' words, and to estimates that
//! are settled beside callers in line, on the true clock.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::keyed::QueuedKeys;
use sluicegate::wait::{LineLimits, Queued, WhenLineFull};
use sluicegate::window::WeightedLog;
use sluicegate::{FixedWindow, KeyTable, KeyedLimiter, Limiter, Wait, quota, rate};

use super::storm::steps_or;
use super::support::NoTimer;

const STEPS: u64 = if cfg!(miri) { 20 } else { 8_000 };
const MOST: u64 = 10;

/// Runs `step` on four threads at once.
fn storm(step: impl Fn(&mut StdRng) + Sync) {
    thread::scope(|scope| {
        for thread in 0..4 {
            let step = &step;
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(thread);
                (0..steps_or(STEPS) / 4).for_each(|_| step(&mut random));
            });
        }
    });
}

fn micros(random: &mut StdRng) -> Duration {
    Duration::from_micros(random.random_range(0..200))
}

/// Polls a caller a few times, and drops it wherever it is.
fn give_up<F: Future>(caller: F, random: &mut StdRng) {
    let mut caller = pin!(caller);
    for _ in 0..random.random_range(1..4) {
        if caller.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        thread::yield_now();
    }
}

#[test]
fn a_storm_of_calls_of_a_queued_log_leaves_nobody_in_line() {
    let log = WeightedLog::new(rate!(50 / ms)).unwrap().with_max_limit(100).unwrap();
    let log = Queued::new(log);
    let limits = LineLimits::new().max_waiters(6).when_full(WhenLineFull::EvictOldest);
    log.line().set_limits(limits);
    storm(|random| {
        let permits = random.random_range(1..=MOST);
        match random.random_range(0..20) {
            0..=7 => drop(log.try_acquire(permits)),
            8..=11 => drop(log.acquire(permits).timeout(micros(random)).wait_blocking()),
            12 => drop(log.acquire_blocking(permits)),
            13..=17 => give_up(log.acquire(permits).timer(NoTimer), random),
            18 => log.reset(),
            _ => log.update(|log| log.reconfigure(random.random_range(40..=60)).unwrap()),
        }
    });
    assert_eq!((log.line().waiters(), log.line().permits()), (0, 0));
    thread::sleep(Duration::from_millis(2));
    assert!(log.try_acquire(MOST).is_ok(), "the gate is open");
}

#[test]
fn a_storm_of_calls_of_queued_keys_leaves_no_line() {
    let table = KeyTable::<u64>::with_keys(quota!(100_000 / second, burst 20), 100).unwrap();
    let keys = QueuedKeys::<_, u64>::new(table);
    storm(|random| {
        let key = &random.random_range(0..3);
        let permits = random.random_range(1..=MOST);
        match random.random_range(0..20) {
            0..=7 => drop(keys.try_acquire(key, permits)),
            8..=11 => drop(keys.acquire(key, permits).timeout(micros(random)).wait_blocking()),
            12 => drop(keys.acquire_blocking(key, permits)),
            13..=16 => give_up(keys.acquire(key, permits).timer(NoTimer), random),
            17 => keys.reset(key),
            18 => keys.update_key(key, |table| table.reset(key)),
            _ => {
                let most = random.random_range(1..6);
                keys.set_line_limits(LineLimits::new().max_waiters(most));
                assert!(keys.waiters(key) <= 4);
            }
        }
    });
    assert_eq!(keys.lines(), 0);
    thread::sleep(Duration::from_millis(2));
    assert!((0..3).all(|key| keys.try_acquire(&key, MOST).is_ok()), "the gates are open");
}

#[test]
fn a_storm_of_settlements_beside_callers_in_line_leaves_nobody_there() {
    let window = FixedWindow::new(rate!(50 / ms)).unwrap();
    storm(|random| {
        let permits = random.random_range(1..=MOST);
        match random.random_range(0..20) {
            0..=4 => drop(window.try_acquire(permits)),
            5..=12 => {
                if let Ok(estimate) = window.try_acquire_settleable(permits) {
                    if random.random() {
                        thread::yield_now();
                    }
                    // Less than the estimate, or more.
                    let _ = estimate.settle(random.random_range(0..=MOST + 2));
                }
            }
            13..=15 => drop(window.acquire(permits).timeout(micros(random)).wait_blocking()),
            16 => drop(window.acquire_blocking(permits)),
            17..=18 => give_up(window.acquire(permits).timer(NoTimer), random),
            _ => window.reset(),
        }
    });
    assert_eq!((window.line().waiters(), window.line().permits()), (0, 0));
    thread::sleep(Duration::from_millis(2));
    assert!(window.try_acquire(MOST).is_ok(), "the gate is open");
}
