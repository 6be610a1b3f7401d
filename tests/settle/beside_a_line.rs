//! Settlements beside callers in line for a `Queued`. What is checked:
//!
//! * whatever a settlement gives back, a part of a permit included, the first in line sleeps no longer
//!   than until its permits are there;
//! * what callers behind a line are told is the time that it takes, also after a debt.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::bucket::SettleableBucket;
use sluicegate::settle::Settle;
use sluicegate::wait::Queued;
use sluicegate::*;

use crate::support::cases::cases;
use crate::wait::support::Caller;

const STEP: Duration = Duration::from_millis(10);

type Tokens<'a> = Queued<SettleableBucket<&'a ManualClock>, &'a ManualClock>;

fn tokens(clock: &ManualClock, quota: Quota) -> Tokens<'_> {
    Queued::with_clock(SettleableBucket::with_clock(quota, clock), clock)
}

/// A caller in line, which asks again when it is woken, or has slept.
struct Asleep<'a> {
    caller: Caller<'a>,
    woken: usize,
    wakes_nanos: u64,
}

impl<'a> Asleep<'a> {
    /// Returns a caller that has to wait.
    fn new(limiter: &'a Tokens<'_>, permits: u64, now_nanos: u64) -> Option<Asleep<'a>> {
        let caller = Caller::new(limiter, permits);
        let is_waiting = !caller.was_told();
        let mut asleep = Asleep { caller, woken: 0, wakes_nanos: 0 };
        asleep.sleep(now_nanos);
        is_waiting.then_some(asleep)
    }

    fn sleep(&mut self, now_nanos: u64) {
        self.wakes_nanos = now_nanos + (self.caller.sleeps_for().as_nanos() as u64).max(1);
    }

    fn waits(&mut self, now_nanos: u64) -> bool {
        while self.caller.woken() > self.woken || self.wakes_nanos <= now_nanos {
            self.woken = self.caller.woken();
            if self.caller.is_granted() {
                return false;
            }
            assert!(self.caller.is_waiting());
            self.sleep(now_nanos);
        }
        true
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Estimate(u64),
    Settle(usize, u64),
    Take(u64),
    /// Tenths of a second.
    Advance(u64),
}

/// Calls without a line, and then settlements beside one.
#[derive(Clone, Debug)]
struct Round {
    ops: Vec<Op>,
    wanted: u64,
    /// The estimate, what is given back of it, and the time since the settlement before.
    settlements: Vec<(usize, u64, u64)>,
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let op = prop_oneof![
        3 => (1..4_u64).prop_map(Op::Estimate),
        2 => (0..4_usize, 0..2_u64).prop_map(|(at, used)| Op::Settle(at, used)),
        2 => (1..8_u64).prop_map(Op::Take),
        3 => (0..30_u64).prop_map(Op::Advance),
    ];
    let settlements = prop::collection::vec((0..4_usize, 1..4_u64, 0..12_u64), 1..5);
    let round = (prop::collection::vec(op, 2..12), 1..4_u64, settlements);
    let round = round.prop_map(|(ops, wanted, settlements)| Round { ops, wanted, settlements });
    prop::collection::vec(round, 1..6)
}

/// Lets time pass, and the caller ask again when it has slept. Returns false if it is granted its permits.
fn waits_for(caller: &mut Asleep<'_>, clock: &ManualClock, tenths: u64) -> bool {
    let end = clock.now_nanos() + tenths * 100_000_000;
    while caller.wakes_nanos < end {
        clock.set_nanos(caller.wakes_nanos.max(clock.now_nanos()));
        if !caller.waits(clock.now_nanos()) {
            return false;
        }
    }
    clock.set_nanos(end);
    caller.waits(end)
}

fn the_first_in_line_wakes_in_time(rounds: &[Round]) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let tokens = tokens(&clock, quota!(1 / second, burst 10));
    let mut estimates = Vec::new();
    for Round { ops, wanted, settlements } in rounds {
        for op in ops {
            match *op {
                Op::Estimate(permits) => estimates.extend(tokens.try_acquire_settleable(permits)),
                Op::Settle(at, used) if at < estimates.len() => {
                    _ = estimates.remove(at).settle(used);
                }
                Op::Settle(..) => {}
                Op::Take(permits) => drop(tokens.try_acquire(permits)),
                Op::Advance(tenths) => clock.advance(Duration::from_millis(100 * tenths)),
            }
        }
        while tokens.try_acquire(1).is_ok() {}
        let mut caller = Asleep::new(&tokens, *wanted, clock.now_nanos()).unwrap();
        for &(at, permits, tenths) in settlements {
            if !waits_for(&mut caller, &clock, tenths) {
                break;
            }
            let Some(estimate) = estimates.get_mut(at) else { continue };
            estimate.give_back(permits);
            let now_nanos = clock.now_nanos();
            let wait = match tokens.limiter().peek(*wanted) {
                Ok(_) => Duration::ZERO,
                Err(denied) => denied.retry_after().unwrap(),
            };
            if !caller.waits(now_nanos) {
                break;
            }
            let sleeps = Duration::from_nanos(caller.wakes_nanos - now_nanos);
            prop_assert!(sleeps <= wait, "sleeps for {:?}, and could go in {:?}", sleeps, wait);
        }
    }
    Ok(())
}

