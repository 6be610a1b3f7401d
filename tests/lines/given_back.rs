//! A bucket with callers in line, of which permits are given back, against a line by definition.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::settle::Receipt;
use sluicegate::{Limiter, ManualClock, Quota, TokenBucket, quota};

use crate::support::cases::cases;
use crate::wait::support::Caller;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64),
    Revocable(u64),
    GiveBack(usize),
    Poll(usize),
    Leave(usize),
    Try(u64),
    Advance(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1..7_u64).prop_map(Op::Acquire),
        3 => (1..7_u64).prop_map(Op::Revocable),
        3 => (0..4_usize).prop_map(Op::GiveBack),
        3 => (0..4_usize).prop_map(Op::Poll),
        3 => (0..4_usize).prop_map(Op::Leave),
        2 => (1..7_u64).prop_map(Op::Try),
        5 => (0..2_500_u64).prop_map(Op::Advance),
    ]
}

const SECOND: i64 = 1_000_000_000;

/// A bucket and its line, in nanoseconds of what is earned. `spent` is the level; a grant is a pair of
/// the levels before it and after it.
struct Ideal {
    /// Time in which a permit is earned.
    permit: i64,
    burst: u64,
    spent: i64,
    /// The reading since which the first has been first and nothing was given back.
    since: Option<i64>,
    line: VecDeque<(usize, u64)>,
    unseen: Vec<(usize, (i64, i64))>,
}

impl Ideal {
    fn cost(&self, permits: u64) -> i64 {
        self.permit * permits as i64
    }

    fn base(&self, at: i64) -> i64 {
        self.spent.max(at - self.cost(self.burst))
    }

    fn settle(&mut self, now: i64) {
        while let Some(&(id, permits)) = self.line.front() {
            let since = *self.since.get_or_insert(now);
            let after = self.base(since) + self.cost(permits);
            if after > now {
                return;
            }
            self.unseen.push((id, (self.spent, after)));
            self.spent = after;
            self.line.pop_front();
            self.since = None;
        }
    }

    fn take(&mut self, now: i64, permits: u64) -> Option<(i64, i64)> {
        self.settle(now);
        let (before, after) = (self.spent, self.base(now) + self.cost(permits));
        if !self.line.is_empty() || after > now {
            return None;
        }
        self.spent = after;
        Some((before, after))
    }

    fn give_back(&mut self, (before, after): (i64, i64)) -> bool {
        let is_back = self.spent == after;
        if is_back {
            (self.spent, self.since) = (before, None);
        }
        is_back
    }

    fn leave(&mut self, now: i64, id: usize) {
        if let Some(at) = self.unseen.iter().position(|(other, _)| *other == id) {
            let (_, granted) = self.unseen.swap_remove(at);
            if !self.give_back(granted) {
                return;
            }
        }
        if self.line.front().is_some_and(|(first, _)| *first == id) {
            self.since = None;
        }
        self.line.retain(|(other, _)| *other != id);
        self.settle(now);
    }

    /// Time from `now` until the turn of `id`, if all ahead of it stay.
    fn wait(&self, now: i64, id: usize) -> Duration {
        let upto = self.line.iter().position(|(other, _)| *other == id).unwrap();
        let permits = self.line.iter().take(upto + 1).map(|(_, permits)| permits).sum();
        let turn = self.base(self.since.unwrap_or(now)) + self.cost(permits);
        Duration::from_nanos((turn - now) as u64)
    }
}

