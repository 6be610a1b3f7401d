//! Calls that come, wait, are polled and are dropped in any order: nothing leaks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::clock::MonotonicClock;
use sluicegate::wait::Timer;
use sluicegate::{Clock, ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::admission::{Admission, AdmitError, Admitted};
use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight};

use crate::support::cases::cases;

type Answer = Result<Admitted<InFlight<'static>>, AdmitError>;
type Call<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// A timer whose sleeps end by the clock, when they are polled.
#[derive(Clone, Copy)]
struct ByHand<'a>(&'a ManualClock);

struct Sleep<'a>(&'a ManualClock, u64);

impl<'a> Timer for ByHand<'a> {
    type Sleep = Sleep<'a>;

    fn sleep(&self, duration: Duration) -> Sleep<'a> {
        Sleep(self.0, self.0.now_nanos().saturating_add(duration.as_nanos() as u64))
    }
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> std::task::Poll<()> {
        if self.0.now_nanos() < self.1 {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// A call of so many permits, with so many milliseconds.
    Call(u64, Option<u64>),
    Poll(usize),
    Drop(usize),
    End(usize),
    Advance(u64),
    Try(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (0..5_u64, prop::option::of(0..60_u64)).prop_map(|(n, time)| Op::Call(n, time)),
        8 => (0..8_usize).prop_map(Op::Poll),
        2 => (0..8_usize).prop_map(Op::Drop),
        4 => (0..4_usize).prop_map(Op::End),
        3 => (0..40_u64).prop_map(Op::Advance),
        1 => (0..3_u64).prop_map(Op::Try),
    ];
    prop::collection::vec(op, 1..120)
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn whatever_calls_do_no_place_leaks_and_no_more_is_granted_than_the_rate_says(ops in ops()) {
        const PLACES: u64 = 2;
        const BURST: u64 = 3;
        let clock = ManualClock::new();
        // A permit every 10 ms.
        let bucket = TokenBucket::with_clock(quota!(100 / second, burst 3), &clock);
        let places = Arc::new(ConcurrencyLimit::new(PLACES));
        let admission = Admission::new()
            .rate("rate", &bucket)
            .in_flight("places", Arc::clone(&places))
            .timer(ByHand(&clock));
        let mut calls: Vec<(Call<'_>, u64)> = Vec::new();
        let mut running = Vec::new();
        let mut granted = 0;
        let context = &mut Context::from_waker(Waker::noop());
        for op in ops {
            match op {
                Op::Call(permits, time) => {
                    let call = admission.admit(permits);
                    let call: Call<'_> = match time {
                        Some(time) => Box::pin(call.timeout(Duration::from_millis(time))),
                        None => Box::pin(call),
                    };
                    calls.push((call, permits));
                }
                Op::Poll(at) if at < calls.len() => {
                    if let std::task::Poll::Ready(answer) = calls[at].0.as_mut().poll(context) {
                        let (_, permits) = calls.remove(at);
                        match answer {
                            Ok(admitted) => {
                                granted += permits;
                                running.push(admitted);
                            }
                            Err(refused) => prop_assert!(refused.is_refusal()),
                        }
                    }
                }
                Op::Drop(at) if at < calls.len() => drop(calls.remove(at)),
                Op::End(at) if at < running.len() => drop(running.remove(at)),
                Op::Advance(millis) => clock.advance(Duration::from_millis(millis)),
                Op::Try(permits) => {
                    if let Ok(admitted) = admission.try_admit(permits) {
                        granted += permits;
                        running.push(admitted);
                    }
                }
                _ => {}
            }
            let held = places.in_flight();
            prop_assert!(running.len() as u64 <= held && held <= PLACES);
            prop_assert!(held <= (running.len() + calls.len()) as u64);
            prop_assert!(granted <= BURST + clock.now_nanos() / 10_000_000);
            prop_assert!(bucket.line().waiters() as u64 + running.len() as u64 <= held);
        }
        drop(calls);
        prop_assert_eq!((places.in_flight(), places.line().waiters()), (running.len() as u64, 0));
        prop_assert_eq!(bucket.line().waiters(), 0);
        drop(running);
        prop_assert_eq!(places.in_flight(), 0);
        clock.advance(Duration::from_millis(10 * BURST));
        prop_assert_eq!(bucket.peek(0).unwrap().remaining(), BURST);
        prop_assert!(admission.try_admit(BURST).is_ok());
    }
}

/// Threads and tasks, with and without deadlines.
#[test]
fn in_a_storm_no_place_leaks_and_the_bound_of_both_limits_holds() {
    const PLACES: u64 = 3;
    let bucket = TokenBucket::with_clock(quota!(20_000 / second, burst 5), MonotonicClock::new());
    let places = Arc::new(ConcurrencyLimit::new(PLACES));
    let admission = Admission::new().rate("rate", &bucket).in_flight("places", Arc::clone(&places));
    let (inside, admitted) = (AtomicU64::new(0), AtomicU64::new(0));
    let rounds = if cfg!(miri) { 5 } else { 200 };
    thread::scope(|scope| {
        for number in 0..6_u64 {
            let (admission, inside, admitted) = (&admission, &inside, &admitted);
            scope.spawn(move || {
                for round in 0..rounds {
                    let call = admission.admit(1 + round % 2);
                    let answer = match (number + round) % 4 {
                        0 => call.wait_blocking(),
                        1 => call.timeout(Duration::from_micros(40 * (round % 8))).wait_blocking(),
                        2 => {
                            // Given up after its first poll, if it has to wait.
                            let mut call = Box::pin(call);
                            let mut context = Context::from_waker(Waker::noop());
                            match call.as_mut().poll(&mut context) {
                                std::task::Poll::Ready(answer) => answer,
                                std::task::Poll::Pending => continue,
                            }
                        }
                        _ => admission.admit(1).timeout(Duration::from_millis(20)).wait_blocking(),
                    };
                    if let Ok(call) = answer {
                        assert!(inside.fetch_add(1, Relaxed) < PLACES);
                        admitted.fetch_add(call.grant().permits(), Relaxed);
                        inside.fetch_sub(1, Relaxed);
                        drop(call);
                    }
                }
            });
        }
    });
    let most = 5 + bucket.clock().now_nanos() / 50_000;
    let admitted = admitted.into_inner();
    assert!(0 < admitted && admitted <= most, "{admitted} of {most}");
    assert_eq!((places.in_flight(), places.line().waiters()), (0, 0));
    assert_eq!((bucket.line().waiters(), bucket.line().permits()), (0, 0));
}
