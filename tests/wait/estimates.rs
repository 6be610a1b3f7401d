//! Waiting for estimates. What is checked:
//!
//! * those who wait for estimates and for permits stand in one line, and go in order;
//! * what is settled goes to the first in line, at once;
//! * a caller that has gone has taken nothing, also after its grant;
//! * in any mixture of calls, what is kept of estimates is within the bound.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::{Gate, GateMode};
use sluicegate::settle::{Estimate, Settle};
use sluicegate::wait::{
    AcquireError, Jitter, LineLimits, Queued, SettleInLine, WaitingForEstimate,
};
use sluicegate::{FixedWindow, Limiter, ManualClock, Wait, quota, rate};

use super::support::{Caller, MILLI, NoTimer, Woken};

type Tokens<'a> = Queued<SettleableBucket<&'a ManualClock>, &'a ManualClock>;

fn tokens(clock: &ManualClock) -> Tokens<'_> {
    let bucket = SettleableBucket::with_clock(quota!(1_000 / second, burst 10), clock);
    Queued::with_clock(bucket, clock)
}

/// A caller that waits for an estimate, polled by hand.
struct Asking<'a> {
    future: Pin<Box<WaitingForEstimate<'a, NoTimer>>>,
    woken: Arc<Woken>,
}

impl<'a> Asking<'a> {
    fn of(future: WaitingForEstimate<'a>) -> Asking<'a> {
        Asking { future: Box::pin(future.timer(NoTimer)), woken: Arc::default() }
    }

    /// A caller that has asked once, and has to wait.
    fn waiting(limiter: &'a Tokens<'_>, permits: u64) -> Asking<'a> {
        let mut asking = Asking::of(limiter.acquire_settleable(permits));
        assert!(asking.poll().is_none());
        asking
    }

    fn poll(&mut self) -> Option<Result<Estimate<'a>, AcquireError>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    fn granted(&mut self) -> Estimate<'a> {
        self.poll().expect("an answer").expect("a grant")
    }
}

#[test]
fn an_estimate_is_waited_for_and_what_is_settled_goes_to_the_first_in_line() {
    let clock = ManualClock::new();
    let tokens = tokens(&clock);
    let first = tokens.acquire_settleable_blocking(8).unwrap();
    let mut second = Asking::waiting(&tokens, 6);
    let mut third = Caller::new(&tokens, 3);
    assert_eq!(tokens.line().waiters(), 2);
    assert!(tokens.try_acquire_settleable(1).is_err(), "not past the line");
    // Six of the eight come back: with the two that were there, as many as the second wants.
    assert_eq!(first.settle(4).unwrap().given_back(), 4);
    assert_eq!(second.woken.woken(), 1);
    let second = second.granted();
    assert_eq!((second.permits(), second.grant().permits()), (6, 6));
    assert!(third.is_waiting());
    let woken = third.woken();
    assert_eq!(second.settle(3).unwrap().given_back(), 3);
    assert!(third.woken() == woken + 1 && third.is_granted());
    assert_eq!(tokens.limiter().peek(0).unwrap().remaining(), 0);
    clock.advance(MILLI);
    assert_eq!(tokens.acquire_settleable_blocking(1).unwrap().settle(0).unwrap().given_back(), 1);
}

#[test]
fn a_caller_that_leaves_the_line_has_taken_nothing() {
    let clock = ManualClock::new();
    let tokens = tokens(&clock);
    tokens.try_acquire(10).unwrap();
    let first = Asking::waiting(&tokens, 6);
    let mut second = Asking::waiting(&tokens, 2);
    drop(first);
    clock.advance(2 * MILLI);
    let _ = second.granted();
    assert_eq!((tokens.line().waiters(), tokens.limiter().peek(0).unwrap().balance()), (0, 0));
}

