//! Long histories: what was admitted is recorded with the times between which it
//! can have been, and then every window is checked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::settle::Receipt;
use sluicegate::*;

use super::{SECOND, strict_setups};
use crate::support::faults::Skewed;
use crate::support::history::{Noted, last_reading};
use crate::windows::setup::{Kind, Setup, Subject};

const THREADS: u64 = if cfg!(miri) { 2 } else { 4 };

/// Number of turns of each thread.
const TURNS: u64 = if cfg!(miri) {
    25
} else if cfg!(debug_assertions) {
    6_000
} else {
    60_000
};

/// Permits that were admitted at a time from the first to the last.
#[derive(Clone, Copy, Debug)]
struct Admission {
    first: u64,
    last: u64,
    permits: u64,
}

/// Has the threads take from `subject`, and give back. Before each turn `tend` may
/// move clocks; `first` and `last` say when a call that was just made can have been
/// at the earliest, and at the latest, or that it is not known.
fn race<C: Clock + Send + Sync>(
    setup: &Setup,
    subject: &Subject<C>,
    tend: impl Fn(u64, &mut SmallRng) + Sync,
    before: impl Fn() -> u64 + Sync,
    between: impl Fn(u64) -> Option<(u64, u64)> + Sync,
) -> Vec<Admission> {
    let made = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for index in 0..THREADS {
            let (tend, before, between, made) = (&tend, &before, &between, &made);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(index);
                let mut mine: Vec<Admission> = Vec::new();
                // A receipt, and which admission it is for.
                let mut held: Option<(Receipt, Option<usize>)> = None;
                for _ in 0..TURNS {
                    tend(index, &mut random);
                    if random.random_bool(0.3)
                        && let Some((receipt, of)) = held.take()
                        && receipt.give_back()
                        && let Some(of) = of
                    {
                        mine[of].permits = 0; // It was never there.
                    }
                    let permits = match setup.kind {
                        Kind::Log => 1,
                        _ => random.random_range(1..=4),
                    };
                    let from = before();
                    let answer = match random.random_range(0..8) {
                        0..4 => subject.limiter().try_acquire(permits),
                        4 => subject.limiter().try_acquire_up_to(permits),
                        5 => {
                            let look = subject.limiter().peek(permits);
                            look.and_then(|_| subject.limiter().try_acquire(permits))
                        }
                        _ => subject.limiter().try_acquire_revocable(permits).map(|receipt| {
                            let grant = receipt.grant();
                            let known = between(from).is_some();
                            held = Some((receipt, known.then_some(mine.len())));
                            grant
                        }),
                    };
                    match (answer, between(from)) {
                        (Ok(grant), Some((first, last))) => {
                            mine.push(Admission { first, last, permits: grant.permits() });
                        }
                        (Ok(_), None) => held = None,
                        (Err(_), _) => {}
                    }
                }
                made.lock().unwrap().extend(mine);
            });
        }
    });
    made.into_inner().unwrap()
}

/// No window holds more than its limit of what is certain to have been in it. How
/// much there was in all.
fn assert_bounded(setup: &Setup, mut made: Vec<Admission>) -> u64 {
    made.sort_unstable_by_key(|admission| admission.first);
    for &(limit, window_nanos) in &setup.limits {
        for (index, from) in made.iter().enumerate() {
            let end = from.first + window_nanos;
            let begun = made[index..].iter().take_while(|other| other.first < end);
            let sum: u64 = begun.filter(|other| other.last < end).map(|other| other.permits).sum();
            assert!(sum <= limit, "{sum} of {limit} from {} on: {:?}", from.first, setup.kind);
        }
    }
    made.iter().map(|admission| admission.permits).sum()
}

#[test]
fn no_window_admits_more_although_every_threads_clock_is_another_and_goes_to_and_fro() {
    // 0.5 s between the first and the last thread, and 0.3 s to and fro: still less
    // than a second.
    const JUMP: u64 = 300_000_000;
    for setup in [strict_setups(20, 10_000_000), strict_setups(50, 2 * SECOND)].concat() {
        let clock = Noted(Skewed(ManualClock::at(10 * SECOND)));
        let subject = setup.subject(&clock);
        let latest = AtomicU64::new(10 * SECOND);
        let step_nanos = setup.window_nanos() / 500;
        let tend = |index, random: &mut SmallRng| {
            Skewed::skew_this_thread(-(index as i64 * 160_000_000));
            if index > 0 {
                return;
            }
            let now = clock.0.0.now_nanos();
            let until = match random.random_range(0..1_000) {
                0 => latest.load(SeqCst) - JUMP,
                1 => latest.load(SeqCst) + JUMP,
                _ => now + random.random_range(0..2 * step_nanos),
            };
            // Nobody reads a time before it is noted.
            latest.fetch_max(until, SeqCst);
            clock.0.0.set_nanos(until);
        };
        // Counted at a time from the one that the caller read to the latest there was.
        let between = |_| Some((last_reading(), latest.load(SeqCst)));
        let made = race(&setup, &subject, tend, || 0, between);
        assert_eq!(subject.healed(), 0);
        assert!(assert_bounded(&setup, made) > 0);
    }
}

#[test]
fn no_window_admits_more_although_the_clock_is_set_back_by_seconds() {
    for setup in [strict_setups(20, 10_000_000), strict_setups(50, 2 * SECOND)].concat() {
        let clock = ManualClock::at(100 * SECOND);
        let subject = setup.subject(&clock);
        // The time that passed, noted after the clock has moved and before, and how
        // often the clock was set back: it is odd while that is under way.
        let [passed, coming, faults] = [(); 3].map(|()| AtomicU64::new(0));
        let step_nanos = setup.window_nanos() / 500;
        let tend = |index, random: &mut SmallRng| {
            if index > 0 {
                return;
            }
            if random.random_range(0..300) == 0 {
                faults.fetch_add(1, SeqCst);
                clock.rewind(Duration::from_millis(random.random_range(900..4_000)));
                faults.fetch_add(1, SeqCst);
            } else {
                let by = random.random_range(0..2 * step_nanos);
                coming.fetch_add(by, SeqCst);
                clock.advance_nanos(by);
                passed.fetch_add(by, SeqCst);
            }
        };
        // Both in one number, so that a call during which the clock was set back is
        // known: it may have read the clock before, and be decided after.
        let before = || passed.load(SeqCst) << 16 | faults.load(SeqCst) & 0xffff;
        let between = |before: u64| {
            let is_sound = before & 1 == 0 && before & 0xffff == faults.load(SeqCst) & 0xffff;
            is_sound.then(|| (before >> 16, coming.load(SeqCst)))
        };
        let made = race(&setup, &subject, tend, before, between);
        assert!(cfg!(miri) || subject.healed() > 0);
        assert!(assert_bounded(&setup, made) > 0);
    }
}

#[test]
#[cfg(feature = "quanta")]
#[cfg_attr(miri, ignore = "Miri has no processor counter")]
fn no_window_of_the_processors_clock_admits_more() {
    for setup in strict_setups(20, 100_000) {
        let clock = Noted(sluicegate::clock::QuantaClock::new());
        let subject = setup.subject(&clock);
        let between = |_| {
            let first = last_reading();
            Some((first, clock.0.now_nanos()))
        };
        let made = race(&setup, &subject, |_, _| {}, || 0, between);
        assert_eq!(subject.healed(), 0);
        assert!(assert_bounded(&setup, made) > 0);
    }
}
