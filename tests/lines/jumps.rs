//! A clock that jumps ahead while callers sleep by timers that do not.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{FixedWindow, ManualClock, TokenBucket, Wait, quota, rate};

use crate::support::cases::cases;
use crate::wait::support::Caller;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64),
    Leave(usize),
    Try,
    Advance(u64),
    Jump,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (1..3_u64).prop_map(Op::Acquire),
        3 => (0..6_usize).prop_map(Op::Leave),
        3 => Just(Op::Try),
        2 => (0..1_500_u64).prop_map(Op::Advance),
        1 => Just(Op::Jump),
    ]
}

/// A caller and the time, by the timers, at which it fell asleep.
struct Sleeper<'a> {
    caller: Caller<'a>,
    slept: Duration,
    woken: usize,
}

impl Sleeper<'_> {
    fn is_awake(&self, time: Duration) -> bool {
        self.caller.woken() > self.woken || self.slept + self.caller.sleeps_for() <= time
    }
}

/// Lets those that are awake ask, until all sleep.
fn run(sleepers: &mut Vec<Sleeper<'_>>, time: Duration) {
    while sleepers.iter().any(|sleeper| sleeper.is_awake(time)) {
        sleepers.retain_mut(|sleeper| {
            if !sleeper.is_awake(time) {
                return true;
            }
            (sleeper.slept, sleeper.woken) = (time, sleeper.caller.woken());
            sleeper.caller.is_waiting()
        });
    }
}

/// Plays `ops` on a limiter of 2 permits a second. Nobody who is first in line, when somebody has asked,
/// sleeps for longer than the `longest` that its turn can take.
fn check(
    clock: &ManualClock,
    limiter: &impl Wait,
    longest: Duration,
    ops: Vec<Op>,
) -> Result<(), TestCaseError> {
    let (mut sleepers, mut time) = (Vec::<Sleeper<'_>>::new(), Duration::ZERO);
    for op in ops {
        match op {
            Op::Acquire(permits) => {
                let mut caller = Caller::new(limiter, permits);
                if caller.is_waiting() {
                    sleepers.push(Sleeper { caller, slept: time, woken: 0 });
                }
            }
            // Silently: that settles, too.
            Op::Leave(which) if which < sleepers.len() => drop(sleepers.remove(which)),
            Op::Leave(_) => {}
            Op::Try => {
                let _ = limiter.try_acquire(2);
                run(&mut sleepers, time);
                if let Some(first) = sleepers.first() {
                    let left = (first.slept + first.caller.sleeps_for()).checked_sub(time).unwrap();
                    prop_assert!(left <= longest, "the first sleeps for {left:?}");
                }
            }
            Op::Advance(millis) => {
                time += Duration::from_millis(millis);
                clock.advance(Duration::from_millis(millis));
                run(&mut sleepers, time);
            }
            Op::Jump => clock.advance(Duration::from_secs(3_600)),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_first_in_line_for_a_bucket_is_woken_after_a_jump(
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota!(2 / second), &clock);
        check(&clock, &bucket, Duration::from_secs(1), ops)?;
    }

    #[test]
    fn the_first_in_line_for_a_window_is_woken_after_a_jump(
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let clock = ManualClock::new();
        let window = FixedWindow::with_clock(rate!(2 / second), &clock).unwrap();
        check(&clock, &window, Duration::from_secs(1), ops)?;
    }
}

/// Returns how often the last of 101 callers is woken when the clock has jumped, the line was served, and the
/// others have left.
fn wakes_after_a_jump(clock: &ManualClock, limiter: &impl Wait) -> usize {
    limiter.try_acquire(2).unwrap();
    let mut ahead: Vec<_> = (0..100).map(|_| Caller::new(limiter, 1)).collect();
    let last = Caller::new(limiter, 1);
    assert!(last.sleeps_for() >= Duration::from_secs(50));
    clock.advance(Duration::from_secs(3_600));
    limiter.try_acquire(1).unwrap_err();
    ahead.retain_mut(Caller::is_waiting);
    drop(ahead);
    assert_eq!(limiter.line().waiters(), 1);
    last.woken()
}

#[test]
fn one_that_sleeps_for_those_ahead_is_woken_when_they_leave_after_a_jump() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(2 / second), &clock);
    assert_eq!(wakes_after_a_jump(&clock, &bucket), 1);
    let window = FixedWindow::with_clock(rate!(2 / second), &clock).unwrap();
    assert_eq!(wakes_after_a_jump(&clock, &window), 1);
}
