//! Random calls of buckets and windows with a line, each compared with the line by definition: with a vector of callers,
//! and no words.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::settle::Receipt;
use sluicegate::window::{MultiWindow, WindowFromFirst};
use sluicegate::{
    FixedWindow, ManualClock, Quota, Rate, Refill, SlidingCounter, SlidingWindow, TokenBucket, Wait,
};

use super::laws::bucket::Bucket;
use super::laws::windows::{Kind, OfSlots, OneWord};
use super::laws::{Charge, Ideal, Law};
use super::support::Caller;
use crate::support::cases::cases;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64),
    /// One of the callers asks again, or gives up.
    Poll(usize),
    Drop(usize),
    Try(u64),
    Revocable(u64),
    GiveBack(usize),
    /// Changes the limiter as its kind can be changed.
    Change(u64),
    Reset,
    Advance(u64),
    /// Moves the clock to just before the turn of the first in line, and then to it.
    ToTurn,
}

/// Returns calls for at most so many permits, and of at most so many nanoseconds; of a limiter that takes each receipt
/// back exactly, also with receipts.
fn ops(most: u64, longest: u64, has_receipts: bool) -> impl Strategy<Value = Vec<Op>> {
    let revocable = if has_receipts { Op::Revocable } else { Op::Try };
    let op = prop_oneof![
        4 => (1..=most).prop_map(Op::Acquire),
        4 => (0..8_usize).prop_map(Op::Poll),
        2 => (0..8_usize).prop_map(Op::Drop),
        2 => (0..=most).prop_map(Op::Try),
        2 => (1..=most).prop_map(revocable),
        2 => (0..4_usize).prop_map(Op::GiveBack),
        1 => (1..=most).prop_map(Op::Change),
        1 => Just(Op::Reset),
        4 => (0..longest).prop_map(Op::Advance),
        2 => Just(Op::ToTurn),
    ];
    prop::collection::vec(op, 1..60)
}

/// The verbs of limiters that are not those of all.
trait Subject: Wait {
    /// Does what [`Law::change`] does.
    fn change(&self, amount: u64) -> bool;

    /// Returns what [`Law::told`] does.
    fn told(&self) -> i64;
}

impl Subject for TokenBucket<&ManualClock> {
    fn change(&self, permits: u64) -> bool {
        self.force(permits).is_ok()
    }

    fn told(&self) -> i64 {
        self.peek(0).unwrap().balance()
    }
}

macro_rules! windows {
    ($($Window:ident $([$which:literal])?)*) => {$(
        impl Subject for $Window<&ManualClock> {
            fn change(&self, limit: u64) -> bool {
                self.reconfigure($($which,)? limit).is_ok()
            }

            fn told(&self) -> i64 {
                self.count($($which)?) as i64
            }
        }
    )*};
}

windows!(FixedWindow WindowFromFirst SlidingCounter SlidingWindow MultiWindow[0]);

