//! Models of callers that wait in line for permits in flight. What is checked, over every
//! interleaving: nobody overtakes them; an end, a change of the limit or a caller that leaves wakes
//! those that can go; and one that gives up holds nothing. (A sleep that nobody ends is a deadlock,
//! which loom reports.)

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};

use sluicegate_flow::concurrency::{ConcurrencyLimit, Entering, InFlight, InFlightError};
use sluicegate_loom_tests::{ANY, Arc, check, race, thread};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

type Answer<'a> = Poll<Result<InFlight<'a>, InFlightError>>;

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Unpark>) {
        self.0.unpark();
    }
}

fn poll<'a>(caller: &mut Pin<&mut Entering<'a>>) -> Answer<'a> {
    let waker = Waker::from(std::sync::Arc::new(Unpark(thread::current())));
    caller.as_mut().poll(&mut Context::from_waker(&waker))
}

/// Sleeps until there is an answer.
fn wait(limit: &ConcurrencyLimit, permits: u64) -> Result<InFlight<'_>, InFlightError> {
    let mut caller = pin!(limit.acquire(permits));
    loop {
        match poll(&mut caller) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => thread::park(),
        }
    }
}

fn limit_of(limit: u64) -> Arc<ConcurrencyLimit> {
    Arc::new(ConcurrencyLimit::new(limit))
}

/// Checks that nothing is left, and that the gate is open.
fn assert_idle(limit: &ConcurrencyLimit) {
    assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
    if limit.limit() > 0 {
        assert!(limit.try_acquire(1).is_ok());
    }
}

