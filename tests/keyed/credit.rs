//! Permits that a key is given from outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use sluicegate::bucket::Carry;
use sluicegate::keyed::{Buckets, HotKeys, Parts};
use sluicegate::*;

use super::{SECOND, keyed};

#[test]
fn a_key_that_is_not_known_is_full_and_stays_unknown() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(4 / second), &clock);
    for permits in [0, 1, u64::MAX] {
        users.credit(&1, permits);
        assert!(users.is_empty());
        assert_eq!(users.peek(&1, 0).unwrap().remaining(), 4);
    }
    assert_eq!(users.drain(&1).unwrap().permits(), 4);
    // A key that is full by its credit is removed like any other.
    users.credit(&1, 4);
    assert_eq!((users.len(), users.sweep(), users.len()), (1, 1, 0));
    assert_eq!(users.drain(&1).unwrap().permits(), 4);
    assert!(users.try_acquire(&1, 1).is_err());
}

#[test]
fn a_credit_is_worth_permits_of_the_keys_own_tier() {
    let clock = ManualClock::new();
    let quotas = [quota!(10 / second), quota!(1_000 / minute)];
    let tiered = Buckets::tiered_with_clock(quotas, |&key: &usize| key, &clock).unwrap();
    let users = Keyed::with(tiered);
    for key in [0, 1] {
        users.drain(&key).unwrap();
        users.credit(&key, 3);
        assert_eq!(users.peek(&key, 0).unwrap().remaining(), 3);
    }
    users.reconfigure_tier(0, quota!(100 / second), Carry::Keep).unwrap();
    users.credit(&0, 4);
    assert_eq!(users.peek(&0, 0).unwrap().remaining(), 7);
}

#[test]
fn a_key_that_has_to_heal_is_full_after_a_credit() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = keyed::<u64>(quota!(10 / second), &clock);
    for back in [SECOND * 60, SECOND * 86_400] {
        users.drain(&1).unwrap();
        let healed = users.healed();
        clock.rewind(back);
        users.credit(&1, 1);
        assert!(users.healed() > healed);
        assert_eq!(users.peek(&1, 0).unwrap().remaining(), 10);
        clock.advance(back);
    }
    // A step back that clocks may differ by heals nothing.
    clock.advance(SECOND * 10);
    users.drain(&1).unwrap();
    let healed = users.healed();
    clock.rewind(SECOND / 2);
    users.credit(&1, 7);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 2);
    clock.advance(SECOND / 2);
    assert_eq!(users.drain(&1).unwrap().permits(), 7);
    assert_eq!(users.healed(), healed);
}

#[test]
fn a_key_is_credited_by_its_parts() {
    let clock = ManualClock::new();
    let users = keyed::<(String, u32)>(quota!(3 / second), &clock);
    users.drain(&Parts(("ada", &7))).unwrap();
    users.credit(&Parts(("ada", &7)), 2);
    assert_eq!(users.peek(&(String::from("ada"), 7), 0).unwrap().remaining(), 2);
}

#[test]
fn a_credit_behind_seats_brings_nothing_back_that_was_prepaid() {
    let clock = ManualClock::new();
    let users = HotKeys::with_places(keyed::<u64>(quota!(10_000 / hour), &clock), 1).unwrap();
    for _ in 0..1_000 {
        users.try_acquire(&7, 1).unwrap();
    }
    assert!(users.is_hot(&7));
    let rest = users.store().peek(&7, 0).unwrap().remaining();
    assert!(rest < 9_000, "some are prepaid: {rest}");
    users.update(|keyed| keyed.credit(&7, u64::MAX));
    assert_eq!(users.store().drain(&7).unwrap().permits(), 10_000);
    assert!(users.try_acquire(&7, 1).is_err());
}

/// A step of one caller.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire(u64),
    Force(u64),
    Credit(u64),
    Advance(u64),
    Sweep,
}

/// A permit each 10 ns, at most three, and a debt of two.
const BURST: i64 = 3;
const DEBT: i64 = 2;
const PERMIT_NANOS: i64 = 10;

