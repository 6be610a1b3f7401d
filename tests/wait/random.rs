//! Random calls, each compared with the line by definition: in big integers, with a vector of
//! callers and no words.

use std::collections::VecDeque;
use std::time::Duration;

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};
use proptest::prelude::*;
use sluicegate::settle::Receipt;
use sluicegate::{Limiter, ManualClock, Quota, Rate, Refill, TokenBucket, Wait};

use super::support::Caller;
use crate::support::cases::cases;
use crate::support::reference::Plan;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64),
    /// One of the callers asks again, or gives up.
    Poll(usize),
    Drop(usize),
    Try(u64),
    Revocable(u64),
    GiveBack(usize),
    Force(u64),
    Reset,
    Advance(u64),
    /// Moves the clock to just before the turn of the first in line, and then to it.
    ToTurn,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (1..=20_u64).prop_map(Op::Acquire),
        4 => (0..8_usize).prop_map(Op::Poll),
        2 => (0..8_usize).prop_map(Op::Drop),
        2 => (0..=20_u64).prop_map(Op::Try),
        2 => (1..=20_u64).prop_map(Op::Revocable),
        2 => (0..4_usize).prop_map(Op::GiveBack),
        1 => (1..=20_u64).prop_map(Op::Force),
        1 => Just(Op::Reset),
        4 => (0..3_000_000_000_u64).prop_map(Op::Advance),
        2 => Just(Op::ToTurn),
    ];
    prop::collection::vec(op, 1..60)
}

fn quotas() -> impl Strategy<Value = Quota> {
    let periods = prop::sample::select(vec![1_000, 1_000_000_007, 1_000_000_000, 7_000_000_000]);
    let refill = prop::sample::select(vec![Refill::Smooth, Refill::Interval]);
    (1..=30_u64, periods, 1..=20_u64, 0..=30_u64, refill).prop_map(
        |(permits, period, burst, max_debt, refill)| {
            let rate = Rate::new(permits, Duration::from_nanos(period)).unwrap();
            let quota = Quota::new(rate).with_burst(burst).unwrap();
            quota.with_max_debt(max_debt).unwrap().with_refill(refill)
        },
    )
}

/// The units spent before and after a grant, if nothing has changed since.
type Charge = Option<(BigInt, BigInt)>;

/// The bucket and its line, by definition.
struct Ideal {
    plan: Plan,
    spent: BigInt,
    /// The reading since which the first has been first and nothing was given back.
    since_nanos: Option<u64>,
    line: VecDeque<(usize, u64)>,
    /// Grants that their callers do not know of.
    unseen: Vec<(usize, Charge)>,
}

impl Ideal {
    fn accrued(&self, now_nanos: u64) -> BigInt {
        self.plan.accrued(&now_nanos.into())
    }

    /// The units spent, if a bucket that is asked at `nanos` is no more than full.
    fn base(&self, nanos: u64) -> BigInt {
        (self.accrued(nanos) - &self.plan.capacity).max(self.spent.clone())
    }

    fn balance(&self, now_nanos: u64) -> i64 {
        let units = self.accrued(now_nanos) - self.base(now_nanos);
        num_integer::Integer::div_floor(&units, &self.plan.token).to_i64().unwrap()
    }

    fn settle(&mut self, now_nanos: u64) {
        while let Some(&(id, permits)) = self.line.front() {
            let since_nanos = *self.since_nanos.get_or_insert(now_nanos);
            let after = self.base(since_nanos) + &self.plan.token * permits;
            if after > self.accrued(now_nanos) {
                return;
            }
            let before = std::mem::replace(&mut self.spent, after.clone());
            self.unseen.push((id, Some((before, after))));
            self.line.pop_front();
            self.since_nanos = None;
        }
    }

    /// Takes permits, if there are enough and nobody stands in line.
    fn take(&mut self, now_nanos: u64, permits: u64) -> Charge {
        self.settle(now_nanos);
        let after = self.base(now_nanos) + &self.plan.token * permits;
        let is_granted = self.line.is_empty() && after <= self.accrued(now_nanos);
        is_granted.then(|| (std::mem::replace(&mut self.spent, after.clone()), after))
    }

    fn give_back(&mut self, charge: Charge) -> bool {
        let Some((before, _)) = charge.filter(|(_, after)| self.spent == *after) else {
            return false;
        };
        (self.spent, self.since_nanos) = (before, None);
        true
    }

    fn stand(&mut self, now_nanos: u64, id: usize, permits: u64) {
        if self.line.is_empty() {
            self.since_nanos = None;
        }
        self.line.push_back((id, permits));
        self.settle(now_nanos);
    }

    fn leave(&mut self, now_nanos: u64, id: usize) {
        if let Some(at) = self.unseen.iter().position(|(other, _)| *other == id) {
            let (_, charge) = self.unseen.swap_remove(at);
            if !self.give_back(charge) {
                return;
            }
        }
        if self.line.front().is_some_and(|(first, _)| *first == id) {
            self.since_nanos = None;
        }
        self.line.retain(|(other, _)| *other != id);
        self.settle(now_nanos);
    }