#[test]
fn an_estimate_that_was_granted_to_somebody_who_has_gone_is_given_back() {
    let clock = ManualClock::new();
    for jitters in [false, true] {
        let tokens = tokens(&clock);
        tokens.try_acquire(10).unwrap();
        let future = tokens.acquire_settleable(5);
        let jitter = Jitter::between(9 * MILLI, 9 * MILLI);
        let mut first = Asking::of(if jitters { future.jitter(jitter) } else { future });
        assert!(first.poll().is_none());
        let mut second = Asking::waiting(&tokens, 4);
        clock.advance(6 * MILLI);
        if jitters {
            assert!(first.poll().is_none(), "granted, and delayed");
        } else {
            assert!(tokens.try_acquire(1).is_err(), "settles for the first");
        }
        assert_eq!(tokens.limiter().peek(0).unwrap().remaining(), 1);
        drop(first);
        assert_eq!(second.woken.woken(), 1);
        let _ = second.granted();
        assert_eq!(tokens.limiter().peek(0).unwrap().remaining(), 2);
    }
}

#[test]
fn permits_of_a_caller_that_was_granted_them_and_has_gone_come_back_too() {
    let clock = ManualClock::new();
    let tokens = tokens(&clock);
    tokens.acquire_settleable_blocking(10).unwrap().settle(10).unwrap();
    let first = Caller::new(&tokens, 5);
    clock.advance(5 * MILLI);
    assert!(tokens.try_acquire(1).is_err());
    drop(first);
    assert_eq!(tokens.limiter().peek(0).unwrap().remaining(), 5);
    // One that was told keeps them.
    assert!(Caller::new(&tokens, 5).is_granted());
    let mut waits = Caller::new(&tokens, 5);
    clock.advance(5 * MILLI);
    assert!(waits.is_granted());
    drop(waits);
    assert_eq!(tokens.limiter().peek(0).unwrap().remaining(), 0);
}

#[test]
fn refusals_are_those_of_callers_that_wait_for_permits() {
    let clock = ManualClock::new();
    let tokens = tokens(&clock);
    let refused = |answer: Result<Estimate<'_>, AcquireError>| answer.map(|_| ()).unwrap_err();
    assert_eq!(
        refused(tokens.acquire_settleable_blocking(11)),
        AcquireError::TooLarge { limit: 10 }
    );
    tokens.try_acquire(10).unwrap();
    let late = AcquireError::TimedOut { retry_after: 4 * MILLI };
    assert_eq!(refused(tokens.acquire_settleable(4).timeout(MILLI).wait_blocking()), late);
    tokens.line().set_limits(LineLimits::new().max_waiters(1));
    let mut first = Asking::waiting(&tokens, 1);
    let full = refused(tokens.acquire_settleable_blocking(1));
    assert!(matches!(full, AcquireError::LineFull { .. }));
    tokens.line().close();
    assert_eq!(refused(first.poll().unwrap()), AcquireError::Closed);
    assert!(tokens.acquire_settleable_blocking(0).is_ok());
    let past = std::time::Instant::now();
    assert!(
        tokens.acquire_settleable(0).wait_blocking_until(past + Duration::from_secs(60)).is_ok()
    );
    assert!(tokens.acquire_settleable(0).wait_blocking_until(past).is_err());
}

#[test]
fn windows_and_gates_give_estimates_to_those_who_wait_too() {
    let clock = ManualClock::new();
    let window = Gate::new(FixedWindow::with_clock(rate!(10 / second), &clock).unwrap());
    let window = Queued::with_clock(window, &clock);
    let first = window.acquire_settleable_blocking(7).unwrap();
    let mut second = Asking::of(window.acquire_settleable(8));
    assert!(second.poll().is_none());
    first.settle(2).unwrap();
    assert_eq!(second.granted().settle(1).unwrap().given_back(), 7);
    assert_eq!(window.peek(0).unwrap().remaining(), 7);
    let mut third = Asking::of(window.acquire_settleable(8));
    assert!(third.poll().is_none());
    window.update(|gate| gate.set(GateMode::Open));
    assert_eq!(third.granted().settle(0).unwrap().given_back(), 8);
    assert_eq!(window.limiter().limiter().peek(0).unwrap().remaining(), 7);
}

