//! Wrappers whose limiter is settled through them.

use super::*;
use crate::wait::support::Caller;

fn window(clock: &ManualClock) -> FixedWindow<&ManualClock> {
    FixedWindow::with_clock(rate!(10 / minute), clock).unwrap()
}

#[test]
fn a_gate_that_limits_is_settled_as_its_limiter() {
    let clock = ManualClock::new();
    let gate = Gate::new(window(&clock));
    let (one, other) = (gate.try_acquire_settleable(6), gate.try_acquire_settleable(4));
    assert!(gate.try_acquire_settleable(1).is_err());
    assert_eq!(one.unwrap().settle(1).unwrap().given_back(), 5);
    assert_eq!(other.unwrap().settle(7).unwrap().taken_beyond(), 3);
    assert_eq!(gate.peek(0).unwrap().remaining(), 2);
}

#[test]
fn an_estimate_of_a_gate_is_settled_in_the_mode_in_which_it_was_taken() {
    let clock = ManualClock::new();
    let gate = Gate::new(window(&clock));
    let limited = gate.try_acquire_settleable(8).unwrap();
    gate.set(GateMode::Open);
    let open = gate.try_acquire_settleable(1_000).unwrap();
    let beyond = gate.try_acquire_settleable(1_000).unwrap();
    assert_eq!(open.grant().remaining(), u64::MAX);
    gate.set(GateMode::Closed);
    assert!(gate.try_acquire_settleable(1).is_err());
    let nothing = gate.try_acquire_settleable(0).unwrap();
    gate.set(GateMode::Limiting);
    assert_eq!(gate.peek(0).unwrap().remaining(), 2);
    // Nobody was charged with these.
    assert_eq!(open.settle(300).unwrap().given_back(), 700);
    assert_eq!(beyond.settle(1_005).unwrap().taken_beyond(), 5);
    assert_eq!(nothing.settle(3).unwrap().taken_beyond(), 3);
    assert_eq!(gate.peek(0).unwrap().remaining(), 2);
    gate.set(GateMode::Closed);
    assert_eq!(limited.settle(3).unwrap().given_back(), 5);
    gate.set(GateMode::Limiting);
    assert_eq!(gate.peek(0).unwrap().remaining(), 7);
}

#[test]
fn an_estimate_counts_as_a_grant_and_its_settlement_apart() {
    let clock = ManualClock::new();
    let counted = Counted::with_slots(window(&clock), 1);
    let estimate = counted.try_acquire_settleable(6).unwrap();
    assert!(counted.try_acquire_settleable(5).is_err());
    let counts = counted.counts();
    assert_eq!((counts.granted, counts.denied, counts.permits), (1, 1, 6));
    assert_eq!(estimate.settle(2).unwrap().given_back(), 4);
    assert_eq!((counted.counts(), counted.peek(0).unwrap().remaining()), (counts, 8));
    let moved = |counted: &Counted<_>| {
        let settled = counted.settled();
        (settled.given_back, settled.lost, settled.taken_beyond, settled.unpaid)
    };
    assert_eq!(moved(&counted), (4, 0, 0, 0));
    counted.try_acquire_settleable(1).unwrap().settle(3).unwrap();
    let late = counted.try_acquire_settleable(5).unwrap();
    clock.advance(Duration::from_secs(60));
    assert_eq!(late.settle(1).unwrap().lost(), 4);
    assert_eq!(moved(&counted), (4, 4, 2, 0));
    counted.try_acquire_settleable(1).unwrap().settle(u64::MAX).unwrap_err();
    assert!(counted.settled().unpaid > 0);
}

#[test]
fn a_settlement_is_counted_once_whatever_is_around_it_and_who_keeps_it() {
    let clock = ManualClock::new();
    let inner = Counted::with_slots(window(&clock), 1);
    let outer = Counted::with_slots(Gate::new(&inner), 1);
    let mut estimate = outer.try_acquire_settleable(8).unwrap();
    assert_eq!(estimate.give_back(3), 3);
    estimate.settle(7).unwrap();
    assert_eq!((inner.settled().given_back, inner.settled().taken_beyond), (3, 2));
    assert_eq!(outer.settled(), SettledCounts::default());
}

#[test]
fn a_settlement_of_an_estimate_that_keeps_its_limiter_is_counted() {
    let limiter = std::sync::Arc::new(Counted::new(FixedWindow::new(rate!(10 / day)).unwrap()));
    let settle = |actual| limiter.try_acquire_settleable_owned(4).unwrap().settle(actual).unwrap();
    assert_eq!((settle(1).given_back(), settle(6).taken_beyond()), (3, 2));
    assert_eq!((limiter.settled().given_back, limiter.settled().taken_beyond), (3, 2));
}

#[test]
fn what_a_queued_limiter_is_given_back_wakes_its_line() {
    let clock = ManualClock::new();
    let queued = Queued::with_clock(window(&clock), &clock);
    let estimate = queued.try_acquire_settleable(10).unwrap();
    let mut waiting = Caller::new(&queued, 4);
    // Those in line go first.
    assert!(waiting.is_waiting() && queued.try_acquire_settleable(1).is_err());
    let woken = waiting.woken();
    assert_eq!(estimate.settle(6).unwrap().given_back(), 4);
    assert!(waiting.woken() > woken && waiting.is_granted());
    assert!(queued.try_acquire_settleable(1).is_err());
}