    /// Nanoseconds from the beginning at which it is the turn of `id`, if all ahead of it stay, and each
    /// is served at its turn: from then on no more than the capacity is there for the next one.
    fn due_nanos(&self, now_nanos: u64, id: usize) -> u64 {
        let mut turn_nanos = self.since_nanos.unwrap_or(now_nanos);
        let mut spent = self.spent.clone();
        for (other, permits) in &self.line {
            spent = spent.max(self.accrued(turn_nanos) - &self.plan.capacity);
            spent += &self.plan.token * permits;
            turn_nanos = self.plan.time_of(&spent.clone().max(BigInt::zero())).to_u64().unwrap();
            if *other == id {
                return turn_nanos;
            }
        }
        unreachable!("it stands in line")
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_answer_is_that_of_the_line_by_definition(quota in quotas(), ops in ops()) {
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota, &clock);
        let plan = Plan::of_quota(quota);
        let spent = -plan.capacity.clone();
        let mut ideal =
            Ideal { plan, spent, since_nanos: None, line: VecDeque::new(), unseen: Vec::new() };
        let mut receipts: Vec<(Receipt<'_>, Charge)> = Vec::new();
        let mut callers: Vec<(usize, Caller<'_>)> = Vec::new();
        let mut now = 0;
        for (id, op) in ops.into_iter().enumerate() {
            match op {
                Op::Acquire(permits) => {
                    let mut caller = Caller::new(&bucket, permits);
                    if permits > quota.burst() {
                        prop_assert!(caller.error().is_some());
                    } else if ideal.line.is_empty() && ideal.take(now, permits).is_some() {
                        prop_assert!(caller.is_granted());
                    } else {
                        ideal.stand(now, id, permits);
                        let is_in_line = ideal.line.iter().any(|(other, _)| *other == id);
                        prop_assert_eq!(caller.was_told(), !is_in_line);
                        if is_in_line {
                            callers.push((id, caller));
                        } else {
                            ideal.unseen.retain(|(other, _)| *other != id);
                        }
                    }
                }
                Op::Poll(which) if which < callers.len() => {
                    let (id, caller) = &mut callers[which];
                    if ideal.line.iter().any(|(other, _)| other == id) {
                        ideal.settle(now);
                    }
                    let seen = ideal.unseen.iter().position(|(other, _)| other == id);
                    prop_assert_eq!(caller.is_granted(), seen.is_some());
                    if let Some(seen) = seen {
                        ideal.unseen.swap_remove(seen);
                        callers.remove(which);
                    } else {
                        let wait = Duration::from_nanos(ideal.due_nanos(now, *id) - now);
                        prop_assert_eq!(caller.sleeps_for(), wait);
                    }
                }
                Op::Drop(which) if which < callers.len() => {
                    let (id, caller) = callers.remove(which);
                    drop(caller);
                    ideal.leave(now, id);
                }
                Op::GiveBack(which) if which < receipts.len() => {
                    let (receipt, charge) = receipts.remove(which);
                    prop_assert_eq!(receipt.give_back(), ideal.give_back(charge));
                }
                Op::Poll(_) | Op::Drop(_) | Op::GiveBack(_) => {}
                Op::Try(permits) => {
                    let is_granted = bucket.try_acquire(permits).is_ok();
                    if (1..=quota.burst()).contains(&permits) {
                        prop_assert_eq!(is_granted, ideal.take(now, permits).is_some());
                    }
                }
                Op::Revocable(permits) => {
                    let receipt = bucket.try_acquire_revocable(permits).ok();
                    if permits <= quota.burst() {
                        let charge = ideal.take(now, permits);
                        prop_assert_eq!(receipt.is_some(), charge.is_some());
                        receipts.extend(receipt.map(|receipt| (receipt, charge)));
                    }
                }
                Op::Force(permits) => {
                    let after = ideal.base(now) + &ideal.plan.token * permits;
                    let is_granted = ideal.accrued(now) - &after >= ideal.plan.deepest();
                    prop_assert_eq!(bucket.force(permits).is_ok(), is_granted);
                    if is_granted {
                        ideal.spent = after;
                    } else if permits <= quota.burst() + quota.max_debt() {
                        ideal.settle(now);
                    }
                }
                Op::Reset => {
                    bucket.reset();
                    // Grants from before it are not given back, even if the level recurs.
                    let held = receipts.iter_mut().map(|(_, charge)| charge);
                    for charge in ideal.unseen.iter_mut().map(|(_, charge)| charge).chain(held) {
                        *charge = None;
                    }
                    ideal.spent = ideal.accrued(now) - &ideal.plan.capacity;
                    ideal.since_nanos = None;
                    ideal.settle(now);
                }
                Op::Advance(nanos) => now += nanos,
                Op::ToTurn => {
                    let Some(&(first, _)) = ideal.line.front() else { continue };
                    let (_, caller) = callers.iter_mut().find(|(id, _)| *id == first).unwrap();
                    // Permits may have come back, of which it takes note now.
                    let _ = caller.poll();
                    ideal.settle(now);
                    let is_due = ideal.line.front().is_none_or(|(other, _)| *other != first);
                    let due = if is_due { now } else { ideal.due_nanos(now, first) };
                    if now < due {
                        clock.set_nanos(due - 1);
                        prop_assert!(caller.is_waiting(), "a nanosecond early");
                        ideal.settle(due - 1);
                        now = due;
                    }
                    clock.set_nanos(now);
                    prop_assert!(caller.is_granted(), "it is its turn");
                    ideal.settle(now);
                    ideal.unseen.retain(|(id, _)| *id != first);
                    callers.retain(|(id, _)| *id != first);
                }
            }
            clock.set_nanos(now);
            prop_assert_eq!(bucket.peek(0).unwrap().balance(), ideal.balance(now));
            prop_assert_eq!(bucket.line().waiters(), ideal.line.len());
        }
        prop_assert_eq!(bucket.healed(), 0);
    }
}
