//! Random callers in line for a log, each compared with the line by definition: a list of all that
//! was granted, which is searched at every nanosecond.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::wait::Queued;
use sluicegate::{ManualClock, Rate, SlidingLog, SlidingWindow, Wait};

use super::support::Caller;

const LIMIT: u64 = 6;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64),
    /// One of the callers gives up.
    Drop(usize),
    Try(u64),
    Reset,
    /// Time passes, and everybody wakes when it had said that it would.
    Sleep(u64),
    /// Time passes, and nobody asks until it has.
    Oversleep(u64),
}

fn ops(most: u64) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (1..=most).prop_map(Op::Acquire),
        1 => (0..8_usize).prop_map(Op::Drop),
        2 => (0..=most).prop_map(Op::Try),
        1 => Just(Op::Reset),
        4 => (0..60_u64).prop_map(Op::Sleep),
        1 => (0..90_u64).prop_map(Op::Oversleep),
    ];
    prop::collection::vec(op, 1..60)
}

/// A log, or a window of slots, and its line.
#[derive(Default)]
struct Ideal {
    window: u64,
    /// Length of a slot: what was granted in one leaves with all of it.
    slot: u64,
    /// Instants and permits.
    granted: Vec<(u64, u64)>,
    line: VecDeque<(usize, u64)>,
    /// Those that were granted their permits, and when.
    gone: Vec<(usize, u64)>,
}

impl Ideal {
    fn fits(&self, now: u64, permits: u64) -> bool {
        let end = |at: u64| at / self.slot * self.slot + self.window + self.slot - 1;
        let counted = self.granted.iter().filter(|(at, _)| now < end(*at));
        counted.map(|(_, permits)| permits).sum::<u64>() + permits <= LIMIT
    }

    fn settle(&mut self, now: u64) {
        while let Some(&(id, permits)) = self.line.front()
            && self.fits(now, permits)
        {
            self.granted.push((now, permits));
            self.gone.push((id, now));
            self.line.pop_front();
        }
    }

    fn try_acquire(&mut self, now: u64, permits: u64) -> bool {
        self.settle(now);
        let is_granted = permits == 0 || self.line.is_empty() && self.fits(now, permits);
        if is_granted {
            self.granted.push((now, permits));
        }
        is_granted
    }
}

/// A caller, the instant at which it wakes, and how often it has been woken.
struct Asleep<'a> {
    id: usize,
    caller: Caller<'a>,
    at: u64,
    woken: usize,
}

/// Lets those ask who are awake at `now`, until nobody is. Returns when each that is granted its
/// permits was.
fn wake(asleep: &mut Vec<Asleep<'_>>, now: u64, told: &mut Vec<(usize, u64)>) {
    while let Some(awake) =
        asleep.iter().position(|it| it.at <= now || it.caller.woken() > it.woken)
    {
        let it = &mut asleep[awake];
        it.woken = it.caller.woken();
        if it.caller.is_granted() {
            told.push((it.id, now));
            asleep.remove(awake);
        } else {
            let wait = u64::try_from(it.caller.sleeps_for().as_nanos()).unwrap();
            assert!(wait > 0, "it is to wait");
            it.at = now + wait;
        }
    }
}

fn run(limiter: &impl Wait, clock: &ManualClock, mut ideal: Ideal, ops: Vec<Op>) {
    let mut asleep: Vec<Asleep<'_>> = Vec::new();
    let mut told: Vec<(usize, u64)> = Vec::new();
    let mut now = 0;
    for (id, op) in ops.into_iter().enumerate() {
        match op {
            Op::Acquire(permits) => {
                ideal.line.push_back((id, permits));
                ideal.settle(now);
                let mut caller = Caller::new(limiter, permits);
                if caller.was_told() {
                    assert!(caller.is_granted());
                    told.push((id, now));
                } else {
                    let wait = u64::try_from(caller.sleeps_for().as_nanos()).unwrap();
                    asleep.push(Asleep { id, caller, at: now + wait, woken: 0 });
                }
            }
            Op::Drop(which) if which < asleep.len() => {
                let it = asleep.remove(which);
                ideal.line.retain(|(id, _)| *id != it.id);
                ideal.gone.retain(|(id, _)| *id != it.id);
                drop(it.caller);
                ideal.settle(now);
            }
            Op::Drop(_) => {}
            Op::Try(permits) => {
                let is_granted = limiter.try_acquire(permits).is_ok();
                assert_eq!(is_granted, ideal.try_acquire(now, permits));
            }
            Op::Reset => {
                // A log dates the permits after a reset later than those before.
                now += 1;
                clock.set_nanos(now);
                ideal.granted.clear();
                ideal.settle(now);
                limiter.reset();
            }
            Op::Sleep(nanos) => {
                for _ in 0..nanos {
                    wake(&mut asleep, now, &mut told);
                    now += 1;
                    clock.set_nanos(now);
                    ideal.settle(now);
                }
            }
            Op::Oversleep(nanos) => {
                wake(&mut asleep, now, &mut told);
                now += nanos;
                clock.set_nanos(now);
                // Those that are late settle for all.
                if asleep.iter().any(|it| it.at <= now) {
                    ideal.settle(now);
                }
            }
        }
        wake(&mut asleep, now, &mut told);
        assert_eq!(limiter.line().waiters(), ideal.line.len());
    }
    told.sort_unstable();
    ideal.gone.sort_unstable();
    assert_eq!(told, ideal.gone);
}

fn rate(window: u64) -> Rate {
    Rate::new(LIMIT, Duration::from_nanos(window)).unwrap()
}

proptest! {
    #[test]
    fn callers_for_a_log_are_granted_at_the_instants_of_the_line_by_definition(
        window in 10..=60_u64,
        ops in ops(1),
    ) {
        let clock = ManualClock::new();
        let log = SlidingLog::with_clock(rate(window), &clock).unwrap();
        let ideal = Ideal { window, slot: 1, ..Ideal::default() };
        run(&Queued::with_clock(log, &clock), &clock, ideal, ops);
    }

    #[test]
    fn callers_of_any_size_are_granted_at_the_instants_of_the_line_by_definition(
        slots in 1..=7_u64,
        slot in 6..=15_u64,
        ops in ops(LIMIT),
    ) {
        let clock = ManualClock::new();
        let window = slots * slot;
        let compact = SlidingWindow::compact(rate(window), slots as u32, &clock).unwrap();
        let ideal = Ideal { window: window + 1, slot, ..Ideal::default() };
        run(&Queued::with_clock(compact, &clock), &clock, ideal, ops);
    }
}
