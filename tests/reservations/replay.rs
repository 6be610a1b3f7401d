//! Replays calls on a window and on the reference.

use std::time::Duration;

use sluicegate::settle::Estimate;
use sluicegate::wait::{Reservation, Reserve};
use sluicegate::*;

use super::reference::{Reference, Taken};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Advance(u64),
    Take(u64),
    UpTo(u64),
    Reserve(u64),
    /// Reserves the first, if that is at most so far away.
    ReserveWithin(u64, u64),
    /// Cancels one of the reservations, counted from the newest.
    Cancel(usize),
    /// Takes an estimate.
    Estimate(u64),
    /// Gives back one of the estimates, counted from the newest.
    Settle(usize),
    Overdraw(u64),
    Limit(u64),
    Reset,
}

/// Replays `ops` on windows of `limit` in `length` ns, which are reserved up to `ahead` ns ahead.
pub(crate) fn replay(limit: u64, (length, ahead): (u64, u64), start: u64, ops: &[Op]) {
    let clock = ManualClock::at(start);
    let rate = Rate::new(limit, Duration::from_nanos(length)).unwrap();
    let window = FixedWindow::with_clock(rate, &clock).unwrap();
    let window = window.with_reservations(Duration::from_nanos(ahead));
    let mut reference = Reference::new(limit, length, ahead, start);
    let mut reserved: Vec<(Reservation<'_>, Taken)> = Vec::new();
    let mut estimates: Vec<(Estimate<'_>, Taken)> = Vec::new();
    for (step, op) in ops.iter().enumerate() {
        let now = clock.now_nanos();
        let at = || format!("limit {limit}, step {step} of {ops:?} at {now}");
        match *op {
            Op::Advance(nanos) => clock.advance_nanos(nanos),
            Op::Take(permits) if permits > reference.limit => {
                assert!(matches!(window.try_acquire(permits), Err(Denied::TooLarge { .. })));
            }
            Op::Take(permits) => {
                let wait = reference.wait(now, permits);
                let granted = window.try_acquire(permits);
                assert_eq!(reference.acquire(now, permits).is_some(), granted.is_ok(), "{}", at());
                let waited =
                    granted.map_or_else(|denied| denied.retry_after(), |_| Some(Duration::ZERO));
                assert_eq!(waited, wait.map(Duration::from_nanos), "{}", at());
            }
            Op::UpTo(permits) => {
                let granted = window.try_acquire_up_to(permits).map_or(0, |grant| grant.permits());
                let most = (1..=permits).rev().find(|&some| reference.acquire(now, some).is_some());
                assert_eq!(granted, most.unwrap_or(0), "{}", at());
            }
            Op::Reserve(permits) | Op::ReserveWithin(permits, _) => {
                let longest =
                    if let Op::ReserveWithin(_, longest) = *op { longest } else { u64::MAX };
                let booked = window.reserve_within(permits, Duration::from_nanos(longest));
                match (booked, reference.reserve(now, permits, longest)) {
                    (Ok(booked), Ok(taken)) => {
                        assert_eq!(booked.at_nanos(), taken.at_nanos, "{}", at());
                        assert_eq!(
                            booked.ready_after().as_nanos(),
                            u128::from(taken.at_nanos - now)
                        );
                        reserved.push((booked, taken));
                    }
                    (Err(error), Err(expected)) => assert_eq!(error, expected, "{}", at()),
                    differ => panic!("{differ:?}, {}", at()),
                }
            }
            Op::Cancel(newest) if newest < reserved.len() => {
                let (booked, taken) = reserved.remove(reserved.len() - 1 - newest);
                assert_eq!(booked.cancel(), reference.cancel(now, taken), "{}", at());
            }
            Op::Estimate(permits) => {
                let estimate = window.try_acquire_settleable(permits).ok();
                let taken = reference.acquire(now, permits);
                assert_eq!(estimate.is_some(), taken.is_some(), "{}", at());
                estimates.extend(estimate.zip(taken));
            }
            Op::Settle(newest) if newest < estimates.len() => {
                let (estimate, taken) = estimates.remove(estimates.len() - 1 - newest);
                let given = estimate.settle(0).unwrap().given_back();
                assert_eq!(given, reference.settle(now, taken), "{}", at());
            }
            Op::Overdraw(permits) => {
                let taken = match window.try_acquire_settleable(0).unwrap().settle(permits) {
                    Ok(settled) => settled.taken_beyond(),
                    Err(unpaid) => permits - unpaid.permits(),
                };
                assert_eq!(taken, reference.overdraw(now, permits), "{}", at());
            }
            Op::Limit(limit) => {
                window.reconfigure(limit).unwrap();
                reference.limit = limit;
            }
            Op::Reset => {
                window.reset();
                reference.reset(now);
                // Those from before are not given back; and what they would be is not known.
                for (booked, _) in reserved.drain(..) {
                    assert!(!booked.cancel(), "{}", at());
                }
                estimates.clear();
            }
            Op::Cancel(_) | Op::Settle(_) => {}
        }
    }
    assert_eq!(window.healed(), 0);
    look(&window, &reference, clock.now_nanos(), ops);
}

/// Compares what the window says of itself.
fn look(window: &FixedWindow<&ManualClock>, reference: &Reference, now: u64, ops: &[Op]) {
    for permits in 1..=reference.limit.min(3) {
        let wait = reference.wait(now, permits).map(Duration::from_nanos);
        let peeked = window.peek(permits);
        let told = peeked.map_or_else(|denied| denied.retry_after(), |_| Some(Duration::ZERO));
        assert_eq!(told, wait, "{permits} after {ops:?} at {now}");
    }
    let has = |all: &u64| reference.clone().acquire(now, *all).is_some();
    let left = (1..=reference.limit).rev().find(has);
    assert_eq!(window.peek(0).unwrap().remaining(), left.unwrap_or(0), "{ops:?} at {now}");
}
