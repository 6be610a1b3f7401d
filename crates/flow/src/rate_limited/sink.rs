//! A sink whose items cost permits.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;
use pin_project_lite::pin_project;
use sluicegate::Wait;
use sluicegate::wait::{AcquireError, ClockTimer, Jitter, Timer};

use super::payment::Payment;

pin_project! {
    /// A sink that passes on each item to another once it has taken the item's permits.
    ///
    /// Keeps one item, until the inner sink is ready and the permits are there: so it is ready for the
    /// next one, is flushed, and is closed, once that one has been passed on. Permits are taken only
    /// where the inner sink is ready. An item that costs more than the burst takes its permits in
    /// parts, each of them first come, first served.
    ///
    /// Items passed on before are flushed while one waits, so that they do not wait as well.
    ///
    /// The limiter is kept by value: pass a reference or an `Arc` to share it.
    ///
    /// # Errors
    ///
    /// [`RateLimitedSinkError::Refused`] if the line has refused the caller; the item is kept, and the
    /// next poll asks for its permits again, at once: after [`LineFull`](AcquireError::LineFull) let its
    /// `retry_after` pass first. A line that nobody bounds or closes refuses nobody. After
    /// [`AcquireError::Closed`] each poll is refused, also a close: what was passed on is flushed, and
    /// [`into_inner`](RateLimitedSink::into_inner) has the inner sink, to be closed, and the item.
    ///
    /// The errors of the inner sink are [`RateLimitedSinkError::Inner`]. An item that it was not ready
    /// for is kept; one that it refuses is lost, with its permits.
    ///
    /// # Cost
    ///
    /// Clocks are read by the limiter, as [`Wait`] says, and by the timer. A task's first sleep
    /// allocates, and later ones use its memory again; the timer may allocate for each.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time, and leaves the line then. Its item is dropped with it, as it is
    /// where a sink is not flushed; so are the parts of its permits that were taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_sink::Sink;
    /// use sluicegate::TokenBucket;
    /// use sluicegate_flow::rate_limited::RateLimitedSink;
    ///
    /// /// A sink of messages, of which each costs its length.
    /// fn paced<'a, S: Sink<String> + 'a>(sink: S, bucket: &'a TokenBucket) -> impl Sink<String> + 'a {
    ///     RateLimitedSink::new(sink, bucket).cost(|text: &String| text.len() as u64)
    /// }
    /// ```
    #[must_use = "a sink does nothing until it is polled"]
    pub struct RateLimitedSink<S, I, L: Wait, F, T: Timer = ClockTimer> {
        #[pin]
        sink: S,
        payment: Payment<L, T>,
        cost: F,
        item: Option<I>,
        // True if an item was passed on and not flushed since.
        is_unflushed: bool,
    }
}

/// A failure of a [`RateLimitedSink`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateLimitedSinkError<E> {
    /// The line has refused the caller. The item is kept.
    Refused(AcquireError),
    /// The inner sink has failed.
    Inner(E),
    /// An item was started while the sink was not ready for it, and is lost.
    NotReady,
}

impl<E: fmt::Display> fmt::Display for RateLimitedSinkError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateLimitedSinkError::Refused(error) => error.fmt(f),
            RateLimitedSinkError::Inner(error) => error.fmt(f),
            RateLimitedSinkError::NotReady => {
                f.write_str("the sink was not ready for an item: poll it before each one")
            }
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for RateLimitedSinkError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RateLimitedSinkError::Refused(error) => error.source(),
            RateLimitedSinkError::Inner(error) => error.source(),
            RateLimitedSinkError::NotReady => None,
        }
    }
}

impl<S, I, L: Wait> RateLimitedSink<S, I, L, fn(&I) -> u64> {
    /// Passes on items to `sink` at the pace of `limiter`. Each costs one permit.
    pub fn new(sink: S, limiter: L) -> Self {
        let payment = Payment::new(limiter);
        RateLimitedSink { sink, payment, cost: |_| 1, item: None, is_unflushed: false }
    }
}

