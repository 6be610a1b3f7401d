//! A caller that waits for permits, in line, or for what it has reserved, on a clock that the case moves.

use std::future::{Future, Pending, pending};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::json;
use sluicegate::wait::{AcquireError, Reserve, Timer};
use sluicegate::{Clock, FixedWindow, ManualClock, Wait};

use super::vector_file::Facts;
use super::vectors::Step;

/// Notes for how long a caller would sleep, and never wakes it.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<Mutex<Duration>>);

impl Noted {
    pub(crate) fn duration(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

impl Timer for Noted {
    type Sleep = Pending<()>;

    fn sleep(&self, duration: Duration) -> Pending<()> {
        *self.0.lock().unwrap() = duration;
        pending()
    }
}

/// Lets a caller wait until it is granted its permits, or refused, or gives up. The clock then
/// stands at that time.
///
/// # Panics
///
/// If the caller is told a wait that is not the least, or if it changes the limiter, whose `state` is
/// looked at, and is refused.
pub(crate) fn acquire(
    limiter: &dyn Wait,
    force: impl Fn(u64),
    state: impl Fn() -> String,
    step: &Step,
    scale: u64,
    clock: &ManualClock,
) -> Facts {
    let permits = if step.next_pays { step.n.min(1) } else { step.n };
    let before = state();
    let (is_granted, wait) = {
        let noted = Noted::default();
        let waiting = limiter.acquire(permits);
        let waiting = match step.within_nanos {
            Some(nanos) => waiting.timeout(Duration::from_nanos(nanos.saturating_mul(scale))),
            None => waiting,
        };
        let mut waiting = pin!(waiting.timer(noted.clone()));
        let mut poll = || waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match poll() {
            Poll::Ready(answer) => (answer.is_ok(), Duration::ZERO),
            Poll::Pending => {
                let wait = noted.duration();
                if !step.gives_up {
                    clock.advance(wait.saturating_sub(Duration::from_nanos(1)));
                    assert!(poll().is_pending(), "{wait:?} is too long a wait for {permits}");
                    clock.advance_nanos(1);
                    assert!(poll().is_ready(), "{wait:?} is too short a wait for {permits}");
                }
                (!step.gives_up, wait)
            }
        }
    };
    if is_granted {
        force(step.n - permits);
    } else {
        assert_eq!(before, state(), "a refusal has changed the limiter");
    }
    let facts = [
        ("allowed", json!(is_granted)),
        ("wait_nanos", json!(wait.as_nanos() as u64)),
        ("remaining", json!(limiter.peek(0).unwrap().balance())),
    ];
    facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()
}

/// Lets a caller reserve its permits. The clock stands still.
///
/// # Panics
///
/// If the caller is told a wait that is not the least, or if a refusal changes the window.
pub(crate) fn reserve(
    window: &FixedWindow<&ManualClock>,
    step: &Step,
    scale: u64,
    clock: &ManualClock,
) -> Facts {
    let longest = step.within_nanos.map_or(u64::MAX, |nanos| nanos.saturating_mul(scale));
    let before = format!("{:?}", window.snapshot());
    let booked = window.reserve_within(step.n, Duration::from_nanos(longest));
    let (is_reserved, wait) = match &booked {
        Ok(booked) => (true, booked.wait_left()),
        Err(_) => (false, Duration::ZERO),
    };
    if let (Ok(booked), Some(shorter)) = (booked, wait.checked_sub(Duration::from_nanos(1))) {
        assert!(booked.cancel() && before == format!("{:?}", window.snapshot()));
        let refused = window.reserve_within(step.n, shorter).map(drop);
        assert_eq!(refused, Err(AcquireError::TimedOut { retry_after: wait }));
        let again = window.reserve_within(step.n, Duration::from_nanos(longest)).unwrap();
        assert_eq!(u128::from(again.at_nanos()), u128::from(clock.now_nanos()) + wait.as_nanos());
    } else if !is_reserved {
        assert_eq!(before, format!("{:?}", window.snapshot()), "a refusal has changed the window");
    }
    let facts = [("allowed", json!(is_reserved)), ("wait_nanos", json!(wait.as_nanos() as u64))];
    facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()
}