/// Every sequence of steps: the same answers as a number that is added to and taken from, and in
/// no span of it more than the burst, the debt, what is earned in the span and what is credited in
/// it.
#[test]
fn credits_answer_as_a_sum_does_in_every_short_story() {
    const STEPS: [Step; 8] = [
        Step::Acquire(1),
        Step::Acquire(3),
        Step::Force(2),
        Step::Credit(1),
        Step::Credit(9),
        Step::Advance(4),
        Step::Advance(13),
        Step::Sweep,
    ];
    const LENGTH: usize = if cfg!(miri) { 2 } else { 5 };
    let clock = ManualClock::at(1_000);
    let users = keyed::<u8>(quota!(1 / 10 ns, burst 3, max_debt 2), &clock);
    for story in 0..STEPS.len().pow(LENGTH as u32) {
        let steps = (0..LENGTH).map(|at| STEPS[story / STEPS.len().pow(at as u32) % STEPS.len()]);
        // A key that was removed is full.
        users.remove(&7);
        let full = BURST * PERMIT_NANOS;
        let mut balance = full;
        // What each step costs; less than nothing if it earns or adds.
        let mut costs = Vec::new();
        for step in steps.clone() {
            let mut cost = 0;
            match step {
                Step::Acquire(permits) => {
                    cost = permits as i64 * PERMIT_NANOS;
                    cost *= i64::from(balance >= cost);
                    assert_eq!(users.try_acquire(&7, permits).is_ok(), cost > 0);
                }
                Step::Force(permits) => {
                    cost = permits as i64 * PERMIT_NANOS;
                    cost *= i64::from(balance + DEBT * PERMIT_NANOS >= cost);
                    assert_eq!(users.force(&7, permits).is_ok(), cost > 0);
                }
                Step::Credit(permits) => {
                    users.credit(&7, permits);
                    cost = -(permits as i64) * PERMIT_NANOS;
                }
                Step::Advance(nanos) => {
                    clock.advance_nanos(nanos);
                    cost = -(nanos as i64);
                }
                Step::Sweep => {
                    users.sweep();
                }
            }
            balance = (balance - cost).min(full);
            costs.push(cost);
            let remaining = users.peek(&7, 0).unwrap().remaining() as i64;
            assert_eq!(
                remaining,
                (balance / PERMIT_NANOS).max(0),
                "{:?}",
                steps.clone().collect::<Vec<_>>()
            );
        }
        for first in 0..LENGTH {
            for last in first..LENGTH {
                let over: i64 = costs[first..=last].iter().sum();
                assert!(over <= (BURST + DEBT) * PERMIT_NANOS);
            }
        }
    }
}

/// Two threads take what a third credits, of a key that was empty and is never full: no permit is
/// lost, and none is granted twice.
#[test]
fn what_is_credited_is_granted_once_among_threads() {
    const CREDITS: u64 = if cfg!(miri) { 60 } else { 30_000 };
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1_000_000 / hour), &clock);
    users.drain(&1).unwrap();
    let (granted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for permits in [1, 2] {
            let (users, granted, is_over) = (&users, &granted, &is_over);
            scope.spawn(move || {
                while !is_over.load(Relaxed) {
                    if users.try_acquire(&1, permits).is_ok() {
                        granted.fetch_add(permits, Relaxed);
                    }
                }
            });
        }
        for credit in 0..CREDITS {
            users.credit(&1, 1 + credit % 3);
        }
        is_over.store(true, Relaxed);
    });
    let rest = users.drain(&1).unwrap().permits();
    assert_eq!(granted.into_inner() + rest, 2 * CREDITS);
}

/// The same while the clock moves, and the key comes and goes.
#[test]
fn a_key_that_is_credited_is_granted_no_more_than_that_and_what_it_earns() {
    const ROUNDS: u64 = 5_000;
    let clock = ManualClock::at(86_400_000_000_000);
    let users = keyed::<u64>(quota!(1 / 10 ns, burst 2), &clock);
    let (granted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let swept = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    granted.fetch_add(u64::from(users.try_acquire(&1, 1).is_ok()), Relaxed);
                }
            });
        }
        let mut swept = 0;
        for _ in 0..ROUNDS {
            clock.advance_nanos(7);
            users.credit(&1, 1);
            swept += users.sweep();
        }
        is_over.store(true, Relaxed);
        swept
    });
    assert!(swept > 0);
    let granted = granted.into_inner();
    assert!(granted <= 2 + ROUNDS * 7 / 10 + ROUNDS, "{granted}");
}
