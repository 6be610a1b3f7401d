//! Streams, polled by hand.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use sluicegate::bucket::Carry;
use sluicegate::wait::{AcquireError, Jitter, LineLimits};
use sluicegate::{ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::RateLimitedStream;

use super::support::{MILLI, NoTimer, left};

/// Gives its items, and is pending where there is none.
struct Items(VecDeque<Option<u64>>);

impl Stream for Items {
    type Item = u64;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u64>> {
        match self.0.pop_front() {
            Some(Some(item)) => Poll::Ready(Some(item)),
            Some(None) => Poll::Pending,
            None => Poll::Ready(None),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

fn items(items: impl IntoIterator<Item = u64>) -> Items {
    Items(items.into_iter().map(Some).collect())
}

fn next<S: Stream>(stream: &mut Pin<&mut S>) -> Poll<Option<S::Item>> {
    stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn items_come_at_the_pace_of_the_limiter() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 2), &clock);
    let mut stream = pin!(RateLimitedStream::new(items(1..=4), &bucket).timer(NoTimer));
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(1))));
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(2))));
    for item in 3..=4 {
        assert_eq!(next(&mut stream), Poll::Pending);
        clock.advance(MILLI);
        assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(item))));
    }
    assert_eq!(next(&mut stream), Poll::Ready(None));
    assert_eq!((left(&bucket), bucket.line().waiters()), (0, 0));
}

#[test]
fn a_stream_that_has_no_item_takes_nothing() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 2), &clock);
    let inner = Items([None, None, Some(1)].into());
    let mut stream = pin!(RateLimitedStream::new(inner, &bucket).timer(NoTimer));
    assert!(next(&mut stream).is_pending() && next(&mut stream).is_pending());
    assert_eq!(left(&bucket), 2);
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(1))));
    assert_eq!(next(&mut stream), Poll::Ready(None));
    assert_eq!(left(&bucket), 1);
}

#[test]
fn an_item_that_costs_more_than_the_burst_takes_its_permits_in_parts() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 4), &clock);
    let stream = RateLimitedStream::new(items([10, 0, 1]), &bucket).cost(|item: &u64| *item);
    let mut stream = pin!(stream.timer(NoTimer));
    assert!(next(&mut stream).is_pending());
    assert_eq!(bucket.line().permits(), 4);
    clock.set_nanos(5_999_999);
    assert!(next(&mut stream).is_pending());
    assert_eq!(bucket.line().permits(), 2);
    clock.set_nanos(6_000_000);
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(10))));
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(0))));
    assert!(next(&mut stream).is_pending());
}

#[test]
fn an_item_of_any_cost_can_be_waited_for() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 4), &clock);
    let stream = RateLimitedStream::new(items([1]), &bucket).cost(|_: &u64| u64::MAX);
    let mut stream = pin!(stream.timer(NoTimer));
    for _ in 0..10 {
        assert!(next(&mut stream).is_pending());
        clock.advance(4 * MILLI);
    }
}

#[test]
fn a_burst_that_becomes_smaller_while_an_item_waits_is_no_obstacle() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let stream = RateLimitedStream::new(items([8]), &bucket).cost(|item: &u64| *item);
    let mut stream = pin!(stream.timer(NoTimer));
    assert!(next(&mut stream).is_pending());
    bucket.reconfigure(quota!(1_000 / second, burst 3), Carry::Keep);
    for _ in 0..8 {
        assert!(next(&mut stream).is_pending());
        clock.advance(MILLI);
    }
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(8))));
    assert_eq!(left(&bucket), 0);
}

#[test]
fn a_stream_that_is_dropped_leaves_the_line_and_has_taken_nothing() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 2), &clock);
    bucket.try_acquire(2).unwrap();
    {
        let mut stream = pin!(RateLimitedStream::new(items([1]), &bucket).timer(NoTimer));
        assert!(next(&mut stream).is_pending());
        assert_eq!(bucket.line().waiters(), 1);
    }
    assert_eq!(bucket.line().waiters(), 0);
    clock.advance(MILLI);
    assert!(bucket.try_acquire(1).is_ok());
}

#[test]
fn streams_stand_in_line_in_the_order_of_their_items() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    bucket.try_acquire(5).unwrap();
    let paced = |item| {
        let stream = RateLimitedStream::new(items([item]), &bucket);
        Box::pin(stream.cost(|item: &u64| *item).timer(NoTimer))
    };
    let (mut large, mut small) = (paced(5), paced(1));
    assert!(next(&mut large.as_mut()).is_pending() && next(&mut small.as_mut()).is_pending());
    clock.advance(5 * MILLI);
    assert!(next(&mut small.as_mut()).is_pending());
    assert_eq!(next(&mut large.as_mut()), Poll::Ready(Some(Ok(5))));
    clock.advance(MILLI);
    assert_eq!(next(&mut small.as_mut()), Poll::Ready(Some(Ok(1))));
}

