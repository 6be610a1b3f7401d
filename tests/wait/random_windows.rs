//! Random calls of windows with a line, each compared with the line by definition: time passes a
//! nanosecond at a time, and at each everybody is granted permits whose turn it is.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::window::{MultiWindow, WindowFromFirst};
use sluicegate::{
    ConfigError, FixedWindow, ManualClock, Rate, SlidingCounter, SlidingWindow, Wait,
};

use super::laws::{Ideal, Kind, Law, OfSlots, OneWord};
use super::support::Caller;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64),
    /// One of the callers asks again, or gives up.
    Poll(usize),
    Drop(usize),
    Try(u64),
    Reset,
    Limit(u64),
    Advance(u64),
    /// Moves the clock to just before the turn of the first in line, and then to it.
    ToTurn,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        5 => (1..=10_u64).prop_map(Op::Acquire),
        4 => (0..8_usize).prop_map(Op::Poll),
        2 => (0..8_usize).prop_map(Op::Drop),
        3 => (0..=10_u64).prop_map(Op::Try),
        1 => Just(Op::Reset),
        1 => (1..=10_u64).prop_map(Op::Limit),
        4 => (0..90_u64).prop_map(Op::Advance),
        2 => Just(Op::ToTurn),
    ];
    prop::collection::vec(op, 1..60)
}

/// The verbs of the windows that they do not share.
trait Window: Wait {
    fn reconfigure(&self, limit: u64) -> Result<(), ConfigError>;

    fn count(&self) -> u64;
}

macro_rules! windows {
    ($($Window:ident)*) => {$(
        impl Window for $Window<&ManualClock> {
            fn reconfigure(&self, limit: u64) -> Result<(), ConfigError> {
                self.reconfigure(limit)
            }

            fn count(&self) -> u64 {
                self.count()
            }
        }
    )*};
}

windows!(FixedWindow WindowFromFirst SlidingCounter SlidingWindow);

impl Window for MultiWindow<&ManualClock> {
    fn reconfigure(&self, limit: u64) -> Result<(), ConfigError> {
        self.reconfigure(0, limit)
    }

    fn count(&self) -> u64 {
        self.count(0)
    }
}

fn run<L: Law>(window: &impl Window, law: L, clock: &ManualClock, ops: Vec<Op>) {
    let mut ideal = Ideal::new(law);
    let mut callers: Vec<(usize, Caller<'_>)> = Vec::new();
    let mut now = 0;
    for (id, op) in ops.into_iter().enumerate() {
        match op {
            Op::Acquire(permits) => {
                let mut caller = Caller::new(window, permits);
                if permits > ideal.law.limit() {
                    assert!(caller.error().is_some());
                } else if ideal.line.is_empty() && ideal.try_acquire(now, permits) {
                    assert!(caller.is_granted());
                } else {
                    ideal.line.push_back((id, permits));
                    ideal.settle(now);
                    let is_in_line = ideal.line.iter().any(|(other, _)| *other == id);
                    assert_eq!(caller.was_told(), !is_in_line);
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
                assert_eq!(caller.is_granted(), seen.is_some());
                if let Some(seen) = seen {
                    ideal.unseen.swap_remove(seen);
                    callers.remove(which);
                } else {
                    let wait = Duration::from_nanos(ideal.due(now, *id) - now);
                    assert_eq!(caller.sleeps_for(), wait);
                }
            }
            Op::Drop(which) if which < callers.len() => {
                let (id, caller) = callers.remove(which);
                drop(caller);
                ideal.leave(now, id);
            }
            Op::Poll(_) | Op::Drop(_) => {}
            Op::Try(permits) => {
                let is_granted = window.try_acquire(permits).is_ok();
                if permits <= ideal.law.limit() {
                    assert_eq!(is_granted, ideal.try_acquire(now, permits));
                }
            }
            Op::Reset => {
                window.reset();
                for (_, unseen) in &mut ideal.unseen {
                    *unseen = None;
                }
                ideal.counts = ideal.law.empty(now);
                ideal.settle(now);
            }
            Op::Limit(limit) => {
                window.reconfigure(limit).unwrap();
                ideal.law.set_limit(limit);
                let limit = ideal.law.limit();
                let too_large: Vec<usize> = ideal
                    .line
                    .iter()
                    .filter(|caller| caller.1 > limit)
                    .map(|caller| caller.0)
                    .collect();
                ideal.line.retain(|(_, permits)| *permits <= limit);
                ideal.settle(now);
                callers.retain_mut(|(id, caller)| {
                    let is_refused = too_large.contains(id);
                    assert!(!is_refused || caller.error().is_some());
                    !is_refused
                });
            }
            Op::Advance(nanos) => now += nanos,
            Op::ToTurn => {
                let Some(&(first, _)) = ideal.line.front() else { continue };
                let due = ideal.due(now, first);
                let (_, caller) = callers.iter_mut().find(|(id, _)| *id == first).unwrap();
                if now < due {
                    clock.set_nanos(due - 1);
                    assert!(caller.is_waiting(), "a nanosecond early");
                    ideal.settle(due - 1);
                    now = due;
                }
                clock.set_nanos(now);
                assert!(caller.is_granted(), "it is its turn");
                ideal.settle(now);
                ideal.unseen.retain(|(id, _)| *id != first);
                callers.retain(|(id, _)| *id != first);
            }
        }
        clock.set_nanos(now);
        assert_eq!(window.count(), ideal.law.used(&ideal.counts, now));
        assert_eq!(window.line().waiters(), ideal.line.len());
    }
    assert_eq!(window.healed(), 0);
}

proptest! {
    #[test]
    fn every_answer_of_a_window_is_that_of_the_line_by_definition(
        limit in 1..=10_u64,
        length in 10..=60_u64,
        kind in prop::sample::select(vec![Kind::Fixed, Kind::FromFirst, Kind::Sliding]),
        ops in ops(),
    ) {
        let clock = ManualClock::new();
        let rate = Rate::new(limit, Duration::from_nanos(length)).unwrap();
        let law = OneWord { kind, limit, length };
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
        ops in ops(),
    ) {
        let clock = ManualClock::new();
        let law = OfSlots::new(&limits, slots.into());
        let rates: Vec<Rate> = limits
            .iter()
            .map(|&(limit, length)| Rate::new(limit, Duration::from_nanos(length)).unwrap())
            .collect();
        if let [rate] = rates[..] {
            let window = SlidingWindow::with_slots(rate, slots, &clock).unwrap();
            run(&window.with_max_limit(10).unwrap(), law, &clock, ops);
        } else {
            let windows = MultiWindow::with_slots(rates, slots, &clock).unwrap();
            run(&windows.with_max_limit(10).unwrap(), law, &clock, ops);
        }
    }
}
