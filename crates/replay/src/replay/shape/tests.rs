//! Tests of queues: the waits are those of the engine's own line.

use std::collections::VecDeque;
use std::future::{Future, Pending, pending};
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Waker};

use sluicegate::wait::{Timer, Waiting};
use sluicegate::{Grant, TokenBucket, Wait, quota, rate};

use super::*;
use crate::policy::Kind;

const SECOND: u64 = 1_000_000_000;

fn shape(kind: &Kind, arrivals: &[(u64, u64)]) -> Vec<Option<u64>> {
    let mut shape = Shape::new(None, false);
    let wait = |&(now_nanos, permits)| shape.arrive(kind, b"key", permits, now_nanos).ok();
    arrivals.iter().map(wait).collect()
}

#[test]
fn requests_leave_in_the_order_of_their_arrival_as_soon_as_they_may() {
    let quota = quota!(1 / second, burst 3);
    let kind = Kind::TokenBucket { quota, initial: 3 };
    let arrivals = [(10, 2), (10, 3), (10, 1), (11, 1), (20, 1), (20, 4), (20, 0), (21, 3)];
    let waits = [Some(0), Some(2), Some(3), Some(3), Some(0), None, Some(0), Some(0)];
    assert_eq!(
        shape(&kind, &arrivals.map(|(seconds, permits)| (seconds * SECOND, permits))),
        waits.map(|wait: Option<u64>| wait.map(|seconds| seconds * SECOND))
    );
}

#[test]
fn limiters_of_every_kind_have_queues() {
    let (each, limit) = (rate!(1 / second), rate!(2 / 10 seconds));
    let three = |kind| shape(&kind, &[(0, 1), (0, 1), (0, 1)]);
    let waits = |seconds: [u64; 3]| seconds.map(|seconds| Some(seconds * SECOND)).to_vec();
    assert_eq!(three(Kind::LeakyMinInterval(each)), waits([0, 1, 2]));
    let (interval, tolerance) = (Duration::from_secs(1), Duration::from_secs(1));
    assert_eq!(three(Kind::Gcra { interval, tolerance }), waits([0, 0, 1]));
    assert_eq!(three(Kind::FixedWindow(limit)), waits([0, 0, 10]));
    assert_eq!(three(Kind::WindowFromFirst(limit)), waits([0, 0, 10]));
    assert_eq!(three(Kind::SlidingLog(limit)), waits([0, 0, 10]));
    let parts = vec![Kind::LeakyMinInterval(each), Kind::FixedWindow(limit)];
    assert_eq!(three(Kind::All(parts)), waits([0, 1, 10]));
}

#[test]
fn a_request_that_no_time_would_grant_is_refused_and_holds_up_nobody() {
    let kind = Kind::TokenBucket { quota: quota!(1 / second, burst 3), initial: 3 };
    assert_eq!(
        shape(&kind, &[(0, 4), (0, 3), (0, 4), (0, 1)]),
        [None, Some(0), None, Some(SECOND)]
    );
    let end = u64::MAX - SECOND / 2;
    assert_eq!(shape(&kind, &[(end, 3), (end, 1)]), [Some(0), None]);
}

#[test]
fn a_request_beyond_the_end_of_the_clock_leaves_the_time_of_its_key_as_it_was() {
    let kind = Kind::TokenBucket { quota: quota!(1 / second, burst 3), initial: 3 };
    let end = u64::MAX - 3 * SECOND / 2;
    assert_eq!(
        shape(&kind, &[(end, 3), (end, 3), (end, 1), (end, 1)]),
        [Some(0), None, Some(SECOND), None]
    );
}

/// Counts how often it is asked.
struct Counting(BoxedLimiter, Arc<AtomicU64>);

impl Limiter for Counting {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.1.fetch_add(1, Relaxed);
        self.0.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.0.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.0.peek(permits)
    }

    fn reset(&self) {
        self.0.reset();
    }
}

