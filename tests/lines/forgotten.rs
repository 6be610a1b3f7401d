//! Limiters of a store with callers in line: the store must not forget them.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::bucket::SettleableBucket;
use sluicegate::keyed::Each;
use sluicegate::wait::{AcquireError, Queued};
use sluicegate::{
    Clock, Denied, FixedWindow, Grant, Keyed, Limiter, ManualClock, SlidingWindow, TokenBucket,
    Wait, quota, rate,
};

use crate::support::cases::cases;
use crate::wait::support::{Caller, NoTimer};

const LIMIT: u64 = 4;

#[derive(Clone, Debug)]
enum Op {
    Try(u64, u64),
    Hold(u64),
    Wait(usize, u64),
    TryHeld(usize, u64),
    Drop(usize),
    Leave(usize),
    Sweep,
    Advance(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..4_u64, 1..=LIMIT).prop_map(|(key, permits)| Op::Try(key, permits)),
        2 => (0..4_u64).prop_map(Op::Hold),
        3 => (0..4_usize, 1..=LIMIT).prop_map(|(which, permits)| Op::Wait(which, permits)),
        2 => (0..4_usize, 1..=LIMIT).prop_map(|(which, permits)| Op::TryHeld(which, permits)),
        1 => (0..4_usize).prop_map(Op::Drop),
        1 => (0..4_usize).prop_map(Op::Leave),
        2 => Just(Op::Sweep),
        2 => (0..1_500_u64).prop_map(Op::Advance),
    ]
}

type Answer = Result<Grant, AcquireError>;

/// A caller with its own `Arc` of the key's limiter.
struct Held {
    key: u64,
    future: Pin<Box<dyn Future<Output = Answer>>>,
}

async fn wait(window: Arc<FixedWindow<Arc<ManualClock>>>, permits: u64) -> Answer {
    window.acquire(permits).timer(NoTimer).await
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_window_of_a_key_grants_its_limit_whoever_holds_or_waits_for_its_limiter(
        ops in prop::collection::vec(op(), 1..50),
    ) {
        let clock = Arc::new(ManualClock::new());
        let time = Arc::clone(&clock);
        let make = move |_: &u64| {
            let rate = rate!(4 / second);
            Arc::new(FixedWindow::with_clock(rate, Arc::clone(&time)).unwrap())
        };
        let each = Each::with_clock(make, Arc::clone(&clock));
        let keyed = Keyed::<u64, _>::builder(each).max_keys(3).build().unwrap();
        let mut limiters = Vec::new();
        let mut callers: Vec<Held> = Vec::new();
        let mut granted = HashMap::<(u64, u64), u64>::new();
        for op in ops {
            let window = clock.now_nanos() / 1_000_000_000;
            let mut count = |key: u64, answer: Result<Grant, Denied>| {
                if let Ok(grant) = answer {
                    *granted.entry((key, window)).or_default() += grant.permits();
                }
            };
            match op {
                Op::Try(key, permits) => count(key, keyed.try_acquire(&key, permits)),
                Op::Hold(key) => {
                    let limiter = keyed.with_limiter(&key, Arc::clone);
                    limiters.extend(limiter.ok().map(|limiter| (key, limiter)));
                }
                Op::Wait(which, permits) if which < limiters.len() => {
                    let (key, limiter) = &limiters[which];
                    let future = Box::pin(wait(Arc::clone(limiter), permits));
                    callers.push(Held { key: *key, future });
                }
                Op::TryHeld(which, permits) if which < limiters.len() => {
                    let (key, limiter) = &limiters[which];
                    count(*key, limiter.try_acquire(permits));
                }
                Op::Drop(which) if which < limiters.len() => drop(limiters.remove(which)),
                Op::Leave(which) if which < callers.len() => drop(callers.remove(which)),
                Op::Sweep => _ = keyed.sweep(),
                Op::Advance(millis) => clock.advance(Duration::from_millis(millis)),
                Op::Wait(..) | Op::TryHeld(..) | Op::Drop(_) | Op::Leave(_) => {}
            }
            // So that each is told its grant in the window that it was granted in.
            let window = clock.now_nanos() / 1_000_000_000;
            callers.retain_mut(|Held { key, future }| {
                let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                if let std::task::Poll::Ready(Ok(grant)) = polled {
                    *granted.entry((*key, window)).or_default() += grant.permits();
                }
                polled.is_pending()
            });
            for (of, permits) in &granted {
                prop_assert!(*permits <= LIMIT, "{permits} in (key, window) {of:?}");
            }
        }
    }
}

