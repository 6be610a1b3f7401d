//! Limiters of a user's own, whose line is not the same one every time.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use sluicegate::wait::{Jitter, Line};
use sluicegate::{Denied, Grant, Limiter, ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::RateLimitedStream;

use super::support::{Bucket, MILLI, NoTimer, left};

/// Two buckets, of which the test chooses one.
struct Switched<'a> {
    buckets: [&'a Bucket<'a>; 2],
    chosen: AtomicUsize,
}

impl<'a> Switched<'a> {
    fn new(first: &'a Bucket<'a>, second: &'a Bucket<'a>) -> Switched<'a> {
        Switched { buckets: [first, second], chosen: AtomicUsize::new(0) }
    }

    fn present(&self) -> &'a Bucket<'a> {
        self.buckets[self.chosen.load(Relaxed)]
    }

    fn switch(&self) {
        self.chosen.store(1, Relaxed);
    }
}

impl Limiter for Switched<'_> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.present().try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.present().try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.present().peek(permits)
    }

    fn reset(&self) {
        self.present().reset();
    }
}

impl Wait for Switched<'_> {
    fn line(&self) -> Line<'_> {
        self.present().line()
    }
}

struct Items(VecDeque<u64>);

impl Stream for Items {
    type Item = u64;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u64>> {
        Poll::Ready(self.0.pop_front())
    }
}

fn next<S: Stream>(stream: &mut Pin<&mut S>) -> Poll<Option<S::Item>> {
    stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop()))
}

fn empty(clock: &ManualClock) -> Bucket<'_> {
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), clock);
    bucket.try_acquire(5).unwrap();
    bucket
}

#[test]
fn a_stream_whose_limiter_has_another_line_than_before_stands_there_anew() {
    let clock = ManualClock::new();
    let (first, second) = (empty(&clock), empty(&clock));
    let limiter = Switched::new(&first, &second);
    let mut stream = pin!(RateLimitedStream::new(Items([1].into()), &limiter).timer(NoTimer));
    assert!(next(&mut stream).is_pending());
    limiter.switch();
    assert!(next(&mut stream).is_pending());
    assert_eq!(second.line().waiters(), 1);
    clock.advance(MILLI);
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(1))));
    assert_eq!(left(&second), 0);
}

#[test]
fn a_stream_whose_limiter_has_another_line_takes_no_place_and_no_permits_of_others() {
    for is_dropped in [false, true] {
        let clock = ManualClock::new();
        let (first, second) = (empty(&clock), empty(&clock));
        let mut other = pin!(RateLimitedStream::new(Items([3].into()), &second).timer(NoTimer));
        assert!(next(&mut other).is_pending());
        let limiter = Switched::new(&first, &second);
        let mut stream =
            Box::pin(RateLimitedStream::new(Items([1].into()), &limiter).timer(NoTimer));
        assert!(next(&mut stream.as_mut()).is_pending());
        limiter.switch();
        if is_dropped {
            drop(stream);
            assert_eq!(second.line().waiters(), 1);
            clock.advance(MILLI);
        } else {
            clock.advance(MILLI);
            assert!(next(&mut stream.as_mut()).is_pending());
            assert_eq!(second.line().waiters(), 1);
        }
        assert_eq!(next(&mut other), Poll::Ready(Some(Ok(3))));
    }
}

#[test]
fn a_stream_that_is_dropped_during_its_jitter_gives_nothing_back_to_another_limiter() {
    let clock = ManualClock::new();
    let (first, second) = (empty(&clock), empty(&clock));
    let limiter = Switched::new(&first, &second);
    let stream = RateLimitedStream::new(Items([1].into()), &limiter);
    let mut stream = Box::pin(stream.jitter(Jitter::between(MILLI, MILLI)).timer(NoTimer));
    assert!(next(&mut stream.as_mut()).is_pending());
    clock.advance(MILLI);
    assert!(next(&mut stream.as_mut()).is_pending());
    // The word of the second is that of the first, as it has granted the same.
    second.try_acquire(1).unwrap();
    limiter.switch();
    drop(stream);
    assert_eq!((left(&first), left(&second)), (0, 0));
}

#[test]
fn a_stream_that_owns_its_limiter_and_is_moved_keeps_its_place() {
    let clock = ManualClock::new();
    let stream = RateLimitedStream::new(Items([2].into()), empty(&clock));
    let mut stream = stream.cost(|item: &u64| *item).timer(NoTimer);
    assert!(next(&mut Pin::new(&mut stream)).is_pending());
    clock.advance(MILLI);
    let mut moved = Box::new(stream);
    assert!(next(&mut Pin::new(&mut *moved)).is_pending());
    assert_eq!(moved.limiter().line().waiters(), 1);
    clock.advance(MILLI);
    assert_eq!(next(&mut Pin::new(&mut *moved)), Poll::Ready(Some(Ok(2))));
    assert_eq!(left(moved.limiter()), 0);
}