fn run<L: Law>(limiter: &impl Subject, law: L, clock: &ManualClock, ops: Vec<Op>) {
    let mut ideal = Ideal::new(law);
    let mut receipts: Vec<(Receipt<'_>, Charge<L>)> = Vec::new();
    let mut callers: Vec<(usize, Caller<'_>)> = Vec::new();
    let mut now = 0;
    for (id, op) in ops.into_iter().enumerate() {
        match op {
            Op::Acquire(permits) => {
                let mut caller = Caller::new(limiter, permits);
                if permits > ideal.law.limit() {
                    assert!(caller.error().is_some());
                } else if ideal.line.is_empty() && ideal.take(now, permits).is_some() {
                    assert!(caller.is_granted());
                } else {
                    let is_in_line = ideal.stand(now, id, permits);
                    assert_eq!(caller.was_told(), !is_in_line);
                    if is_in_line {
                        callers.push((id, caller));
                    } else {
                        ideal.tell(id);
                    }
                }
            }
            Op::Poll(which) if which < callers.len() => {
                let (id, caller) = &mut callers[which];
                if ideal.stands(*id) {
                    ideal.settle(now);
                }
                let is_granted = ideal.tell(*id);
                assert_eq!(caller.is_granted(), is_granted);
                if is_granted {
                    callers.remove(which);
                } else {
                    let wait = Duration::from_nanos(L::due(&ideal, now, *id) - now);
                    assert_eq!(caller.sleeps_for(), wait);
                }
            }
            Op::Drop(which) if which < callers.len() => {
                let (id, caller) = callers.remove(which);
                drop(caller);
                ideal.leave(now, id);
            }
            Op::GiveBack(which) if which < receipts.len() => {
                let (receipt, charge) = receipts.remove(which);
                assert_eq!(receipt.give_back(), ideal.give_back(charge));
            }
            Op::Poll(_) | Op::Drop(_) | Op::GiveBack(_) => {}
            Op::Try(permits) => {
                let is_granted = limiter.try_acquire(permits).is_ok();
                if permits <= ideal.law.limit() {
                    assert_eq!(is_granted, permits == 0 || ideal.take(now, permits).is_some());
                }
            }
            Op::Revocable(permits) => {
                let receipt = limiter.try_acquire_revocable(permits).ok();
                if permits <= ideal.law.limit() {
                    let charge = ideal.take(now, permits);
                    assert_eq!(receipt.is_some(), charge.is_some());
                    receipts.extend(receipt.map(|receipt| (receipt, charge)));
                }
            }
            Op::Change(amount) => {
                assert_eq!(limiter.change(amount), L::change(&mut ideal, now, amount));
                callers.retain_mut(|(id, caller)| {
                    let is_kept = ideal.knows(*id);
                    assert!(is_kept || caller.error().is_some(), "it wants too many by now");
                    is_kept
                });
            }
            Op::Reset => {
                limiter.reset();
                for (_, charge) in &mut receipts {
                    *charge = None;
                }
                ideal.reset(now);
            }
            Op::Advance(nanos) => now += nanos,
            Op::ToTurn => {
                let Some(&(first, _)) = ideal.line.front() else { continue };
                let (_, caller) = callers.iter_mut().find(|(id, _)| *id == first).unwrap();
                // Permits may have come back, of which it takes note now.
                let _ = caller.poll();
                ideal.settle(now);
                let due = if ideal.stands(first) { L::due(&ideal, now, first) } else { now };
                if now < due {
                    clock.set_nanos(due - 1);
                    assert!(caller.is_waiting(), "a nanosecond early");
                    ideal.settle(due - 1);
                    now = due;
                }
                clock.set_nanos(now);
                assert!(caller.is_granted(), "it is its turn");
                ideal.settle(now);
                ideal.tell(first);
                callers.retain(|(id, _)| *id != first);
            }
        }
        clock.set_nanos(now);
        assert_eq!(limiter.told(), ideal.law.told(&ideal.state, now));
        assert_eq!(limiter.line().waiters(), ideal.line.len());
    }
    assert_eq!(limiter.healed(), 0);
}

fn quotas() -> impl Strategy<Value = Quota> {
    let periods = prop::sample::select(vec![1_000, 1_000_000_007, 1_000_000_000, 7_000_000_000]);
    let refill = prop::sample::select(vec![Refill::Smooth, Refill::Interval]);
    (1..=30_u64, periods, 1..=20_u64, 0..=30_u64, refill).prop_map(
        |(permits, period, burst, max_debt, refill)| {
            let quota = Quota::new(rate(permits, period)).with_burst(burst).unwrap();
            quota.with_max_debt(max_debt).unwrap().with_refill(refill)
        },
    )
}

fn rate(permits: u64, nanos: u64) -> Rate {
    Rate::new(permits, Duration::from_nanos(nanos)).unwrap()
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_answer_of_a_bucket_is_that_of_the_line_by_definition(
        quota in quotas(),
        ops in ops(20, 3_000_000_000, true),
    ) {
        let clock = ManualClock::new();
        run(&TokenBucket::with_clock(quota, &clock), Bucket::new(quota), &clock, ops);
    }

    #[test]
    fn every_answer_of_a_window_is_that_of_the_line_by_definition(
        limit in 1..=10_u64,
        length in 10..=60_u64,
        kind in prop::sample::select(vec![Kind::Fixed, Kind::FromFirst, Kind::Sliding]),
        ops in ops(10, 90, false),
    ) {
        let clock = ManualClock::new();
        let (law, rate) = (OneWord { kind, limit, length }, rate(limit, length));
        match kind {
            Kind::Fixed => {
                let window = FixedWindow::with_clock(rate, &clock).unwrap();
                run(&window.with_max_limit(10).unwrap(), law, &clock, ops);
            }
            Kind::FromFirst => {
                let window = WindowFromFirst::with_clock(rate, &clock).unwrap();
                run(&window.with_max_limit(10).unwrap(), law, &clock, ops);
            }
            Kind::Sliding => {
                let window = SlidingCounter::with_clock(rate, &clock).unwrap();
                run(&window.with_max_limit(10).unwrap(), law, &clock, ops);
            }
        }
    }

    #[test]
    fn every_answer_of_a_ring_is_that_of_the_line_by_definition(
        limits in prop::collection::vec((1..=10_u64, 10..=60_u64), 1..=3),
        slots in 1..=7_u32,
        ops in ops(10, 90, false),
    ) {
        let clock = ManualClock::new();
        let law = OfSlots::new(&limits, slots.into());
        let rates: Vec<Rate> = limits.iter().map(|&(limit, length)| rate(limit, length)).collect();
        if let [rate] = rates[..] {
            let window = SlidingWindow::with_slots(rate, slots, &clock).unwrap();
            run(&window.with_max_limit(10).unwrap(), law, &clock, ops);
        } else {
            let windows = MultiWindow::with_slots(rates, slots, &clock).unwrap();
            run(&windows.with_max_limit(10).unwrap(), law, &clock, ops);
        }
    }
}
