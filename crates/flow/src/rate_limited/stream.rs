//! A stream whose items cost permits.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use pin_project_lite::pin_project;
use sluicegate::Wait;
use sluicegate::wait::{AcquireError, ClockTimer, Jitter, Timer};

use super::payment::Payment;

pin_project! {
    /// A stream that passes on each item of another once it has taken the item's permits.
    ///
    /// An item is taken from the inner stream first, as its cost may depend on it, and is kept until
    /// its permits are there: the inner stream is at most one item ahead. Permits are taken for that
    /// item, and never beforehand, so a stream that has no items takes nothing. An item that costs
    /// more than the burst takes its permits in parts, each of them first come, first served.
    ///
    /// The limiter is kept by value: pass a reference or an `Arc` to share it.
    ///
    /// # Errors
    ///
    /// An item is an [`AcquireError`] if the line has refused the caller. The inner item is kept, and
    /// the next poll asks for its permits again, at once: after
    /// [`LineFull`](AcquireError::LineFull) let its `retry_after` pass first.
    /// [`Closed`](AcquireError::Closed) ends the stream: [`into_inner`](RateLimitedStream::into_inner)
    /// has the item. A line that nobody bounds or closes refuses nobody.
    ///
    /// # Cost
    ///
    /// Clocks are read by the limiter, as [`Wait`] says, and by the timer. A task's first sleep
    /// allocates, and later ones use its memory again; the timer may allocate for each.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time, and leaves the line then. The future of its next item may be
    /// dropped: the item stays in the stream, and so does its place in line.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::pin::Pin;
    /// use futures_core::Stream;
    /// use sluicegate::TokenBucket;
    /// use sluicegate_flow::rate_limited::RateLimitedStream;
    /// use sluicegate::wait::AcquireError;
    ///
    /// /// Messages, of which each costs its length.
    /// fn paced<'a>(
    ///     messages: impl Stream<Item = String> + 'a,
    ///     bucket: &'a TokenBucket,
    /// ) -> impl Stream<Item = Result<String, AcquireError>> + 'a {
    ///     RateLimitedStream::new(messages, bucket).cost(|text: &String| text.len() as u64)
    /// }
    /// ```
    #[must_use = "a stream does nothing until it is polled"]
    pub struct RateLimitedStream<S: Stream, L: Wait, F, T: Timer = ClockTimer> {
        #[pin]
        stream: S,
        payment: Payment<L, T>,
        cost: F,
        item: Option<S::Item>,
        is_closed: bool,
    }
}

impl<S: Stream, L: Wait> RateLimitedStream<S, L, fn(&S::Item) -> u64> {
    /// Passes on the items of `stream` at the pace of `limiter`. Each costs one permit.
    pub fn new(stream: S, limiter: L) -> Self {
        let payment = Payment::new(limiter);
        RateLimitedStream { stream, payment, cost: |_| 1, item: None, is_closed: false }
    }
}

impl<S: Stream, L: Wait, F, T: Timer> RateLimitedStream<S, L, F, T> {
    /// Asks `cost` for the permits of each item. One that costs 0 is passed on at once.
    pub fn cost<G: FnMut(&S::Item) -> u64>(self, cost: G) -> RateLimitedStream<S, L, G, T> {
        let RateLimitedStream { stream, payment, item, is_closed, .. } = self;
        RateLimitedStream { stream, payment, cost, item, is_closed }
    }

    /// Sleeps by `timer` instead of [`ClockTimer`].
    pub fn timer<U: Timer>(self, timer: U) -> RateLimitedStream<S, L, F, U> {
        let RateLimitedStream { stream, payment, cost, item, is_closed } = self;
        RateLimitedStream { stream, payment: payment.with_timer(timer), cost, item, is_closed }
    }

    /// Delays items that had to wait, as [`Waiting::jitter`](sluicegate::wait::Waiting::jitter) does: once, after
    /// the last part of their permits, if that had to wait.
    ///
    /// The next item stands in line after the delay. So delays that are longer than the time in which
    /// a burst is earned lower the pace.
    pub fn jitter(self, jitter: impl Into<Jitter>) -> RateLimitedStream<S, L, F, T> {
        RateLimitedStream { payment: self.payment.with_jitter(jitter.into()), ..self }
    }

    /// Returns the limiter.
    pub fn limiter(&self) -> &L {
        self.payment.limiter()
    }

    /// Returns the inner stream, and the item that was waiting for its permits.
    pub fn into_inner(self) -> (S, Option<S::Item>) {
        (self.stream, self.item)
    }
}

impl<S, L, F, T> Stream for RateLimitedStream<S, L, F, T>
where
    S: Stream,
    L: Wait,
    F: FnMut(&S::Item) -> u64,
    T: Timer,
{
    type Item = Result<S::Item, AcquireError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if *this.is_closed {
            return Poll::Ready(None);
        }
        if this.item.is_none() {
            let Some(item) = ready!(this.stream.poll_next(context)) else {
                return Poll::Ready(None);
            };
            this.payment.owe((this.cost)(&item));
            *this.item = Some(item);
        }
        match ready!(this.payment.poll_pay(context)) {
            Ok(()) => Poll::Ready(this.item.take().map(Ok)),
            Err(error) => {
                *this.is_closed = error == AcquireError::Closed;
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.is_closed {
            return (0, Some(0));
        }
        // One at least, if only the refusal by a closed line, which is the last. Other refusals are
        // items too, and nobody knows how many there will be.
        let has_more = self.item.is_some() || self.stream.size_hint().0 > 0;
        (usize::from(has_more), None)
    }
}

impl<S: Stream, L: Wait, F, T: Timer> fmt::Debug for RateLimitedStream<S, L, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitedStream")
            .field("owed", &self.payment.owed())
            .finish_non_exhaustive()
    }
}