/// Settles an estimate with what was `used`, lets `callers` stand in line, and compares what is told behind
/// them with the time that the line takes.
fn told_behind_a_line(
    tokens: &Tokens<'_>,
    clock: &ManualClock,
    callers: usize,
    used: u64,
) -> Result<(), TestCaseError> {
    tokens.try_acquire_settleable(100).unwrap().settle(used).unwrap();
    let mut line: VecDeque<_> = (0..callers).map(|_| Caller::new(tokens, 1)).collect();
    assert!(!line.iter().any(Caller::was_told));
    let told = tokens.try_acquire(1).unwrap_err().retry_after().unwrap();
    let began_nanos = clock.now_nanos();
    loop {
        while line.front_mut().is_some_and(Caller::is_granted) {
            line.pop_front();
        }
        if line.is_empty() && tokens.try_acquire(1).is_ok() {
            break;
        }
        clock.advance(STEP);
    }
    let took = Duration::from_nanos(clock.now_nanos() - began_nanos);
    prop_assert!(told.abs_diff(took) <= STEP, "told {:?}, and it took {:?}", told, took);
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn whatever_comes_back_the_first_in_line_sleeps_no_longer_than_it_has_to(rounds in rounds()) {
        the_first_in_line_wakes_in_time(&rounds)?;
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn what_is_told_behind_a_line_is_the_time_that_it_takes_also_after_a_debt(
        turns in prop::collection::vec((1..250_usize, 100..501_u64, 0..100_u64), 1..5),
    ) {
        let clock = ManualClock::new();
        let tokens = tokens(&clock, quota!(100 / second, max_debt 1_000));
        for (callers, used, idle) in turns {
            // Full again, and longer.
            clock.advance(Duration::from_secs(12 + idle));
            told_behind_a_line(&tokens, &clock, callers, used)?;
        }
    }
}

#[test]
fn a_part_of_a_permit_that_comes_back_shortens_the_wait_of_the_first_in_line() {
    let clock = ManualClock::new();
    let tokens = tokens(&clock, quota!(1 / second, burst 10));
    let first = tokens.try_acquire_settleable(3).unwrap();
    tokens.try_acquire(7).unwrap();
    clock.advance(Duration::from_millis(500));
    first.settle(0).unwrap();
    let second = tokens.try_acquire_settleable(1).unwrap();
    clock.advance(Duration::from_millis(1_800));
    tokens.try_acquire(2).unwrap();
    let mut caller = Asleep::new(&tokens, 1, clock.now_nanos()).unwrap();
    let settled = second.settle(0).unwrap();
    assert_eq!((settled.given_back(), settled.lost()), (0, 1));
    assert!(caller.waits(clock.now_nanos()));
    let wait = tokens.limiter().peek(1).unwrap_err().retry_after().unwrap();
    assert_eq!(caller.wakes_nanos, clock.now_nanos() + wait.as_nanos() as u64);
    assert!(wait < Duration::from_secs(1));
}

#[test]
fn a_debt_that_was_paid_makes_no_wait_longer() {
    let clock = ManualClock::new();
    let tokens = tokens(&clock, quota!(100 / second, max_debt 1_000));
    let mut told = Vec::new();
    for used in [100, 1_000, 100] {
        let estimate = tokens.try_acquire_settleable(100).unwrap();
        let mut callers: Vec<_> = (0..150).map(|_| Caller::new(&tokens, 1)).collect();
        assert!(!callers.iter().any(Caller::was_told));
        told.push(tokens.try_acquire(1).unwrap_err().retry_after().unwrap());
        estimate.settle(used).unwrap();
        while !callers.is_empty() {
            callers.retain_mut(Caller::is_waiting);
            clock.advance(STEP);
        }
        clock.advance(Duration::from_secs(1_000));
    }
    assert_eq!(told, [150 * STEP; 3]);
}
