//! Gates: limiters that are opened and closed live. What is checked:
//!
//! * an open gate grants everything, a closed one nothing, and neither charges the limiter;
//! * answers tell what holds: no limit, or a limit of zero that no wait lifts;
//! * a gate is a limiter among others, and one for each key.

use std::time::Duration;

use sluicegate::compose::{All, Gate, GateMode, Unlimited};
use sluicegate::keyed::Each;
use sluicegate::*;

fn bucket(clock: &ManualClock) -> TokenBucket<&ManualClock> {
    TokenBucket::with_clock(quota!(5 / second), clock)
}

/// A limiter that must not be asked.
struct Untouched;

impl Limiter for Untouched {
    fn try_acquire(&self, _: u64) -> Result<Grant, Denied> {
        unreachable!("the limiter was asked")
    }

    fn try_acquire_up_to(&self, _: u64) -> Result<Grant, Denied> {
        unreachable!("the limiter was asked")
    }

    fn peek(&self, _: u64) -> Result<Grant, Denied> {
        unreachable!("the limiter was asked")
    }

    fn reset(&self) {}
}

#[test]
fn an_open_gate_grants_everything_and_charges_nothing() {
    let clock = ManualClock::new();
    let gate = Gate::new(bucket(&clock));
    assert_eq!(gate.mode(), GateMode::Limiting);
    assert_eq!(gate.try_acquire(2).unwrap().remaining(), 3);

    gate.set(GateMode::Open);
    for permits in [0, 1, 6, u64::MAX] {
        let grants = [
            gate.try_acquire(permits).unwrap(),
            gate.try_acquire_up_to(permits).unwrap(),
            gate.peek(permits).unwrap(),
            gate.try_acquire_revocable(permits).unwrap().grant(),
        ];
        for grant in grants {
            assert_eq!(grant.permits(), permits);
            assert_eq!((grant.limit(), grant.remaining()), (u64::MAX, u64::MAX));
            assert_eq!(grant.reset_after() + grant.ready_after(), Duration::ZERO);
        }
    }
    assert!(gate.try_acquire_revocable(9).unwrap().give_back());

    gate.set(GateMode::Limiting);
    assert_eq!(gate.peek(0).unwrap().remaining(), 3);
}

#[test]
fn a_closed_gate_has_a_limit_of_zero_that_no_wait_lifts() {
    let clock = ManualClock::new();
    let gate = Gate::with_mode(bucket(&clock), GateMode::Closed);
    for permits in [1, 5, u64::MAX] {
        let denials = [
            gate.try_acquire(permits).unwrap_err(),
            gate.try_acquire_up_to(permits).unwrap_err(),
            gate.peek(permits).unwrap_err(),
            gate.try_acquire_revocable(permits).unwrap_err(),
        ];
        for denied in denials {
            assert_eq!(denied, Denied::TooLarge { limit: 0, which: 0 });
            assert_eq!(denied.retry_after(), None);
        }
    }
    let grant = gate.try_acquire(0).unwrap();
    assert_eq!((grant.permits(), grant.limit(), grant.remaining()), (0, 0, 0));
    assert_eq!(grant.reset_after(), Duration::ZERO);

    gate.set(GateMode::Limiting);
    assert_eq!(gate.try_acquire_up_to(9).unwrap().permits(), 5);
}

#[test]
fn a_gate_that_does_not_limit_asks_no_limiter() {
    let gate = Gate::with_mode(Untouched, GateMode::Open);
    assert!(gate.try_acquire(1).is_ok() && gate.peek(1).is_ok());
    assert!(gate.try_acquire_up_to(1).is_ok() && gate.try_acquire_revocable(1).is_ok());
    gate.set(GateMode::Closed);
    assert!(gate.try_acquire(1).is_err() && gate.peek(1).is_err());
    assert!(gate.try_acquire_up_to(1).is_err() && gate.try_acquire_revocable(1).is_err());
}

#[test]
fn a_reset_of_a_gate_fills_the_limiter_and_keeps_the_mode() {
    let clock = ManualClock::new();
    let gate = Gate::new(bucket(&clock));
    gate.try_acquire(5).unwrap();
    gate.set(GateMode::Closed);
    gate.reset();
    assert_eq!(gate.mode(), GateMode::Closed);
    assert_eq!(gate.into_limiter().peek(0).unwrap().remaining(), 5);
}

#[test]
fn several_limiters_with_a_closed_gate_among_them_name_it() {
    let clock = ManualClock::new();
    let (first, second) = (Gate::new(bucket(&clock)), Gate::new(bucket(&clock)));
    let all = All::new([&first, &second]).unwrap();
    second.set(GateMode::Open);
    assert_eq!(all.try_acquire(2).unwrap().remaining(), 3);
    assert_eq!(all.try_acquire_up_to(9).unwrap().permits(), 3);

    first.set(GateMode::Open);
    second.set(GateMode::Closed);
    assert_eq!(all.try_acquire(1), Err(Denied::TooLarge { limit: 0, which: 1 }));
    assert_eq!(all.try_acquire_up_to(4), Err(Denied::TooLarge { limit: 0, which: 1 }));
    first.set(GateMode::Limiting);
    // A wait would do for the empty bucket, but not for the gate.
    assert_eq!(all.try_acquire(1), Err(Denied::TooLarge { limit: 0, which: 1 }));
}

#[test]
fn a_gate_whose_mode_was_changed_is_not_idle() {
    let clock = ManualClock::new();
    let gate = Gate::new(bucket(&clock));
    assert!(gate.is_idle());
    gate.set(GateMode::Closed);
    assert!(!gate.is_idle());
    gate.set(GateMode::Limiting);
    assert!(gate.is_idle());
    gate.try_acquire(1).unwrap();
    assert!(!gate.is_idle());

    let closed = Gate::with_mode(bucket(&clock), GateMode::Closed);
    assert!(closed.is_idle());
    closed.set(GateMode::Open);
    assert!(!closed.is_idle());
}

#[test]
fn keys_can_be_blocked_or_unlimited() {
    let each = Each::new(|key: &&str| {
        let mode = match *key {
            "blocked" => GateMode::Closed,
            "house" => GateMode::Open,
            _ => GateMode::Limiting,
        };
        Gate::with_mode(TokenBucket::with_clock(quota!(2 / day), ManualClock::new()), mode)
    });
    let keyed = Keyed::with(each);
    assert!(keyed.try_acquire(&"house", 1_000).is_ok());
    assert_eq!(keyed.try_acquire(&"blocked", 1).unwrap_err().retry_after(), None);
    assert!(keyed.try_acquire(&"guest", 2).is_ok());
    assert!(keyed.try_acquire(&"guest", 1).unwrap_err().retry_after().is_some());
}

#[test]
fn an_unlimited_limiter_grants_all_and_is_always_idle() {
    let limiter: &dyn Limiter = &Unlimited;
    assert_eq!(limiter.try_acquire(u64::MAX).unwrap().permits(), u64::MAX);
    assert_eq!(limiter.try_acquire_up_to(7).unwrap().permits(), 7);
    assert!(limiter.try_acquire_revocable(7).unwrap().give_back());
    limiter.reset();
    assert!(limiter.is_idle());
}

#[test]
fn a_gate_tells_how_often_its_limiter_healed() {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(100));
    let gate = Gate::new(bucket(&clock));
    gate.try_acquire(5).unwrap();
    clock.rewind(Duration::from_secs(10));
    assert!(gate.try_acquire(5).is_ok());
    gate.set(GateMode::Open);
    assert_eq!((gate.healed(), gate.limiter().healed()), (1, 1));
}
