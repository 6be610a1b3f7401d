//! Random callers of tenants with deadlines, before a window and on a clock that goes on by single nanoseconds: each is
//! granted its permits, or refused, at the instant of the line by definition. One that is refused before its deadline could
//! not have been granted its permits, whoever else came or left.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::wait::{AcquireError, LineWeights, Queued};
use sluicegate::{FixedWindow, ManualClock, Rate, Wait};

use super::support::Caller;

const TENANTS: usize = 3;
const LIMIT: u64 = 6;

#[derive(Clone, Debug)]
enum Op {
    Stand { tenant: usize, permits: u64, timeout: Option<u64> },
    Drop(usize),
    Sleep(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let timeout = prop::option::of(1..150_u64);
    let op = prop_oneof![
        6 => (0..TENANTS, 1..=LIMIT, timeout)
            .prop_map(|(tenant, permits, timeout)| Op::Stand { tenant, permits, timeout }),
        1 => (0..8_usize).prop_map(Op::Drop),
        3 => (0..50_u64).prop_map(Op::Sleep),
    ];
    prop::collection::vec(op, 1..60)
}

struct Standing<'a> {
    caller: Caller<'a>,
    deadline: u64,
    /// The instant at which it wakes, and how often it has been woken.
    at: u64,
    woken: usize,
}

/// The line by definition. Each tenant has the weight 1.
#[derive(Default)]
struct Ideal {
    window: u64,
    now: u64,
    used: u64,
    pace: [u64; TENANTS],
    turn: [u64; TENANTS],
    turns: u64,
    virtual_now: u64,
    first: Option<usize>,
    /// Numbers, tenants, permits, deadlines.
    line: Vec<(usize, usize, u64, u64)>,
    granted: Vec<(usize, u64)>,
    refused: Vec<(usize, u64)>,
}

impl Ideal {
    fn waits(&self, tenant: usize) -> bool {
        self.line.iter().any(|it| it.1 == tenant)
    }

    fn stand(&mut self, caller: (usize, usize, u64, u64)) {
        let tenant = caller.1;
        self.turns += 1;
        if !self.waits(tenant) {
            self.pace[tenant] = self.pace[tenant].max(self.virtual_now);
            self.turn[tenant] = self.turns;
        }
        self.line.push(caller);
        if self.first.is_none() {
            self.choose();
        }
        self.settle();
    }

    fn choose(&mut self) {
        let tenants = (0..TENANTS).filter(|tenant| self.waits(*tenant));
        let next = tenants.min_by_key(|tenant| (self.pace[*tenant], self.turn[*tenant]));
        if let Some(tenant) = next {
            self.virtual_now = self.pace[tenant];
            self.first = self.line.iter().find(|it| it.1 == tenant).map(|it| it.0);
        } else {
            (self.pace, self.virtual_now, self.first) = ([0; TENANTS], 0, None);
        }
    }

    fn leave(&mut self, number: usize) {
        self.line.retain(|it| it.0 != number);
        if self.first == Some(number) {
            self.choose();
        }
    }

    fn settle(&mut self) {
        while let Some(number) = self.first {
            let (_, tenant, permits, deadline) =
                *self.line.iter().find(|it| it.0 == number).unwrap();
            if self.used + permits <= LIMIT {
                self.turns += 1;
                self.used += permits;
                self.pace[tenant] += permits;
                self.turn[tenant] = self.turns;
                self.granted.push((number, self.now));
            } else if deadline <= self.now || self.is_hopeless(number) {
                self.refused.push((number, self.now));
            } else {
                return;
            }
            self.leave(number);
        }
    }

    /// Comes to `now`, at which those leave whose time is over.
    fn come_to(&mut self, now: u64) {
        if now / self.window > self.now / self.window {
            self.used = 0;
        }
        self.now = now;
        self.settle();
        while let Some(it) = self.line.iter().find(|it| it.3 <= now).copied() {
            self.refused.push((it.0, now));
            self.leave(it.0);
            self.settle();
        }
    }

    /// Returns whether a caller cannot be granted its permits in its time, as its own tenant's callers ahead of it
    /// and the first in line want too much.
    fn is_hopeless(&self, number: usize) -> bool {
        let at = self.line.iter().position(|it| it.0 == number).unwrap();
        let (_, tenant, _, deadline) = self.line[at];
        let own: u64 = self.line[..=at].iter().filter(|it| it.1 == tenant).map(|it| it.2).sum();
        let first = self.line.iter().find(|it| Some(it.0) == self.first).unwrap();
        let of_first = if first.1 == tenant { 0 } else { first.2 };
        let windows = deadline / self.window - self.now / self.window;
        own + of_first > LIMIT - self.used + windows * LIMIT
    }
}