#[test]
fn a_request_that_each_day_puts_off_to_another_is_refused_after_a_while() {
    let zone = "UTC".to_owned();
    let mondays = Kind::Budget { amounts: [5, 0, 0, 0, 0, 0, 0], zone: zone.clone() };
    let tuesdays = Kind::Budget { amounts: [0, 5, 0, 0, 0, 0, 0], zone };
    let kind = Kind::All(vec![mondays, tuesdays]);
    let clock = Arc::new(ManualClock::at(SECOND));
    let asked = Arc::new(AtomicU64::new(0));
    let limiter = kind.limiter(clock.clone()).unwrap();
    let limiter = Box::new(Counting(limiter, Arc::clone(&asked)));
    let mut queue = Queue { limiter, clock };
    assert!(queue.wait_nanos(1, SECOND).is_err());
    assert!(asked.load(Relaxed) <= 1_001, "{asked:?}");
    assert_eq!(queue.clock.now_nanos(), SECOND);
}

/// Notes for how long a caller would sleep.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Duration>>);

impl Timer for Noted {
    type Sleep = Pending<()>;

    fn sleep(&self, duration: Duration) -> Pending<()> {
        *self.0.lock().unwrap() = duration;
        pending()
    }
}

/// A caller in the engine's line, and the time at which its timer wakes it.
struct Caller<'a> {
    due_nanos: u64,
    future: Pin<Box<Waiting<'a, Noted>>>,
}

impl Caller<'_> {
    fn is_waiting(&mut self) -> bool {
        self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }
}

/// Takes out the first caller if it is due.
fn pop_due<'a>(callers: &mut VecDeque<Caller<'a>>, now_nanos: u64) -> Option<Caller<'a>> {
    if callers.front()?.due_nanos > now_nanos { None } else { callers.pop_front() }
}

/// Returns the waits that callers of the engine's own line are told when they arrive.
fn in_line(
    bucket: &TokenBucket<&ManualClock>,
    clock: &ManualClock,
    arrivals: &[(u64, u64)],
) -> Vec<u64> {
    let mut callers: VecDeque<Caller<'_>> = VecDeque::new();
    let wait = |&(now_nanos, permits): &(u64, u64)| {
        while let Some(mut caller) = pop_due(&mut callers, now_nanos) {
            clock.set_nanos(caller.due_nanos);
            assert!(!caller.is_waiting());
        }
        clock.set_nanos(now_nanos);
        let noted = Noted::default();
        let future = Box::pin(bucket.acquire(permits).timer(noted.clone()));
        let mut caller = Caller { due_nanos: now_nanos, future };
        if !caller.is_waiting() {
            return 0;
        }
        let wait_nanos = noted.0.lock().unwrap().as_nanos() as u64;
        callers.push_back(Caller { due_nanos: now_nanos + wait_nanos, ..caller });
        wait_nanos
    };
    arrivals.iter().map(wait).collect()
}

#[test]
fn the_waits_are_those_of_the_line_of_the_engine() {
    // Numbers that look random, from the low bits of a multiplication.
    let mut seed = 1_u64;
    let mut below = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    // Where a permit takes no whole number of nanoseconds, less than a burst at a time: a full bucket
    // does not keep the fraction of a nanosecond that the engine's line takes into account.
    let quotas = [
        (quota!(1_000 / second, burst 7), 7),
        (quota!(7 / 3 ms, burst 20), 19),
        (quota!(3 / second), 2),
    ];
    for (quota, most) in quotas {
        let interval = quota.rate().period().as_nanos() as u64 / quota.rate().permits();
        for load in [1, 4, 16] {
            let mut now_nanos = 0;
            let arrivals: Vec<(u64, u64)> = (0..300)
                .map(|_| {
                    now_nanos += below(16 * interval / load);
                    (now_nanos, 1 + below(most))
                })
                .collect();
            let clock = ManualClock::at(arrivals[0].0);
            let bucket = TokenBucket::with_clock(quota, &clock);
            let expected: Vec<_> =
                in_line(&bucket, &clock, &arrivals).into_iter().map(Some).collect();
            let kind = Kind::TokenBucket { quota, initial: quota.burst() };
            assert_eq!(shape(&kind, &arrivals), expected, "{quota} at a load of {load}");
        }
    }
}