#[test]
fn a_refused_item_is_kept_and_asked_for_again() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 2), &clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(0));
    bucket.try_acquire(2).unwrap();
    let mut stream = pin!(RateLimitedStream::new(items([1]), &bucket).timer(NoTimer));
    let full = AcquireError::LineFull { retry_after: MILLI };
    assert_eq!(next(&mut stream), Poll::Ready(Some(Err(full))));
    assert_eq!(next(&mut stream), Poll::Ready(Some(Err(full))));
    clock.advance(MILLI);
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(1))));
    assert_eq!(left(&bucket), 0);
}

#[test]
fn a_closed_line_ends_the_stream_and_its_item_can_be_had() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), &clock);
    bucket.try_acquire(1).unwrap();
    let mut stream = Box::pin(RateLimitedStream::new(items([1, 2]), &bucket).timer(NoTimer));
    assert!(next(&mut stream.as_mut()).is_pending());
    bucket.line().close();
    assert_eq!(next(&mut stream.as_mut()), Poll::Ready(Some(Err(AcquireError::Closed))));
    assert_eq!(next(&mut stream.as_mut()), Poll::Ready(None));
    assert_eq!(stream.size_hint(), (0, Some(0)));
    let (inner, item) = Pin::into_inner(stream).into_inner();
    assert_eq!((inner.0.len(), item), (1, Some(1)));
}

#[test]
fn a_stream_promises_no_more_items_than_come_if_the_line_is_closed() {
    let clock = ManualClock::new();
    for (count, is_ahead) in [(0, false), (1, false), (2, false), (1, true), (2, true)] {
        let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), &clock);
        bucket.try_acquire(1).unwrap();
        let mut stream = pin!(RateLimitedStream::new(items(0..count), &bucket).timer(NoTimer));
        if is_ahead {
            assert!(next(&mut stream).is_pending());
        }
        let promised = stream.size_hint().0;
        bucket.line().close();
        let mut came = 0;
        while next(&mut stream) != Poll::Ready(None) {
            came += 1;
        }
        assert_eq!(promised, came, "{count}, {is_ahead}");
    }
}

#[test]
fn jitter_delays_the_items_that_had_to_wait() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), &clock);
    let jitter = Jitter::between(3 * MILLI, 3 * MILLI);
    let stream = RateLimitedStream::new(items([1, 2]), &bucket).jitter(jitter);
    let mut stream = pin!(stream.timer(NoTimer));
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(1))));
    assert!(next(&mut stream).is_pending());
    clock.advance(MILLI);
    assert!(next(&mut stream).is_pending());
    clock.advance(3 * MILLI);
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(2))));
}

#[test]
fn jitter_delays_an_item_that_is_paid_for_in_parts_once_and_at_its_end() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 4), &clock);
    let jitter = Jitter::between(10 * MILLI, 10 * MILLI);
    let stream = RateLimitedStream::new(items([16]), &bucket).cost(|item: &u64| *item);
    let mut stream = pin!(stream.jitter(jitter).timer(NoTimer));
    // Twelve milliseconds for what is beyond the burst, and the delay.
    for milli in 0..22 {
        assert!(next(&mut stream).is_pending(), "{milli}");
        clock.advance(MILLI);
    }
    assert_eq!(next(&mut stream), Poll::Ready(Some(Ok(16))));
}

#[tokio::test]
async fn the_default_timer_wakes_the_task_of_a_stream() {
    let bucket = TokenBucket::new(quota!(1_000 / second, burst 1));
    let mut stream = pin!(RateLimitedStream::new(items(1..=3), &bucket));
    for item in 1..=3 {
        assert_eq!(poll_fn(|context| stream.as_mut().poll_next(context)).await, Some(Ok(item)));
    }
}

#[test]
fn a_stream_can_own_its_limiter_and_be_sent_to_a_task() {
    fn is_free(_: impl Stream + Send + 'static) {}
    let bucket = Arc::new(TokenBucket::new(quota!(1_000 / second)));
    is_free(RateLimitedStream::new(items([1]), Arc::clone(&bucket)));
    is_free(RateLimitedStream::new(items([1]), TokenBucket::new(quota!(1_000 / second))));
}