proptest! {
    #[test]
    fn tenants_with_deadlines_are_answered_at_the_instants_of_the_divided_line_by_definition(
        window in 10..=60_u64,
        ops in ops(),
    ) {
        let clock = ManualClock::new();
        let rate = Rate::new(LIMIT, Duration::from_nanos(window)).unwrap();
        let line = FixedWindow::with_clock(rate, &clock).unwrap();
        let line = Queued::with_clock(line, &clock).with_weights(LineWeights::new(TENANTS)).unwrap();
        let tenants: [_; TENANTS] = std::array::from_fn(|tenant| line.tenant(&tenant));
        let mut ideal = Ideal { window, ..Ideal::default() };
        let mut asleep: Vec<(usize, Standing<'_>)> = Vec::new();
        let (mut granted, mut refused) = (Vec::new(), Vec::new());

        for (number, op) in ops.into_iter().enumerate() {
            let now = ideal.now;
            match op {
                Op::Stand { tenant, permits, timeout } => {
                    let waiting = tenants[tenant].acquire(permits);
                    let (waiting, deadline) = match timeout {
                        Some(nanos) => (waiting.timeout(Duration::from_nanos(nanos)), now + nanos),
                        None => (waiting, u64::MAX),
                    };
                    if ideal.line.is_empty() && ideal.used + permits <= LIMIT {
                        ideal.used += permits;
                        prop_assert!(Caller::of(waiting).is_granted());
                        continue;
                    }
                    ideal.stand((number, tenant, permits, deadline));
                    let caller = Caller::of(waiting);
                    let it = Standing { caller, deadline, at: now, woken: 0 };
                    asleep.push((number, it));
                }
                Op::Drop(which) if which < asleep.len() => {
                    let (number, it) = asleep.remove(which);
                    drop(it);
                    ideal.leave(number);
                    ideal.settle();
                }
                Op::Drop(_) => {}
                Op::Sleep(nanos) => {
                    for now in now + 1..=now + nanos {
                        clock.set_nanos(now);
                        ideal.come_to(now);
                        ask(&mut asleep, &mut ideal, &mut granted, &mut refused);
                    }
                }
            }
            ask(&mut asleep, &mut ideal, &mut granted, &mut refused);
        }
        granted.sort_unstable();
        ideal.granted.sort_unstable();
        prop_assert_eq!(granted, ideal.granted);
        prop_assert_eq!(line.limiter().count(), ideal.used);
    }
}

/// Lets those ask who are awake, until nobody is.
fn ask(
    asleep: &mut Vec<(usize, Standing<'_>)>,
    ideal: &mut Ideal,
    granted: &mut Vec<(usize, u64)>,
    refused: &mut Vec<(usize, u64)>,
) {
    let now = ideal.now;
    let awake = |(_, it): &(usize, Standing<'_>)| it.at <= now || it.caller.woken() > it.woken;
    while let Some(at) = asleep.iter().position(awake) {
        let (number, it) = &mut asleep[at];
        it.woken = it.caller.woken();
        if it.caller.is_waiting() {
            let wait = u64::try_from(it.caller.sleeps_for().as_nanos()).unwrap_or(u64::MAX);
            assert!(wait > 0, "it is to wait");
            it.at = now.saturating_add(wait);
            continue;
        }
        let (number, error) = (*number, it.caller.error());
        assert!(now <= it.deadline, "in its time");
        match error {
            None => granted.push((number, now)),
            Some(AcquireError::TimedOut { .. }) => {
                if ideal.line.iter().any(|it| it.0 == number) {
                    assert!(ideal.is_hopeless(number), "it might have had its turn");
                    ideal.leave(number);
                    ideal.settle();
                } else {
                    assert!(ideal.refused.contains(&(number, now)));
                }
                refused.push((number, now));
            }
            Some(error) => panic!("{error}"),
        }
        asleep.remove(at);
    }
    let left: Vec<usize> = asleep.iter().map(|it| it.0).collect();
    let ideally: Vec<usize> = ideal.line.iter().map(|it| it.0).collect();
    assert_eq!(left, ideally, "at {now}");
}
