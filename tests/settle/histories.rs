//! Histories of windows of one word, whose every answer is compared with that of a list of all
//! charges: at random, and all short ones.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
#[cfg(feature = "calendar")]
use sluicegate::calendar::{Calendar, CalendarWindow};
use sluicegate::settle::{Estimate, Settle};
use sluicegate::window::WindowFromFirst;
use sluicegate::*;

use crate::support::cases::cases;

const LIMIT: u64 = 5;
const MINUTE: u64 = 60_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Fixed,
    FromFirst,
    Sliding,
    #[cfg(feature = "calendar")]
    Calendar,
}

const KINDS: &[Kind] = &[
    Kind::Fixed,
    Kind::FromFirst,
    Kind::Sliding,
    #[cfg(feature = "calendar")]
    Kind::Calendar,
];

/// The limiter, and the largest count that it holds.
fn limiter(kind: Kind, clock: &ManualClock) -> (Box<dyn Settle + '_>, u64) {
    let rate = rate!(5 / minute);
    match kind {
        Kind::Fixed => {
            let window = FixedWindow::with_clock(rate, clock).unwrap();
            let most = window.max_limit();
            (Box::new(window), most)
        }
        Kind::FromFirst => {
            let window = WindowFromFirst::with_clock(rate, clock).unwrap();
            let most = window.max_limit();
            assert_eq!(most, 7);
            (Box::new(window), most)
        }
        Kind::Sliding => {
            let counter = SlidingCounter::with_clock(rate, clock).unwrap();
            let most = counter.max_limit();
            (Box::new(counter), most)
        }
        #[cfg(feature = "calendar")]
        Kind::Calendar => {
            let minutes = Calendar::minutes("UTC").unwrap();
            let window = CalendarWindow::with_clock(LIMIT, minutes, clock).unwrap();
            (Box::new(window), (1 << 32) - 1)
        }
    }
}

/// All charges, with the windows that they are in.
struct Charges {
    kind: Kind,
    most: u64,
    /// The start of a window, and the permits that are kept in it.
    all: Vec<(u64, u64)>,
    /// Taken beyond estimates, and their windows.
    beyond: Vec<(u64, u64)>,
    resets: u32,
}

/// An estimate that is open: the charge, and the resets before it.
#[derive(Clone, Copy)]
struct Open {
    charge: usize,
    resets: u32,
}

impl Charges {
    fn kept(&self, window: u64) -> u64 {
        self.all.iter().filter(|charge| charge.0 == window).map(|charge| charge.1).sum()
    }

    /// The start of the window at `now`: of one from the first, that which is open, or a new one.
    fn window(&self, now: u64) -> u64 {
        if self.kind == Kind::FromFirst {
            let is_open = |&&(start, permits): &&(u64, u64)| permits > 0 && now < start + MINUTE;
            return self.all.iter().find(is_open).map_or(now, |charge| charge.0);
        }
        now / MINUTE * MINUTE
    }

    /// Returns the permits that count now, times the length of a window.
    fn weight(&self, now: u64) -> u128 {
        let window = self.window(now);
        let mut weight = u128::from(self.kept(window)) * u128::from(MINUTE);
        if let (Kind::Sliding, Some(before)) = (self.kind, window.checked_sub(MINUTE)) {
            weight += u128::from(self.kept(before)) * u128::from(window + MINUTE - now);
        }
        weight
    }

    fn remaining(&self, now: u64) -> u64 {
        let left = u128::from(LIMIT * MINUTE).saturating_sub(self.weight(now));
        (left / u128::from(MINUTE)) as u64
    }

    fn acquire(&mut self, now: u64, permits: u64) -> Option<Open> {
        if permits > self.remaining(now) {
            return None;
        }
        self.all.push((self.window(now), permits));
        Some(Open { charge: self.all.len() - 1, resets: self.resets })
    }

    fn give_back(&mut self, now: u64, open: Open, permits: u64) -> u64 {
        let present = self.window(now);
        if permits == 0 || open.resets != self.resets {
            return 0;
        }
        let (window, kept) = &mut self.all[open.charge];
        let counts =
            *window == present || self.kind == Kind::Sliding && *window + MINUTE == present;
        if !counts {
            return 0;
        }
        *kept -= permits;
        permits
    }

    fn take_beyond(&mut self, now: u64, permits: u64) -> u64 {
        let window = self.window(now);
        let taken = permits.min(self.most - self.kept(window));
        self.all.push((window, taken));
        self.beyond.push((window, taken));
        taken
    }

    fn reset(&mut self) {
        self.resets += 1;
        // They stay in the list, for the estimates that refer to them.
        self.all.iter_mut().for_each(|charge| charge.1 = 0);
        self.beyond.clear();
    }

