//! Sleeping until a turn, and clocks that go wrong. No test asserts a time.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use sluicegate::clock::MonotonicClock;
use sluicegate::wait::{AcquireError, ThreadTimer, Timer};
use sluicegate::{Clock, ManualClock, rate};
use sluicegate_flow::Scheduled;
use sluicegate_flow::warm_up::WarmUp;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn threads_go_in_turn_and_never_two_at_a_time() {
    let warm_up = Duration::from_millis(4);
    let limiter =
        WarmUp::with_clock(rate!(2_000 / second), warm_up, MonotonicClock::new()).unwrap();
    let used = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let turn = limiter.reserve(1).unwrap();
                    let at_nanos = turn.at_nanos();
                    turn.wait_blocking();
                    assert!(limiter.clock().now_nanos() >= at_nanos);
                    used.lock().unwrap().push(at_nanos);
                }
            });
        }
    });
    let mut used = used.into_inner().unwrap();
    used.sort_unstable();
    assert_eq!(used.len(), 40);
    assert!(used.windows(2).all(|pair| pair[1] - pair[0] >= 500_000));
    assert_eq!(limiter.acquire_blocking(1), Ok(()));
    assert_eq!(limiter.reserve_within(1, 60 * SECOND).map(Scheduled::wait_blocking), Ok(()));
}

/// A timer whose sleeps never end.
struct Never;

impl Timer for Never {
    type Sleep = std::future::Pending<()>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        std::future::pending()
    }
}

/// A timer whose sleeps end at once, and move the clock.
struct Passes<'clock>(&'clock ManualClock);

impl Timer for Passes<'_> {
    type Sleep = std::future::Ready<()>;

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.advance(duration);
        std::future::ready(())
    }
}

#[test]
fn a_task_goes_at_its_turn_and_one_that_is_dropped_gives_its_permits_back() {
    let clock = ManualClock::new();
    let limiter = WarmUp::with_clock(rate!(1 / second), 4 * SECOND, &clock).unwrap();
    let noop = &mut Context::from_waker(Waker::noop());
    // The first goes at once.
    assert_eq!(pin!(limiter.acquire(1, Never)).poll(noop), Poll::Ready(Ok(())));
    let wait = limiter.ready_after();
    {
        let mut task = Box::pin(limiter.acquire(1, Never));
        assert!(task.as_mut().poll(noop).is_pending());
        assert!(limiter.ready_after() > wait);
    }
    assert_eq!(limiter.ready_after(), wait);
    {
        let mut task = Box::pin(limiter.acquire(1, Never));
        assert!(task.as_mut().poll(noop).is_pending());
        let _second = limiter.reserve(1).unwrap();
        let owed = limiter.ready_after();
        drop(task);
        assert_eq!(limiter.ready_after(), owed, "the second was told its instant");
    }
    let owed = limiter.ready_after();
    assert_eq!(pin!(limiter.acquire(2, Passes(&clock))).poll(noop), Poll::Ready(Ok(())));
    assert_eq!(clock.now_nanos(), owed.as_nanos() as u64);
    let too_large = AcquireError::TooLarge { limit: WarmUp::MAX_PERMITS };
    let refused = pin!(limiter.acquire(u64::MAX, Never)).poll(noop);
    assert_eq!(refused, Poll::Ready(Err(too_large)));
}

#[test]
fn a_turn_can_be_waited_for_on_any_executor() {
    let limiter = WarmUp::new(rate!(1_000 / second), Duration::from_millis(4)).unwrap();
    let _first = limiter.reserve(1).unwrap();
    let turn = limiter.reserve(1).unwrap();
    let at_nanos = turn.at_nanos();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(turn.wait(ThreadTimer));
    assert!(limiter.clock().now_nanos() >= at_nanos);
}

#[test]
fn a_clock_that_goes_back_by_more_than_a_second_starts_the_limiter_anew() {
    let clock = ManualClock::at(3_600_000_000_000);
    let limiter = WarmUp::with_clock(rate!(1 / second), 4 * SECOND, &clock).unwrap();
    let told = [(); 2].map(|()| limiter.reserve(2).unwrap());
    let owed = limiter.ready_after();
    clock.set_nanos(3_599_000_000_000);
    assert_eq!((limiter.ready_after(), limiter.healed()), (owed, 0), "it stands still");
    clock.set_nanos(3_598_999_999_999);
    assert_eq!((limiter.ready_after(), limiter.healed()), (Duration::ZERO, 1));
    assert_eq!(limiter.stored(), limiter.max_stored(), "it is cold");
    assert!(told.into_iter().all(|turn| !turn.cancel()));
    assert_eq!(limiter.try_acquire(1), Ok(()));
    clock.set_nanos(u64::MAX);
    assert_eq!((limiter.ready_after(), limiter.healed()), (Duration::ZERO, 1));
    assert_eq!(limiter.try_acquire(1), Ok(()));
    assert!(limiter.reserve(1).is_err(), "the clock has no instant for it");
    clock.set_nanos(0);
    assert_eq!((limiter.try_acquire(1), limiter.healed()), (Ok(()), 2));
}

#[test]
fn a_clock_that_stands_still_pays_for_nothing() {
    let clock = ManualClock::at(7);
    let limiter = WarmUp::with_clock(rate!(1 / second), SECOND, &clock).unwrap();
    assert_eq!(limiter.try_acquire(1), Ok(()));
    let wait = limiter.ready_after();
    for _ in 0..if cfg!(miri) { 20 } else { 1_000 } {
        assert_eq!(limiter.try_acquire(1), Err(AcquireError::TimedOut { retry_after: wait }));
    }
}

/// A clock that panics when it is told to.
#[derive(Default)]
struct Fragile {
    time: ManualClock,
    is_broken: AtomicBool,
}

impl Clock for Fragile {
    fn now_nanos(&self) -> u64 {
        assert!(!self.is_broken.load(Relaxed), "broken");
        self.time.now_nanos()
    }
}

#[test]
fn a_clock_that_panics_changes_nothing() {
    let limiter = WarmUp::with_clock(rate!(1 / second), SECOND, Fragile::default()).unwrap();
    let first = limiter.reserve(1).unwrap();
    let wait = limiter.ready_after();
    limiter.clock().is_broken.store(true, Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| limiter.reserve(1).map(drop))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| limiter.set_rate(rate!(2 / second)))).is_err());
    limiter.clock().is_broken.store(false, Relaxed);
    assert_eq!((limiter.ready_after(), limiter.rate()), (wait, rate!(1 / second)));
    assert!(first.cancel());
}
