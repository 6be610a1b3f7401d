//! Threads that decide while terms change.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;

use sluicegate::ManualClock;
use sluicegate_policy::{Event, LimiterHandle, Policies, Registry};

pub(crate) type TestClock = Arc<ManualClock>;

pub(crate) const RELOADS: u32 = 10_000;

pub(crate) fn policies(key: &str, fields: &str) -> Policies {
    let text = format!("[limiters.a]\nkey = \"{key}\"\n{fields}\n");
    Policies::from_toml("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

pub(crate) fn new(policies: &Policies) -> (TestClock, Registry) {
    let clock = Arc::new(ManualClock::at(1_767_571_200_000_000_000));
    let registry = Registry::with_clock(policies.clone(), Arc::clone(&clock)).unwrap();
    (clock, registry)
}

/// Returns a limiter of two windows, of one day and of two.
pub(crate) fn two_windows(a: u64, b: u64) -> String {
    let window = |limit, days| format!("{{ limit = {limit}, interval = \"{days} days\" }}");
    format!("policy = \"multi_window\"\nlimits = [{}, {}]", window(a, 1), window(b, 2))
}

/// Returns a limiter of two others, whose windows are of one day and of two.
pub(crate) fn two_parts(a: u64, b: u64) -> String {
    let part = |limit, days| {
        format!("{{ policy = \"sliding_counter\", limit = {limit}, interval = \"{days} days\" }}")
    };
    format!("policy = \"all\"\nof = [{}, {}]", part(a, 1), part(b, 2))
}

/// Puts the two policies in force in turns while two threads call `decide`, and returns the sum of
/// what `decide` returned, and the number of times that another limiter took the place.
pub(crate) fn under_load(
    registry: &Registry,
    terms: &[Policies; 2],
    reloads: u32,
    decide: impl Fn(usize) -> u64 + Sync,
    between: impl Fn(),
) -> (u64, u32) {
    let (begun, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let threads = [0, 1].map(|thread| {
            let (begun, is_over, decide) = (&begun, &is_over, &decide);
            scope.spawn(move || {
                begun.fetch_add(1, Relaxed);
                let mut admitted = 0;
                while !is_over.load(Relaxed) {
                    admitted += decide(thread);
                }
                admitted
            })
        });
        while begun.load(Relaxed) < 2 {
            thread::yield_now();
        }
        let mut replaced = 0;
        for number in 1..=reloads {
            let events = registry.reload(terms[number as usize % 2].clone()).unwrap();
            assert_eq!(events.len(), 1);
            replaced += u32::from(matches!(events[0], Event::Replaced { .. }));
            between();
        }
        is_over.store(true, Relaxed);
        (threads.map(|thread| thread.join().unwrap()).iter().sum(), replaced)
    })
}

pub(crate) fn one(limiter: &LimiterHandle) -> u64 {
    u64::from(limiter.try_acquire(1).is_ok())
}