fn check(quota: Quota, ops: Vec<Op>) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota, &clock);
    let burst = quota.burst();
    let permit = SECOND / i64::try_from(quota.rate().permits()).unwrap();
    let mut ideal = Ideal {
        permit,
        burst,
        spent: -permit * burst as i64,
        since: None,
        line: VecDeque::new(),
        unseen: Vec::new(),
    };
    let mut receipts: Vec<(Receipt<'_>, (i64, i64))> = Vec::new();
    let mut callers: Vec<(usize, Caller<'_>)> = Vec::new();
    let mut now = 0;
    for (id, op) in ops.into_iter().enumerate() {
        match op {
            Op::Acquire(permits) => {
                let permits = permits.min(burst);
                let mut caller = Caller::new(&bucket, permits);
                if ideal.line.is_empty() && ideal.take(now, permits).is_some() {
                    prop_assert!(caller.is_granted());
                    continue;
                }
                ideal.line.push_back((id, permits));
                ideal.settle(now);
                let was_served = ideal.unseen.iter().any(|(other, _)| *other == id);
                ideal.unseen.retain(|(other, _)| *other != id);
                prop_assert_eq!(caller.was_told(), was_served);
                if !was_served {
                    prop_assert_eq!(caller.sleeps_for(), ideal.wait(now, id));
                    callers.push((id, caller));
                }
            }
            Op::Revocable(permits) => {
                let permits = permits.min(burst);
                let taken = bucket.try_acquire_revocable(permits).ok();
                let expected = ideal.take(now, permits);
                prop_assert_eq!(taken.is_some(), expected.is_some());
                receipts.extend(taken.zip(expected));
            }
            Op::GiveBack(which) if which < receipts.len() => {
                let (receipt, granted) = receipts.remove(which);
                prop_assert_eq!(receipt.give_back(), ideal.give_back(granted));
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
                    prop_assert_eq!(caller.sleeps_for(), ideal.wait(now, *id));
                }
            }
            Op::Leave(which) if which < callers.len() => {
                let (id, caller) = callers.remove(which);
                drop(caller);
                ideal.leave(now, id);
            }
            Op::GiveBack(_) | Op::Poll(_) | Op::Leave(_) => {}
            Op::Try(permits) => {
                let permits = permits.min(burst);
                let is_granted = bucket.try_acquire(permits).is_ok();
                prop_assert_eq!(is_granted, ideal.take(now, permits).is_some());
            }
            Op::Advance(millis) => {
                clock.advance(Duration::from_millis(millis));
                now += i64::try_from(millis).unwrap() * (SECOND / 1_000);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn what_is_given_back_beside_a_line_is_as_if_it_had_never_been_taken_from_then_on(
        quota in prop::sample::select(vec![
            quota!(1 / second, burst 6),
            quota!(2 / second, burst 1),
            quota!(5 / second, burst 3),
            quota!(10 / second, burst 10),
        ]),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        check(quota, ops)?;
    }
}

#[test]
fn nobody_is_charged_as_of_an_instant_before_it_came() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 6), &clock);
    let receipt = bucket.try_acquire_revocable(6).unwrap();
    let first = Caller::new(&bucket, 6);
    clock.advance(Duration::from_millis(5_900));
    let mut second = Caller::new(&bucket, 6);
    assert!(second.is_waiting());
    clock.advance(Duration::from_millis(50));
    assert!(receipt.give_back());
    drop(first);
    // Nothing was ever used, so there are 6.
    assert!(second.is_granted());
    assert!(bucket.try_acquire(1).is_err());
}

#[test]
fn nobody_is_charged_as_of_an_instant_before_permits_came_back() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 6), &clock);
    let receipt = bucket.try_acquire_revocable(6).unwrap();
    let mut caller = Caller::new(&bucket, 6);
    assert!(caller.is_waiting());
    clock.advance(Duration::from_millis(5_900));
    assert!(receipt.give_back());
    assert!(caller.is_granted());
    assert!(bucket.try_acquire(1).is_err());
}

#[test]
fn a_reservation_that_is_cancelled_beside_a_line_is_there_from_then_on() {
    let clock = ManualClock::new();
    let quota = quota!(1 / second, burst 6, max_debt 6);
    let bucket = TokenBucket::with_clock(quota, &clock);
    bucket.try_acquire(6).unwrap();
    let reserved = sluicegate::wait::Reserve::reserve(&bucket, 6).unwrap();
    let mut caller = Caller::new(&bucket, 6);
    clock.advance(Duration::from_millis(11_900));
    assert!(caller.is_waiting());
    assert!(reserved.cancel());
    assert!(caller.is_granted());
    assert!(bucket.try_acquire(1).is_err());
}