#[test]
fn a_future_that_is_polled_after_its_answer_asks_anew() {
    let clock = ManualClock::new();
    let tokens = tokens(&clock);
    let mut asking = Asking::of(tokens.acquire_settleable(4));
    let (_first, _second) = (asking.granted(), asking.granted());
    assert!(asking.poll().is_none());
    clock.advance(2 * MILLI);
    assert_eq!(asking.granted().settle(0).unwrap().given_back(), 4);
    assert_eq!(asking.granted().permits(), 4);
}

/// The permits that are kept, in all: never more than the burst and what was earned.
#[test]
fn in_any_mixture_of_calls_what_is_kept_is_within_the_bound_and_nothing_is_left_over() {
    for seed in 0..60 {
        let mut random = SmallRng::seed_from_u64(seed);
        let clock = ManualClock::new();
        let tokens = tokens(&clock);
        let (mut kept, mut held, mut line) = (0, Vec::new(), Vec::new());
        for _ in 0..300 {
            match random.random_range(0..6) {
                0 => clock.advance(Duration::from_micros(random.random_range(0..3_000))),
                1 => {
                    let permits = random.random_range(1..=10);
                    line.push(Asking::of(tokens.acquire_settleable(permits)));
                }
                2 if !held.is_empty() => {
                    let estimate: Estimate<'_> =
                        held.swap_remove(random.random_range(0..held.len()));
                    kept += estimate.permits();
                    let used = random.random_range(0..=estimate.permits());
                    kept -= estimate.settle(used).unwrap().given_back();
                }
                3 if !line.is_empty() => drop(line.remove(random.random_range(0..line.len()))),
                4 => kept += tokens.try_acquire(1).map_or(0, |grant| grant.permits()),
                _ => line.retain_mut(|asking| match asking.poll() {
                    Some(answer) => {
                        held.push(answer.unwrap());
                        false
                    }
                    None => true,
                }),
            }
            let open: u64 = held.iter().map(Estimate::permits).sum();
            let earned = sluicegate::Clock::now_nanos(&&clock) / 1_000_000;
            assert!(kept + open <= 10 + earned, "seed {seed}: {kept} + {open} > 10 + {earned}");
        }
        drop((line, held));
        assert_eq!(tokens.line().waiters(), 0);
        clock.advance(Duration::from_secs(1));
        assert_eq!(tokens.try_acquire(10).unwrap().remaining(), 0);
    }
}

#[test]
fn an_estimate_that_was_waited_for_can_be_owned_and_tells_those_in_line() {
    let clock: &'static ManualClock = Box::leak(Box::new(ManualClock::new()));
    let tokens = Arc::new(tokens(clock));
    let estimate = tokens.acquire_settleable_blocking(9).unwrap();
    let owned = estimate.into_owned(&tokens).expect("it is of this limiter");
    let mut next = Asking::waiting(&tokens, 8);
    std::thread::spawn(move || owned.settle(2).unwrap()).join().unwrap();
    assert_eq!(next.woken.woken(), 1);
    assert_eq!(next.granted().permits(), 8);
}

#[test]
fn a_caller_that_keeps_its_limiter_stands_in_the_same_line_and_its_estimate_keeps_it_too() {
    let clock: &'static ManualClock = Box::leak(Box::new(ManualClock::new()));
    let tokens = Arc::new(tokens(clock));
    assert!(tokens.acquire_settleable_owned(9).wait_blocking().unwrap().settle(9).is_ok());
    let mut first = Asking::of(tokens.acquire_settleable_owned(4));
    assert!(first.poll().is_none());
    let mut second = Asking::waiting(&tokens, 1);
    let mut left = Asking::of(tokens.acquire_settleable_owned(2));
    assert!(left.poll().is_none());
    assert_eq!(tokens.line().waiters(), 3);
    drop(left);
    clock.advance(4 * MILLI);
    let estimate = first.granted();
    assert_eq!(second.granted().permits(), 1);
    drop((first, second));

    let weak = Arc::downgrade(&tokens);
    drop(tokens);
    assert_eq!(estimate.settle(1).unwrap().given_back(), 3);
    assert!(weak.upgrade().is_none());
}