#[test]
fn a_key_with_callers_in_line_is_not_forgotten() {
    let clock = Arc::new(ManualClock::new());
    let time = Arc::clone(&clock);
    let make = move |_: &u64| {
        Arc::new(FixedWindow::with_clock(rate!(10 / second), Arc::clone(&time)).unwrap())
    };
    let keyed = Keyed::<u64, _>::with(Each::with_clock(make, Arc::clone(&clock)));
    keyed.try_acquire(&7, 10).unwrap();
    let window = keyed.limiter_of(&7).unwrap();
    let mut caller = Caller::new(&*window, 10);
    assert!(caller.is_waiting());
    clock.advance(Duration::from_secs(1));
    assert!(!window.is_idle());
    keyed.sweep();
    assert!(keyed.try_acquire(&7, 10).is_err());
    assert!(caller.is_granted());
}

#[test]
fn a_limiter_that_leaves_a_closure_stays_that_of_its_key() {
    let clock = Arc::new(ManualClock::new());
    let time = Arc::clone(&clock);
    let make =
        move |_: &u64| Arc::new(TokenBucket::with_clock(quota!(10 / hour), Arc::clone(&time)));
    let keyed = Keyed::<u64, _>::with(Each::with_clock(make, Arc::clone(&clock)));
    let mut granted = 0;
    let mut held = Vec::new();
    for _ in 0..5 {
        let limiter = keyed.with_limiter(&7, Arc::clone).unwrap();
        granted += limiter.try_acquire_up_to(10).map_or(0, |grant| grant.permits());
        keyed.sweep();
        held.push(limiter);
    }
    assert_eq!(granted, 10);
    clock.advance(Duration::from_secs(3_600));
    keyed.sweep();
    assert_eq!(keyed.len(), 1, "pinned");
    let weak = Arc::downgrade(&held[0]);
    drop(held);
    keyed.sweep();
    assert_eq!(keyed.len(), 1, "pinned by who can come to hold it");
    drop(weak);
    keyed.sweep();
    assert_eq!(keyed.len(), 0);
}

/// Asserts that a full limiter is not idle while a caller stands in line, or was not told its grant.
fn assert_idle_only_without_a_line(clock: &ManualClock, limiter: &impl Wait) {
    assert!(limiter.is_idle());
    limiter.try_acquire(2).unwrap();
    let mut caller = Caller::new(limiter, 2);
    assert!(caller.is_waiting());
    clock.advance(Duration::from_secs(3_600));
    assert!(!limiter.is_idle(), "somebody stands in line");
    let _served = limiter.try_acquire(2);
    clock.advance(Duration::from_secs(3_600));
    assert!(!limiter.is_idle(), "somebody was not told yet");
    assert!(caller.is_granted());
    assert!(limiter.is_idle());
    limiter.line().close();
    assert!(!limiter.is_idle(), "its line is closed");
}

#[test]
fn a_limiter_with_a_line_is_not_idle() {
    let clock = ManualClock::new();
    let (quota, rate) = (quota!(2 / second), rate!(2 / second));
    assert_idle_only_without_a_line(&clock, &TokenBucket::with_clock(quota, &clock));
    assert_idle_only_without_a_line(&clock, &FixedWindow::with_clock(rate, &clock).unwrap());
    assert_idle_only_without_a_line(&clock, &SlidingWindow::with_slots(rate, 4, &clock).unwrap());
    let settleable = SettleableBucket::with_clock(quota, &clock);
    assert_idle_only_without_a_line(&clock, &Queued::with_clock(settleable, &clock));
}