    /// The theorem.
    fn assert_bounded(&self) {
        for &(window, _) in &self.all {
            let beyond = self.beyond.iter().filter(|beyond| beyond.0 == window);
            let beyond: u64 = beyond.map(|beyond| beyond.1).sum();
            assert!(self.kept(window) <= LIMIT + beyond, "{} in {window}", self.kept(window));
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Take(u64),
    Estimate(u64),
    /// For one of the estimates that are open.
    GiveBack(usize, u64),
    Settle(usize, u64),
    Receipt(u64),
    Reset,
    Advance(u64),
}

/// Plays `ops`, and compares each answer with the list's.
fn play(kind: Kind, start: u64, ops: &[Op]) {
    let clock = ManualClock::at(start);
    let (limiter, most) = limiter(kind, &clock);
    let mut list = Charges { kind, most, all: Vec::new(), beyond: Vec::new(), resets: 0 };
    let mut open: Vec<(Open, Estimate<'_>)> = Vec::new();
    for &op in ops {
        let now = clock.now_nanos();
        match op {
            Op::Take(permits) => {
                let granted = limiter.try_acquire(permits).is_ok();
                assert_eq!(granted, list.acquire(now, permits).is_some(), "{kind:?} {ops:?}");
            }
            Op::Estimate(permits) => {
                let estimate = limiter.try_acquire_settleable(permits);
                let charge = list.acquire(now, permits);
                assert_eq!(estimate.is_ok(), charge.is_some(), "{kind:?} {ops:?}");
                open.extend(charge.zip(estimate.ok()));
            }
            Op::GiveBack(which, permits) if !open.is_empty() => {
                let count = open.len();
                let (charge, estimate) = &mut open[which % count];
                let permits = permits.min(estimate.permits());
                let given = list.give_back(now, *charge, permits);
                assert_eq!(estimate.give_back(permits), given, "{kind:?} {ops:?}");
            }
            Op::Settle(which, actual) if !open.is_empty() => {
                let (charge, estimate) = open.swap_remove(which % open.len());
                let held = estimate.permits();
                let answer = estimate.settle(actual);
                let settled = answer.unwrap_or_else(|unpaid| unpaid.settled());
                let unpaid = answer.map_or_else(|unpaid| unpaid.permits(), |_| 0);
                let (mut given, mut taken) = (0, 0);
                if actual < held {
                    given = list.give_back(now, charge, held - actual);
                } else if actual > held {
                    taken = list.take_beyond(now, actual - held);
                }
                assert_eq!(settled.given_back(), given, "{kind:?} {ops:?}");
                assert_eq!(settled.lost(), held.saturating_sub(actual) - given);
                assert_eq!(settled.taken_beyond(), taken, "{kind:?} {ops:?}");
                assert_eq!(unpaid, actual.saturating_sub(held) - taken);
            }
            Op::Receipt(permits) => {
                if let Ok(receipt) = limiter.try_acquire_revocable(permits) {
                    assert!(receipt.give_back());
                }
            }
            Op::Reset => {
                limiter.reset();
                list.reset();
            }
            Op::Advance(nanos) => clock.advance_nanos(nanos),
            Op::GiveBack(..) | Op::Settle(..) => {}
        }
        let now = clock.now_nanos();
        let remaining = limiter.peek(0).unwrap().remaining();
        assert_eq!(remaining, list.remaining(now), "{kind:?} {ops:?}");
        list.assert_bounded();
    }
    assert_eq!(limiter.healed(), 0);
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..=5_u64).prop_map(Op::Take),
        5 => (0..=5_u64).prop_map(Op::Estimate),
        3 => (0..8_usize, 0..=5_u64).prop_map(|(which, permits)| Op::GiveBack(which, permits)),
        3 => (0..8_usize, 0..=9_u64).prop_map(|(which, permits)| Op::Settle(which, permits)),
        1 => (1..=5_u64).prop_map(Op::Receipt),
        1 => Just(Op::Reset),
        // By whole seconds, which the resolution of a window from the first divides.
        4 => (0..=90_u64).prop_map(|seconds| Op::Advance(seconds * 1_000_000_000)),
    ]
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_answer_is_that_of_a_list_of_charges(
        kind in prop::sample::select(KINDS), start in 0..200_u64, ops in vec(op(), 1..60),
    ) {
        play(kind, start * 1_000_000_000, &ops);
    }
}

/// Each history of five of these, which are the edges: some, all, none, more than all.
#[test]
fn every_short_history_is_that_of_a_list_of_charges() {
    const OPS: [Op; 9] = [
        Op::Take(1),
        Op::Estimate(2),
        Op::Estimate(5),
        Op::GiveBack(0, 1),
        Op::Settle(0, 0),
        Op::Settle(0, 3),
        Op::Settle(0, 8),
        Op::Reset,
        Op::Advance(MINUTE),
    ];
    let length = if cfg!(miri) { 2 } else { 5 };
    let mut ops = vec![OPS[0]; length];
    for number in 0..OPS.len().pow(length as u32) {
        let mut rest = number;
        for op in &mut ops {
            *op = OPS[rest % OPS.len()];
            rest /= OPS.len();
        }
        for &kind in KINDS {
            play(kind, Duration::from_secs(90).as_nanos() as u64, &ops);
        }
    }
}