/// A part of a race.
enum Act {
    End(InFlight<'static>),
    Wait(u64),
    /// Asks once, and is dropped.
    Leave(u64),
    /// Callers that ask once, and keep what they are granted, or stay in line.
    Stand(&'static [u64]),
    Try(u64),
    SetLimit(u64),
    Close,
}

impl Act {
    fn on(limit: &ConcurrencyLimit, act: Act) {
        match act {
            Act::End(guard) => drop(guard),
            Act::Wait(permits) => drop(wait(limit, permits).unwrap()),
            Act::Leave(permits) => {
                let mut caller = pin!(limit.acquire(permits));
                drop(poll(&mut caller));
            }
            Act::Stand(in_line) => {
                for permits in in_line {
                    let mut caller = Box::pin(limit.acquire(*permits));
                    // Not woken: loom cannot wake a thread that joins another.
                    let answer = caller.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    core::mem::forget((answer, caller));
                }
            }
            Act::Try(permits) => drop(limit.try_acquire(permits)),
            Act::SetLimit(to) => limit.set_limit(to),
            Act::Close => limit.line().close(),
        }
    }
}

#[test]
fn an_end_beside_a_caller_that_comes_to_stand_wakes_it() {
    check(ANY, || {
        let limit = limit_of(1);
        let held = limit.try_acquire_owned(1).unwrap();
        race(&limit, [Act::End(held), Act::Wait(1)], Act::on);
        assert_idle(&limit);
    });
}

#[test]
fn two_ends_beside_a_caller_that_needs_both_wake_it() {
    check(2, || {
        let limit = limit_of(2);
        let [one, other] = [(); 2].map(|()| limit.try_acquire_owned(1).unwrap());
        race(&limit, [Act::End(one), Act::End(other), Act::Wait(2)], Act::on);
        assert_idle(&limit);
    });
}

#[test]
fn callers_in_line_wake_each_other_when_they_end() {
    check(2, || {
        let limit = limit_of(2);
        race(&limit, [Act::Wait(2), Act::Wait(1), Act::Wait(2)], Act::on);
        assert_idle(&limit);
    });
}

#[test]
fn a_caller_that_leaves_opens_the_gate() {
    check(2, || {
        let limit = limit_of(1);
        let held = limit.try_acquire_owned(1).unwrap();
        race(&limit, [Act::End(held), Act::Leave(1), Act::Try(1)], Act::on);
        assert_idle(&limit);
    });
}

#[test]
fn the_next_in_line_goes_when_the_first_leaves() {
    check(ANY, || {
        let limit = limit_of(2);
        let held = limit.try_acquire_owned(1).unwrap();
        race(&limit, [Act::Leave(2), Act::Wait(1)], Act::on);
        drop(held);
        assert_idle(&limit);
    });
}

#[test]
fn a_grant_that_was_not_seen_ends() {
    check(2, || {
        let limit = limit_of(1);
        let held = limit.try_acquire_owned(1).unwrap();
        race(&limit, [Act::End(held), Act::Leave(1), Act::Wait(1)], Act::on);
        assert_idle(&limit);
    });
}

#[test]
fn a_raised_limit_wakes_those_that_fit() {
    check(ANY, || {
        let limit = limit_of(1);
        let held = limit.try_acquire_owned(1).unwrap();
        race(&limit, [Act::Wait(1), Act::SetLimit(2)], Act::on);
        drop(held);
        assert_idle(&limit);
    });
}

#[test]
fn a_lowered_limit_refuses_those_that_are_too_large_for_it() {
    check(ANY, || {
        let limit = limit_of(2);
        let held = limit.try_acquire_owned(1).unwrap();
        let answers = race(&limit, [true, false], |limit, waits| {
            if waits {
                return wait(limit, 2).map(drop);
            }
            limit.set_limit(1);
            Ok(())
        });
        assert_eq!(answers, [Err(InFlightError::TooLarge { limit: 1 }), Ok(())]);
        drop(held);
        assert_idle(&limit);
    });
}

#[test]
fn a_closed_line_wakes_all_that_wait_for_permits_in_flight() {
    check(2, || {
        let limit = limit_of(1);
        let held = limit.try_acquire_owned(1).unwrap();
        let answers = race(&limit, [Act::Wait(1), Act::Wait(1), Act::Close], |limit, act| {
            if let Act::Wait(permits) = act {
                return wait(limit, permits).map(drop);
            }
            Act::on(limit, act);
            Ok(())
        });
        assert_eq!(answers, [Err(InFlightError::Closed), Err(InFlightError::Closed), Ok(())]);
        drop(held);
        assert_idle(&limit);
    });
}

struct Overtaken {
    limit: Arc<ConcurrencyLimit>,
    stands: AtomicBool,
    /// The permits that the test counts as in flight, and what their holders leave for the next.
    holders: AtomicU64,
    written: AtomicU64,
}

fn overtaken(limit: u64) -> Arc<Overtaken> {
    Arc::new(Overtaken {
        limit: limit_of(limit),
        stands: AtomicBool::new(false),
        holders: AtomicU64::new(0),
        written: AtomicU64::new(0),
    })
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_permits_in_flight() {
    check(3, || {
        let shared = overtaken(2);
        let held = shared.limit.try_acquire_owned(1).unwrap();
        let acts = [Act::Wait(2), Act::Try(1), Act::End(held)];
        race(&shared, acts, |Overtaken { limit, stands, holders, .. }, act| match act {
            Act::Wait(permits) => {
                let mut caller = pin!(limit.acquire(permits));
                let mut answer = poll(&mut caller);
                stands.store(true, Ordering::Release);
                while answer.is_pending() {
                    thread::park();
                    answer = poll(&mut caller);
                }
                holders.store(1, Ordering::Relaxed);
                core::mem::forget(answer);
            }
            Act::Try(permits) => {
                let stands = stands.load(Ordering::Acquire);
                let guard = limit.try_acquire(permits);
                assert!(!stands || guard.is_err(), "overtaken: the other keeps its permits");
            }
            other => Act::on(limit, other),
        });
        assert_eq!((shared.limit.in_flight(), shared.limit.line().waiters()), (2, 0));
    });
}

/// Some stand in line for good, and `disturbs` them beside a caller that tries.
fn assert_not_overtaken(in_line: &'static [u64], disturbs: fn(InFlight<'static>) -> Act) {
    check(2, move || {
        let shared = overtaken(2);
        let held = shared.limit.try_acquire_owned(2).unwrap();
        let acts = [Act::Stand(in_line), Act::Try(1), disturbs(held)];
        race(&shared, acts, |Overtaken { limit, stands, .. }, act| match act {
            stand @ Act::Stand(_) => {
                Act::on(limit, stand);
                stands.store(true, Ordering::Release);
            }
            Act::Try(permits) => {
                let stands = stands.load(Ordering::Acquire);
                let guard = limit.try_acquire(permits);
                assert!(!stands || guard.is_err(), "overtaken");
            }
            other => Act::on(limit, other),
        });
    });
}

#[test]
fn nobody_overtakes_the_second_in_line_for_permits_in_flight() {
    assert_not_overtaken(&[1, 2], Act::End);
}

#[test]
fn nobody_overtakes_a_caller_in_line_beside_a_change() {
    assert_not_overtaken(&[2], |held| {
        // One of the two ends.
        let mut held = held;
        core::mem::forget(held.split(1));
        drop(held);
        Act::SetLimit(2)
    });
}

#[test]
fn what_was_done_before_an_end_is_seen_by_the_caller_in_line_that_goes() {
    check(2, || {
        let shared = overtaken(1);
        let entered = race(
            &shared,
            [false, true, false],
            |Overtaken { limit, holders, written, .. }, waits| {
                let guard = if waits { wait(limit, 1).ok() } else { limit.try_acquire(1).ok() };
                if guard.is_some() {
                    assert_eq!(holders.fetch_add(1, Ordering::Relaxed), 0, "two at a time");
                    let found = written.load(Ordering::Relaxed);
                    written.store(found + 1, Ordering::Relaxed);
                    holders.fetch_sub(1, Ordering::Relaxed);
                }
                guard.is_some()
            },
        );
        let entered = entered.into_iter().filter(|has_entered| *has_entered).count() as u64;
        assert_eq!(shared.written.load(Ordering::Relaxed), entered);
        assert_idle(&shared.limit);
    });
}

/// The other ends what is in its way, and does not lock the line if that is before the caller stands there.
#[test]
fn what_was_done_before_a_grant_in_line_is_seen_after_the_next_admission() {
    check(3, || {
        let shared = overtaken(3);
        let held = shared.limit.try_acquire_owned(3).unwrap();
        race(&shared, [None, Some(held)], |Overtaken { limit, written, .. }, held| {
            let Some(held) = held else {
                written.store(1, Ordering::Relaxed);
                return Act::on(limit, Act::Stand(&[1]));
            };
            drop(held);
            // A denial orders nothing, but tells whether the other has been granted its permit.
            if limit.try_acquire(3).is_err_and(|denied| denied.in_flight() == 1) {
                core::mem::forget(limit.try_acquire(2).unwrap());
                assert_eq!(written.load(Ordering::Relaxed), 1);
            }
        });
    });
}

#[test]
fn what_was_done_before_a_caller_left_its_grant_is_seen_after_the_next_admission() {
    check(3, || {
        let shared = overtaken(1);
        let held = shared.limit.try_acquire_owned(1).unwrap();
        race(&shared, [None, Some(held)], |Overtaken { limit, written, .. }, held| {
            let Some(held) = held else {
                let mut caller = pin!(limit.acquire(1));
                let answer = poll(&mut caller);
                written.store(1, Ordering::Relaxed);
                return drop(answer);
            };
            drop(held);
            // Denied because the other holds the permit, and then admitted: it has left.
            let is_held = limit.try_acquire(1).is_err_and(|denied| denied.in_flight() == 1);
            if is_held && limit.try_acquire(1).map(core::mem::forget).is_ok() {
                assert_eq!(written.load(Ordering::Relaxed), 1);
            }
        });
    });
}
