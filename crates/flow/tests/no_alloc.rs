//! Verbs that allocate nothing, or as much as is documented. Counted by an allocator of our own, for the calling thread only,
//! because the test harness has threads too.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

use sluicegate::wait::Timer;
use sluicegate::{ManualClock, rate};
use sluicegate_flow::WarmUp;
use sluicegate_flow::time_limit::{OnTimeout, TimeLimit, TimeLimiter};
use sluicegate_flow::warm_up::WarmUpReservation;

use crate::support::allocator::allocations;

mod concurrency;

/// Takes any text, and keeps none.
struct Anywhere;

impl Write for Anywhere {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        black_box(text);
        Ok(())
    }
}

#[test]
fn warming_up_does_not_allocate() {
    let clock = ManualClock::new();
    let limiter = WarmUp::with_clock(rate!(7 / second), Duration::from_secs(2), &clock).unwrap();
    let made = allocations(|| {
        for permits in [0, 1, 3, 1_000, u64::MAX] {
            let newest = limiter.reserve(permits).map(WarmUpReservation::cancel);
            let _ = (newest, limiter.reserve(permits), limiter.try_acquire(permits));
            let _ = (limiter.ready_after(), limiter.stored());
            limiter.set_rate(rate!(3 / second));
            clock.advance(Duration::from_millis(700));
        }
        clock.rewind(Duration::from_secs(3));
        let _ = limiter.try_acquire(1);
        write!(Anywhere, "{limiter:?} {limiter:#?}").unwrap();
    });
    assert_eq!((made, limiter.healed()), (0, 1));
}

/// A timer whose sleeps are over at once.
#[derive(Clone)]
struct NoTime;

impl Timer for NoTime {
    type Sleep = std::future::Ready<()>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        std::future::ready(())
    }
}

#[test]
fn a_time_limit_allocates_a_place_for_a_future_that_is_let_finish_and_nothing_else() {
    use std::future::{Future, pending, ready};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    let limit = TimeLimit::default();
    let cancelling = TimeLimiter::builder("cancelling").timer(NoTime).build();
    let finishing = limit.with_on_timeout(OnTimeout::LetFinish);
    let finishing = TimeLimiter::builder("finishing").limit(finishing).timer(NoTime).build();
    let mut context = Context::from_waker(Waker::noop());
    let made = allocations(|| {
        let call = pin!(cancelling.execute(ready(7)));
        assert!(matches!(call.poll(&mut context), Poll::Ready(Ok(7))));
        let call = pin!(cancelling.execute(pending::<()>()));
        assert!(matches!(call.poll(&mut context), Poll::Ready(Err(_))));
        assert_eq!(cancelling.counts().timed_out, 1);
    });
    assert_eq!(made, 0);
    let made = allocations(|| {
        let call = pin!(finishing.execute(ready(7)));
        assert!(matches!(call.poll(&mut context), Poll::Ready(Ok(7))));
    });
    // A future without content takes no memory, but `Ready<i32>` has some.
    assert_eq!(made, 1);
}
