//! Callers in line.

#[cfg(feature = "calendar")]
use sluicegate::calendar::{Budget, Calendar, CalendarWindow};
use sluicegate::wait::Queued;
use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::*;

use super::every_common_verb;
use crate::support::allocator::allocations;

/// Returns what the denials of a limiter allocate while 20 callers stand in line for all of `limit`.
fn allocated_at_the_gate(limiter: &impl Wait, limit: u64) -> u64 {
    use std::future::Future;
    use std::task::{Context, Waker};

    limiter.try_acquire(limit).unwrap();
    let mut callers: Vec<_> = (0..20).map(|_| Box::pin(limiter.acquire(limit))).collect();
    let mut context = Context::from_waker(Waker::noop());
    for caller in &mut callers {
        assert!(caller.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(limiter.line().waiters(), 20);
    allocations(|| {
        every_denial(limiter);
        assert_eq!(limiter.line().waiters(), 20);
    })
}

fn every_denial(limiter: &dyn Limiter) {
    for permits in [1, 2, 3] {
        for answer in [
            limiter.try_acquire(permits),
            limiter.try_acquire_up_to(permits),
            limiter.peek(permits),
        ] {
            assert!(answer.unwrap_err().retry_after().is_some());
        }
    }
}

#[test]
fn a_denial_at_the_gate_of_a_line_does_not_allocate() {
    let clock = ManualClock::at(86_400_000_000_000);
    let rate = rate!(3 / second);
    let made = [
        allocated_at_the_gate(&TokenBucket::with_clock(quota!(3 / second), &clock), 3),
        allocated_at_the_gate(&FixedWindow::with_clock(rate, &clock).unwrap(), 3),
        allocated_at_the_gate(&WindowFromFirst::with_clock(rate, &clock).unwrap(), 3),
        allocated_at_the_gate(&SlidingCounter::with_clock(rate, &clock).unwrap(), 3),
        allocated_at_the_gate(&SlidingWindow::with_slots(rate, 10, &clock).unwrap(), 3),
        allocated_at_the_gate(
            &MultiWindow::with_slots([rate, rate!(99 / day)], 10, &clock).unwrap(),
            3,
        ),
        allocated_at_the_gate(
            &Queued::with_clock(WeightedLog::with_clock(rate, &clock).unwrap(), &clock),
            3,
        ),
    ];
    assert_eq!(made, [0; 7]);
    #[cfg(feature = "calendar")]
    {
        let days = Calendar::days("UTC").unwrap();
        let made = [
            allocated_at_the_gate(&Budget::with_clock(3, "UTC", &clock).unwrap(), 3),
            allocated_at_the_gate(&CalendarWindow::with_clock(3, days, &clock).unwrap(), 3),
        ];
        assert_eq!(made, [0; 2]);
    }
}

#[test]
fn a_queued_limiter_that_nobody_waits_for_allocates_nothing() {
    let clock = ManualClock::at(86_400_000_000_000);
    let made = allocations(|| {
        let queued = TokenBucket::with_clock(quota!(10 / second), &clock);
        every_common_verb(&Queued::with_clock(queued, &clock));
    });
    assert_eq!(made, 0);
}
