//! Wrappers whose limiter is settled through them.

use super::*;

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

#[cfg(feature = "alloc")]
#[test]
fn an_estimate_counts_as_a_grant_and_settling_it_changes_no_count() {
    let clock = ManualClock::new();
    let counted = Counted::with_slots(window(&clock), 1);
    let estimate = counted.try_acquire_settleable(6).unwrap();
    assert!(counted.try_acquire_settleable(5).is_err());
    let counts = Counts { granted: 1, denied: 1, permits: 6 };
    assert_eq!(counted.counts(), counts);
    assert_eq!(estimate.settle(2).unwrap().given_back(), 4);
    assert_eq!((counted.counts(), counted.peek(0).unwrap().remaining()), (counts, 8));
}

/// Whatever is between a `Sticky` and its caller, it learns of permits that come back.
#[cfg(feature = "alloc")]
#[test]
fn a_sticky_inside_of_wrappers_forgets_its_denials() {
    let clock = ManualClock::new();
    let sticky = |window| Sticky::builder(window).places(2).clock(&clock).build().unwrap();
    let within = Gate::new(Counted::with_slots(sticky(window(&clock)), 1));
    let boxed: Box<dyn Settle + '_> = Box::new(within);
    let around = Sticky::builder(boxed).places(2).clock(&clock).build().unwrap();
    for _ in 0..3 {
        let estimate = around.try_acquire_settleable(10).unwrap();
        assert!(around.try_acquire(1).is_err());
        assert_eq!(estimate.settle(0).unwrap().given_back(), 10);
        assert!(around.peek(1).is_ok() && around.try_acquire(1).is_ok());
        around.reset();
    }
}

#[cfg(feature = "wait")]
#[test]
fn what_a_queued_limiter_is_given_back_wakes_its_line() {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    struct Woken(AtomicUsize);
    impl Wake for Woken {
        fn wake(self: Arc<Woken>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let clock = ManualClock::new();
    let queued = Queued::with_clock(window(&clock), &clock);
    let estimate = queued.try_acquire_settleable(10).unwrap();
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    let mut waiting = pin!(queued.acquire_async(4));
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    // Those in line go first.
    assert!(queued.try_acquire_settleable(1).is_err());
    let woken_before = woken.0.load(Ordering::Relaxed);
    assert_eq!(estimate.settle(6).unwrap().given_back(), 4);
    assert!(woken.0.load(Ordering::Relaxed) > woken_before);
    assert!(matches!(waiting.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
    assert!(queued.try_acquire_settleable(1).is_err());
}
