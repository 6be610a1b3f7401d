//! The turns of a counter, without a line before it.

use core::cell::Cell;
use core::task::Waker;
use core::time::Duration;

use super::*;
use crate::rate;
use crate::time::clock::Clock;
use crate::time::clock::manual::ManualClock;
use crate::wait::line::{self, LineAnswer};
use crate::window::counter::aligned::Aligned;

const MILLI: u64 = 1_000_000;

/// Ten in each 100 ms.
fn ten(clock: &ManualClock) -> CounterCore<Aligned, &ManualClock> {
    CounterCore::new(Aligned::new(rate!(10 / 100 ms)).unwrap(), clock)
}

fn turn(permits: u64, has_others: bool) -> Turn {
    Turn { permits, since_nanos: 0, now_nanos: 0, has_others, may_heal: true, told_nanos: None }
}

fn granted(taken: Taken) -> Charged {
    match taken {
        Taken::Granted(_, charged) => charged,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_gate_is_open_after_a_grant_that_could_not_be_taken_back() {
    let clock = ManualClock::new();
    let core = ten(&clock);
    let charged = granted(core.take_turn(turn(3, false)));
    core.try_acquire(1).unwrap();
    assert!(!core.undo(charged), "another one was made since");
    assert!(!TakesTurns::is_gated(&core));

    let core = ten(&clock);
    let charged = granted(core.take_turn(turn(3, false)));
    core.reset();
    core.try_acquire(3).unwrap();
    // The word is the same as after the grant.
    assert!(!core.undo(charged), "it was lost in the reset");
    assert!(!TakesTurns::is_gated(&core));
    assert_eq!(core.count(), 3);
}

#[test]
fn the_gate_stays_as_it_is_when_a_grant_is_taken_back() {
    let clock = ManualClock::new();
    for has_others in [false, true] {
        let core = ten(&clock);
        let charged = granted(core.take_turn(turn(3, has_others)));
        assert_eq!(TakesTurns::is_gated(&core), has_others);
        assert!(core.undo(charged));
        assert_eq!(TakesTurns::is_gated(&core), has_others, "the holder of the lock settles");
        assert_eq!(core.count(), 0);
    }
}

#[test]
fn a_caller_that_wants_more_than_a_counter_ever_grants_holds_nobody_up() {
    let clock = ManualClock::new();
    let core = ten(&clock);
    core.try_acquire(10).unwrap();
    let due =
        |sizes: &[u64]| core.last_due(turn(0, true), None, &mut sizes.iter().copied()).due_nanos;
    assert_eq!(due(&[6, 6]), 200 * MILLI);
    assert_eq!(due(&[6, 11, u64::MAX, 6]), 200 * MILLI);
}

/// A counter that counts the sizes that it looks at.
struct Observed<'a> {
    core: CounterCore<Aligned, &'a ManualClock>,
    looked_at: Cell<u64>,
}

impl TakesTurns for Observed<'_> {
    fn line_lock(&self) -> &LineLock {
        self.core.line_lock()
    }

    fn clock(&self) -> &dyn Clock {
        TakesTurns::clock(&self.core)
    }

    fn is_gated(&self) -> bool {
        TakesTurns::is_gated(&self.core)
    }

    fn limit(&self) -> u64 {
        TakesTurns::limit(&self.core)
    }

    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.try_now(permits)
    }

    fn take_turn(&self, turn: Turn) -> Taken {
        self.core.take_turn(turn)
    }

    fn open_gate(&self) {
        self.core.open_gate();
    }

    fn due_nanos(&self, turn: Turn) -> u64 {
        self.core.due_nanos(turn)
    }

    fn last_due(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        sizes: &mut dyn Iterator<Item = u64>,
    ) -> LastTurn {
        let mut sizes = sizes.inspect(|_| self.looked_at.set(self.looked_at.get() + 1));
        self.core.last_due(turn, from, &mut sizes)
    }

    fn undo(&self, charged: Charged) -> bool {
        self.core.undo(charged)
    }

    fn wake_first(&self) {
        self.core.wake_first();
    }
}

#[test]
fn a_caller_that_comes_looks_at_itself_and_not_at_all_ahead() {
    let clock = ManualClock::new();
    let limiter = Observed { core: ten(&clock), looked_at: Cell::new(0) };
    limiter.core.try_acquire(10).unwrap();
    let mut keys = [None; 100];
    let stand = |key: &mut _| {
        let standing = line::stand(&limiter, 6, key, None, Waker::noop().clone()).unwrap();
        let LineAnswer::Waiting { wait } = standing else { panic!("{standing:?}") };
        wait
    };
    let hundreds = |count: usize| Duration::from_millis(100 * count as u64);
    for (index, key) in keys.iter_mut().enumerate() {
        assert_eq!(stand(key), hundreds(index + 1));
    }
    assert_eq!(limiter.looked_at.get(), 100);
    // Nor does it if it would come too late, and leaves at once.
    for _ in 0..2 {
        line::stand(&limiter, 6, &mut None, Some(1), Waker::noop().clone()).unwrap();
    }
    assert_eq!(limiter.looked_at.get(), 102);
    // If somebody has left, the next one looks at all.
    line::leave(&limiter, keys[50].take().unwrap());
    assert_eq!(stand(&mut keys[50]), hundreds(100));
    assert_eq!(limiter.looked_at.get(), 202);
    line::leave(&limiter, keys[99].take().unwrap());
    assert_eq!(stand(&mut keys[99]), hundreds(100));
    // The first one's turn, which is settled late.
    clock.advance_nanos(150 * MILLI);
    let mut last = None;
    assert_eq!(stand(&mut last), Duration::from_millis(9_950));
    limiter.core.reset();
    assert_eq!(stand(&mut None), Duration::from_millis(9_950));
}