impl<S, I, L: Wait, F, T: Timer> RateLimitedSink<S, I, L, F, T> {
    /// Asks `cost` for the permits of each item. One that costs 0 is passed on at once.
    pub fn cost<G: FnMut(&I) -> u64>(self, cost: G) -> RateLimitedSink<S, I, L, G, T> {
        let RateLimitedSink { sink, payment, item, is_unflushed, .. } = self;
        RateLimitedSink { sink, payment, cost, item, is_unflushed }
    }

    /// Sleeps by `timer` instead of [`ClockTimer`].
    pub fn timer<U: Timer>(self, timer: U) -> RateLimitedSink<S, I, L, F, U> {
        let RateLimitedSink { sink, payment, cost, item, is_unflushed } = self;
        RateLimitedSink { sink, payment: payment.with_timer(timer), cost, item, is_unflushed }
    }

    /// Delays items that had to wait, as [`Waiting::jitter`](sluicegate::wait::Waiting::jitter) does: once, after
    /// the last part of their permits, if that had to wait.
    ///
    /// The next item stands in line after the delay. So delays that are longer than the time in which
    /// a burst is earned lower the pace.
    pub fn jitter(self, jitter: impl Into<Jitter>) -> RateLimitedSink<S, I, L, F, T> {
        RateLimitedSink { payment: self.payment.with_jitter(jitter.into()), ..self }
    }

    /// Returns the limiter.
    pub fn limiter(&self) -> &L {
        self.payment.limiter()
    }

    /// Returns the inner sink, and the item that was not passed on yet.
    pub fn into_inner(self) -> (S, Option<I>) {
        (self.sink, self.item)
    }
}

impl<S, I, L, F, T> RateLimitedSink<S, I, L, F, T>
where
    S: Sink<I>,
    L: Wait,
    T: Timer,
{
    /// Passes on the item that is kept, if there is one. If it has to stay, flushes those before it.
    fn poll_pass_on(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), RateLimitedSinkError<S::Error>>> {
        let answer = self.as_mut().poll_pay_and_send(context);
        let has_to_stay =
            matches!(answer, Poll::Pending | Poll::Ready(Err(RateLimitedSinkError::Refused(_))));
        if has_to_stay
            && self.is_unflushed
            && let Poll::Ready(Err(error)) = self.poll_flush_inner(context)
        {
            return Poll::Ready(Err(error));
        }
        answer
    }

    fn poll_pay_and_send(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), RateLimitedSinkError<S::Error>>> {
        let mut this = self.project();
        if this.item.is_some() {
            // Asked before each item anew, also if it was ready while the permits were not there.
            let is_ready = ready!(this.sink.as_mut().poll_ready(context));
            is_ready.map_err(RateLimitedSinkError::Inner)?;
            ready!(this.payment.poll_pay(context)).map_err(RateLimitedSinkError::Refused)?;
            if let Some(item) = this.item.take() {
                this.sink.start_send(item).map_err(RateLimitedSinkError::Inner)?;
                *this.is_unflushed = true;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush_inner(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), RateLimitedSinkError<S::Error>>> {
        let this = self.project();
        ready!(this.sink.poll_flush(context)).map_err(RateLimitedSinkError::Inner)?;
        *this.is_unflushed = false;
        Poll::Ready(Ok(()))
    }
}

impl<S, I, L, F, T> Sink<I> for RateLimitedSink<S, I, L, F, T>
where
    S: Sink<I>,
    L: Wait,
    F: FnMut(&I) -> u64,
    T: Timer,
{
    type Error = RateLimitedSinkError<S::Error>;

    fn poll_ready(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>> {
        self.poll_pass_on(context)
    }

    fn start_send(self: Pin<&mut Self>, item: I) -> Result<(), Self::Error> {
        let this = self.project();
        if this.item.is_some() {
            return Err(RateLimitedSinkError::NotReady);
        }
        this.payment.owe((this.cost)(&item));
        *this.item = Some(item);
        Ok(())
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>> {
        ready!(self.as_mut().poll_pass_on(context))?;
        self.poll_flush_inner(context)
    }

    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>> {
        ready!(self.as_mut().poll_pass_on(context))?;
        self.project().sink.poll_close(context).map_err(RateLimitedSinkError::Inner)
    }
}

impl<S, I, L: Wait, F, T: Timer> fmt::Debug for RateLimitedSink<S, I, L, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitedSink")
            .field("owed", &self.payment.owed())
            .finish_non_exhaustive()
    }
}
