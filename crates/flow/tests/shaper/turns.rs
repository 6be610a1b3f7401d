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
use sluicegate::wait::{ThreadTimer, Timer};
use sluicegate::{Clock, ManualClock, rate};
use sluicegate_flow::shaper::Shaper;

#[test]
fn threads_leave_in_turn_and_never_two_at_a_time() {
    let shaper = Shaper::with_clock(rate!(2_000 / second), 100, MonotonicClock::new());
    let left = Mutex::new(Vec::new());
    let began = shaper.clock().now_nanos();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let departure = shaper.shape(1).unwrap();
                    let at_nanos = departure.at_nanos();
                    departure.wait_blocking();
                    assert!(shaper.clock().now_nanos() >= at_nanos);
                    left.lock().unwrap().push(at_nanos);
                }
            });
        }
    });
    let mut left = left.into_inner().unwrap();
    left.sort_unstable();
    assert!(left[0] >= began + 500_000);
    assert!(left.windows(2).all(|pair| pair[1] - pair[0] >= 500_000));
    assert_eq!(shaper.queued(), 0);
    assert_eq!(shaper.acquire_blocking(1), Ok(()));
}

/// A timer whose sleeps end when the test says so.
#[derive(Default)]
struct Bell(AtomicBool);

impl Timer for &Bell {
    type Sleep = std::future::PollFn<Box<dyn FnMut(&mut Context<'_>) -> Poll<()> + Send>>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        let rings = self.0.swap(false, Relaxed);
        std::future::poll_fn(Box::new(
            move |_: &mut Context<'_>| {
                if rings { Poll::Ready(()) } else { Poll::Pending }
            },
        ))
    }
}

#[test]
fn a_task_leaves_at_its_turn_and_one_that_is_dropped_gives_its_place_back() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / second), 2, &clock);
    let noop = &mut Context::from_waker(Waker::noop());
    {
        let bell = Bell::default();
        let mut task = Box::pin(shaper.acquire(1, &bell));
        assert!(task.as_mut().poll(noop).is_pending());
        assert_eq!(shaper.queued(), 1);
    }
    assert_eq!(shaper.queued(), 0);
    {
        let bell = Bell::default();
        let mut first = Box::pin(shaper.acquire(1, &bell));
        assert!(first.as_mut().poll(noop).is_pending());
        let _second = shaper.shape(1).unwrap();
        drop(first);
        assert_eq!(shaper.queued(), 2, "the second has been told its instant");
        let mut third = pin!(shaper.acquire(1, &bell));
        assert!(matches!(third.as_mut().poll(noop), Poll::Ready(Err(_))));
    }
    clock.advance(Duration::from_secs(2));
    let bell = Bell(AtomicBool::new(true));
    let mut task = pin!(shaper.acquire(1, &bell));
    // The sleep is over before its time, so it sleeps again.
    assert!(task.as_mut().poll(noop).is_pending());
    let task = &mut pin!(shaper.acquire(0, &bell));
    assert_eq!(task.as_mut().poll(noop), Poll::Ready(Ok(())));
}

#[tokio::test]
async fn a_task_that_has_slept_has_left() {
    let shaper = Shaper::new(rate!(1_000 / second), 10);
    for _ in 0..3 {
        shaper.acquire(2, sluicegate::wait::TokioTimer).await.unwrap();
        assert_eq!(shaper.queued(), 0);
    }
}

#[test]
fn a_departure_can_be_waited_for_on_any_executor() {
    let shaper = Shaper::new(rate!(1_000 / second), 10);
    let departure = shaper.shape(3).unwrap();
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(departure.wait(ThreadTimer));
    assert_eq!(shaper.queued(), 0);
}

#[test]
fn a_clock_that_goes_back_by_more_than_a_second_starts_the_shaper_anew() {
    let clock = ManualClock::new();
    clock.set_nanos(3_600_000_000_000);
    let shaper = Shaper::with_clock(rate!(1 / second), 2, &clock);
    let told = [(); 2].map(|()| shaper.shape(1).unwrap());
    clock.set_nanos(3_599_000_000_000);
    assert_eq!((shaper.queued(), shaper.healed()), (2, 0), "it stands still");
    assert!(shaper.shape(1).is_err());
    assert_eq!(shaper.healed(), 0);
    clock.set_nanos(0);
    assert_eq!(shaper.shape(1).unwrap().at_nanos(), 1_000_000_000);
    assert_eq!((shaper.queued(), shaper.healed()), (1, 1));
    assert!(told.into_iter().all(|departure| !departure.cancel()));
    clock.set_nanos(u64::MAX);
    assert_eq!((shaper.queued(), shaper.healed()), (0, 1));
}

#[test]
fn those_in_the_queue_leave_as_they_were_told_if_the_clock_is_set_back() {
    let clock = ManualClock::at(3_600_000_000_000);
    let shaper = Shaper::with_clock(rate!(1 / second), 3, &clock);
    let told = [(); 3].map(|()| shaper.shape(1).unwrap());
    let left = || told.each_ref().map(|departure| departure.wait_left().as_millis());
    clock.advance(Duration::from_millis(500));
    assert_eq!(left(), [500, 1_500, 2_500]);
    // Found by a newcomer.
    clock.set_nanos(7);
    assert_eq!((shaper.queued(), shaper.healed()), (0, 1));
    assert_eq!(left(), [500, 1_500, 2_500]);
    clock.advance(Duration::from_millis(600));
    assert_eq!(left(), [0, 900, 1_900]);
    // Behind by less, it is waited for, unless the instant has passed.
    clock.rewind(Duration::from_millis(600));
    assert_eq!((left(), shaper.healed()), ([0, 1_500, 2_500], 1));
}

#[test]
fn a_clock_that_creeps_back_has_gone_back_by_all_of_it() {
    let clock = ManualClock::new();
    clock.set_nanos(10_000_000_000);
    let shaper = Shaper::with_clock(rate!(1 / second), 2, &clock);
    for (millis, healed) in [(9_500, 0), (9_000, 0), (8_999, 1), (8_000, 1), (7_998, 2)] {
        clock.set_nanos(millis * 1_000_000);
        assert_eq!((shaper.queued(), shaper.healed()), (0, healed), "{millis}");
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
    let shaper = Shaper::with_clock(rate!(1 / second), 2, Fragile::default());
    let _first = shaper.shape(1).unwrap();
    shaper.clock().is_broken.store(true, Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| shaper.shape(1).map(drop))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| shaper.set_rate(rate!(2 / second)))).is_err());
    shaper.clock().is_broken.store(false, Relaxed);
    assert_eq!(shaper.queued(), 1);
    assert_eq!(shaper.shape(1).unwrap().at_nanos(), 2_000_000_000);
}

#[test]
fn a_shaper_is_shown_for_people() {
    let shaper = Shaper::with_clock(rate!(2 / second), 3, ManualClock::new());
    let departure = shaper.shape(1).unwrap();
    assert_eq!(format!("{departure:?}"), "Scheduled { permits: 1, at_nanos: 500000000, .. }");
    assert!(format!("{shaper:?}").contains("size: 3"));
    let texts = [shaper.shape(4), shaper.shape(3), shaper.shape_within(1, Duration::ZERO)]
        .map(|refused| refused.unwrap_err().to_string());
    assert_eq!(texts[0], "requested more than the limit of 3: waiting will not help");
    assert_eq!(texts[1], "the queue is full: try again in 500ms");
    assert_eq!(texts[2], "would have left the queue only in 1s");
}
