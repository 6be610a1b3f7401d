//! Sinks, polled by hand.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use futures_sink::Sink;
use sluicegate::wait::{AcquireError, LineLimits};
use sluicegate::{ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::{RateLimitedSink, RateLimitedSinkError};

use super::support::{Bucket, MILLI, NoTimer, left};

/// Keeps what it is sent.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    items: Vec<u64>,
    /// Polls at which it is not ready.
    busy: u32,
    fails: bool,
    /// Shared with the test, which cannot look into a sink that is in use.
    flushed: Rc<Cell<usize>>,
    closed: u32,
}

impl Sink<u64> for Kept {
    type Error = &'static str;

    fn poll_ready(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        if std::mem::take(&mut self.fails) {
            return Poll::Ready(Err("failed"));
        }
        let is_busy = self.busy > 0;
        self.busy = self.busy.saturating_sub(1);
        if is_busy { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    fn start_send(mut self: Pin<&mut Self>, item: u64) -> Result<(), &'static str> {
        self.items.push(item);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        self.flushed.set(self.items.len());
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
    assert_eq!((kept.items, kept.flushed.get(), item, left(&bucket)), (vec![3, 4], 2, None, 0));
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
fn an_item_is_paid_for_once_the_inner_sink_is_ready_for_it() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
    let busy = Kept { busy: 2, fails: true, ..Kept::default() };
    let mut sink = Box::pin(RateLimitedSink::new(busy, &bucket).timer(NoTimer));
    sink.as_mut().start_send(9).unwrap();
    let failed = RateLimitedSinkError::Inner("failed");
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Ready(Err(failed)));
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Pending);
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Pending);
    assert_eq!(left(&bucket), 5);
    assert_eq!(sink.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(())));
    assert_eq!(left(&bucket), 4);
    let (kept, item) = Pin::into_inner(sink).into_inner();
    assert_eq!((kept.items, item), (vec![9], None));
}

type Polling = fn(&mut Paced<'_>) -> Poll<Result<(), RateLimitedSinkError<&'static str>>>;

#[test]
fn what_was_passed_on_is_flushed_while_the_next_item_waits_or_is_refused() {
    let polls: [Polling; 3] = [
        |sink| sink.as_mut().poll_ready(&mut context()),
        |sink| sink.as_mut().poll_flush(&mut context()),
        |sink| sink.as_mut().poll_close(&mut context()),
    ];
    for (poll, is_closed) in polls.into_iter().flat_map(|poll| [(poll, false), (poll, true)]) {
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 5), &clock);
        let flushed = Rc::new(Cell::new(0));
        let kept = Kept { flushed: Rc::clone(&flushed), ..Kept::default() };
        let cost: fn(&u64) -> u64 = |item| *item;
        let mut sink: Paced<'_> =
            Box::pin(RateLimitedSink::new(kept, &bucket).cost(cost).timer(NoTimer));
        assert_eq!(send(&mut sink, 4), Poll::Ready(Ok(())));
        assert_eq!(send(&mut sink, 3), Poll::Ready(Ok(())));
        let refused = RateLimitedSinkError::Refused(AcquireError::Closed);
        if is_closed {
            bucket.line().close();
        }
        let answer = if is_closed { Poll::Ready(Err(refused)) } else { Poll::Pending };
        assert_eq!(poll(&mut sink), answer);
        assert_eq!(flushed.get(), 1, "{is_closed}");
        let (kept, item) = inner(sink);
        assert_eq!((kept.items, kept.closed, item), (vec![4], 0, Some(3)));
    }
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
