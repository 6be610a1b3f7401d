//! Random calls of windows with a line, each compared with the line by definition: time passes a
//! nanosecond at a time, and at each everybody is granted permits whose turn it is.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{
    ConfigError, FixedWindow, ManualClock, Rate, SlidingCounter, Wait, WindowFromFirst,
};

use crate::support::Caller;

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

#[derive(Clone, Copy, Debug)]
enum Kind {
    Fixed,
    FromFirst,
    Sliding,
}

/// The permits of a window that begins at `start`, and of the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    start: u64,
    current: u64,
    previous: u64,
}

/// A window and its line, by definition.
#[derive(Clone)]
struct Ideal {
    kind: Kind,
    limit: u64,
    length: u64,
    counts: Counts,
    line: VecDeque<(usize, u64)>,
    /// Grants that their callers do not know of: the counts before and after, if nothing has
    /// changed since.
    unseen: Vec<(usize, Option<(Counts, Counts)>)>,
}

impl Ideal {
    /// The counts at `now`.
    fn at(&self, now: u64) -> Counts {
        let Counts { start, current, .. } = self.counts;
        let empty = |start| Counts { start, current: 0, previous: 0 };
        let aligned = now - now % self.length;
        match self.kind {
            Kind::FromFirst if current == 0 || now >= start + self.length => empty(now),
            Kind::Fixed if aligned > start => empty(aligned),
            Kind::Sliding if aligned == start + self.length => {
                Counts { previous: current, ..empty(aligned) }
            }
            Kind::Sliding if aligned > start => empty(aligned),
            _ => self.counts,
        }
    }

    fn fits(&self, now: u64, permits: u64) -> bool {
        let Counts { start, current, previous } = self.at(now);
        let left = start + self.length - now;
        (current + permits) * self.length + previous * left <= self.limit * self.length
    }

    fn grant(&mut self, now: u64, permits: u64) -> (Counts, Counts) {
        let before = self.counts;
        self.counts = self.at(now);
        self.counts.current += permits;
        (before, self.counts)
    }

    fn settle(&mut self, now: u64) {
        while let Some(&(id, permits)) = self.line.front()
            && self.fits(now, permits)
        {
            let charged = self.grant(now, permits);
            self.unseen.push((id, Some(charged)));
            self.line.pop_front();
        }
    }

    fn try_acquire(&mut self, now: u64, permits: u64) -> bool {
        if permits == 0 {
            return true;
        }
        self.settle(now);
        let is_granted = self.line.is_empty() && self.fits(now, permits);
        if is_granted {
            self.grant(now, permits);
        }
        is_granted
    }

    fn leave(&mut self, now: u64, id: usize) {
        if let Some(at) = self.unseen.iter().position(|(other, _)| *other == id) {
            match self.unseen.swap_remove(at) {
                (_, Some((before, after))) if self.counts == after => self.counts = before,
                _ => return,
            }
        }
        self.line.retain(|(other, _)| *other != id);
        self.settle(now);
    }

    /// The instant at which it is the turn of `id`, if all ahead of it stay and nothing is late.
    fn due(&self, now: u64, id: usize) -> u64 {
        let mut ahead = self.clone();
        (now..)
            .find(|&now| {
                ahead.settle(now);
                !ahead.line.iter().any(|(other, _)| *other == id)
            })
            .unwrap()
    }
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

windows!(FixedWindow WindowFromFirst SlidingCounter);

fn run(window: &impl Window, mut ideal: Ideal, clock: &ManualClock, ops: Vec<Op>) {
    let mut callers: Vec<(usize, Caller<'_>)> = Vec::new();
    let mut now = 0;
    for (id, op) in ops.into_iter().enumerate() {
        match op {
            Op::Acquire(permits) => {
                let mut caller = Caller::new(window, permits);
                if permits > ideal.limit {
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
                if permits <= ideal.limit {
                    assert_eq!(is_granted, ideal.try_acquire(now, permits));
                }
            }
            Op::Reset => {
                window.reset();
                for (_, unseen) in &mut ideal.unseen {
                    *unseen = None;
                }
                let start = match ideal.kind {
                    Kind::FromFirst => now,
                    _ => now - now % ideal.length,
                };
                ideal.counts = Counts { start, current: 0, previous: 0 };
                ideal.settle(now);
            }
            Op::Limit(limit) => {
                window.reconfigure(limit).unwrap();
                ideal.limit = limit;
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
        let Counts { start, current, previous } = ideal.at(now);
        let used = current + (previous * (start + ideal.length - now)).div_ceil(ideal.length);
        assert_eq!(window.count(), used);
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
        let counts = Counts { start: 0, current: 0, previous: 0 };
        let (line, unseen) = (VecDeque::new(), Vec::new());
        let ideal = Ideal { kind, limit, length, counts, line, unseen };
        match kind {
            Kind::Fixed => {
                let window = FixedWindow::with_clock(rate, &clock).unwrap();
                run(&window.with_max_limit(10).unwrap(), ideal, &clock, ops);
            }
            Kind::FromFirst => {
                let window = WindowFromFirst::with_clock(rate, &clock).unwrap();
                run(&window.with_max_limit(10).unwrap(), ideal, &clock, ops);
            }
            Kind::Sliding => {
                let window = SlidingCounter::with_clock(rate, &clock).unwrap();
                run(&window.with_max_limit(10).unwrap(), ideal, &clock, ops);
            }
        }
    }
}
