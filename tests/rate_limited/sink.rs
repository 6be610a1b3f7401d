//! Sinks, polled by hand.

use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use futures_sink::Sink;
use sluicegate::{
    AcquireError, LineLimits, ManualClock, RateLimitedSink, RateLimitedSinkError, TokenBucket,
    Wait, quota,
};

use crate::support::{Bucket, MILLI, NoTimer, left};

/// Keeps what it is sent.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    items: Vec<u64>,
    is_busy: bool,
    fails: bool,
    flushed: u32,
    closed: u32,
}

impl Sink<u64> for Kept {
    type Error = &'static str;

    fn poll_ready(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        match (std::mem::take(&mut self.fails), self.is_busy) {
            (true, _) => Poll::Ready(Err("failed")),
            (false, true) => Poll::Pending,
            (false, false) => Poll::Ready(Ok(())),
        }
    }

    fn start_send(mut self: Pin<&mut Self>, item: u64) -> Result<(), &'static str> {
        self.items.push(item);
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        self.flushed += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        self.closed += 1;
        Poll::Ready(Ok(()))
    }
}

type Paced<'a> = Pin<Box<RateLimitedSink<Kept, u64, &'a Bucket<'a>, fn(&u64) -> u64, NoTimer>>>;

fn paced<'a>(bucket: &'a Bucket<'a>) -> Paced<'a> {
    let cost: fn(&u64) -> u64 = |item| *item;
    Box::pin(RateLimitedSink::new(Kept::default(), bucket).cost(cost).timer(NoTimer))
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Starts an item once there is room for it.
fn send(sink: &mut Paced<'_>, item: u64) -> Poll<Result<(), RateLimitedSinkError<&'static str>>> {
    let is_ready = ready!(sink.as_mut().poll_ready(&mut context()));
    Poll::Ready(is_ready.and_then(|()| sink.as_mut().start_send(item)))
}

fn inner(sink: Paced<'_>) -> (Kept, Option<u64>) {
    Pin::into_inner(sink).into_inner()
}

#[test]
fn items_are_passed_on_once_their_permits_are_there() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    let mut sink = paced(&bucket);
    assert_eq!(send(&mut sink, 3), Poll::Ready(Ok(())));
    assert_eq!(send(&mut sink, 4), Poll::Ready(Ok(())));
    assert_eq!(left(&bucket), 2);
    assert_eq!(send(&mut sink, 1), Poll::Pending);
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Pending);
    clock.advance(2 * MILLI);
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(())));
    let (kept, item) = inner(sink);
    assert_eq!((kept.items, kept.flushed, item, left(&bucket)), (vec![3, 4], 1, None, 0));
}

#[test]
fn an_item_that_costs_more_than_the_burst_is_sent_all_the_same() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    let mut sink = paced(&bucket);
    assert_eq!(send(&mut sink, 12), Poll::Ready(Ok(())));
    for _ in 0..7 {
        assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Pending);
        clock.advance(MILLI);
    }
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(())));
    assert_eq!((inner(sink).0.items, left(&bucket)), (vec![12], 0));
}

#[test]
fn a_close_passes_on_the_last_item_first() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    bucket.try_acquire(5).unwrap();
    let mut sink = paced(&bucket);
    assert_eq!(send(&mut sink, 2), Poll::Ready(Ok(())));
    assert_eq!(sink.as_mut().poll_close(&mut context()), Poll::Pending);
    clock.advance(2 * MILLI);
    assert_eq!(sink.as_mut().poll_close(&mut context()), Poll::Ready(Ok(())));
    let (kept, _) = inner(sink);
    assert_eq!((kept.items, kept.closed), (vec![2], 1));
}

#[test]
fn an_item_that_the_inner_sink_does_not_take_yet_is_paid_for_once() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    let busy = Kept { is_busy: true, fails: true, ..Kept::default() };
    let mut sink = Box::pin(RateLimitedSink::new(busy, &bucket).timer(NoTimer));
    sink.as_mut().start_send(9).unwrap();
    let failed = RateLimitedSinkError::Inner("failed");
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Ready(Err(failed)));
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Pending);
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Pending);
    assert_eq!(left(&bucket), 4);
    let (kept, item) = Pin::into_inner(sink).into_inner();
    assert_eq!((kept.items, item), (Vec::new(), Some(9)));
}

#[test]
fn a_refused_item_is_kept_and_asked_for_again() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(0));
    bucket.try_acquire(5).unwrap();
    let mut sink = paced(&bucket);
    assert_eq!(send(&mut sink, 1), Poll::Ready(Ok(())));
    let refused = RateLimitedSinkError::Refused(AcquireError::LineFull { retry_after: MILLI });
    assert_eq!(send(&mut sink, 2), Poll::Ready(Err(refused)));
    clock.advance(MILLI);
    assert_eq!(send(&mut sink, 2), Poll::Ready(Ok(())));
    let (kept, item) = inner(sink);
    assert_eq!((kept.items, item, left(&bucket)), (vec![1], Some(2), 0));
}

#[test]
fn a_sink_that_is_dropped_leaves_the_line_and_has_taken_nothing() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    bucket.try_acquire(5).unwrap();
    let mut sink = paced(&bucket);
    assert_eq!(send(&mut sink, 1), Poll::Ready(Ok(())));
    assert_eq!(send(&mut sink, 1), Poll::Pending);
    assert_eq!(bucket.line().waiters(), 1);
    drop(sink);
    assert_eq!(bucket.line().waiters(), 0);
    clock.advance(MILLI);
    assert_eq!(left(&bucket), 1);
}

#[test]
fn an_item_that_is_started_too_early_is_refused_and_costs_nothing() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    let mut sink = paced(&bucket);
    sink.as_mut().start_send(1).unwrap();
    assert_eq!(sink.as_mut().start_send(2), Err(RateLimitedSinkError::NotReady));
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(())));
    assert_eq!((left(&bucket), inner(sink).0.items), (4, vec![1]));
}
