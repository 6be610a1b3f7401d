//! A reader whose bytes cost permits.

mod ahead;
#[cfg(feature = "futures")]
mod futures;
#[cfg(feature = "tokio")]
mod tokio;

use std::fmt;
use std::io::{self, Read, Write};
#[cfg(any(feature = "futures", feature = "tokio"))]
use std::pin::Pin;
#[cfg(any(feature = "futures", feature = "tokio"))]
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use sluicegate::Wait;
use sluicegate::wait::{ClockTimer, Jitter, Timer};

use self::ahead::Ahead;
use super::CHUNK;
use super::payment::Payment;

pin_project! {
    /// A reader at the pace of a limiter, one permit for each byte: std's [`Read`], with the feature
    /// `tokio` tokio's `AsyncRead`, and with the feature `futures` that of `futures`.
    ///
    /// Reads from the inner reader first, into a buffer of its own, and passes on what it has read
    /// once the permits for exactly these bytes are there. So a reader that has nothing to read takes
    /// nothing, and an end or an error of the inner reader costs nothing. The inner reader is at most
    /// one chunk ahead.
    ///
    /// A chunk is what the caller has space for, at most the burst, and at most 16 KiB or what
    /// [`chunk`](RateLimitedReader::chunk) sets. The buffer is allocated by the first read, and grows
    /// to the longest chunk.
    ///
    /// Where a socket is both read and written, this one passes writes through without a limit, and a
    /// [`RateLimitedWriter`](crate::rate_limited::RateLimitedWriter) passes reads through: so one can be put around
    /// the other.
    ///
    /// # Errors
    ///
    /// Those of the inner reader, and those of the line: an [`AcquireError`](sluicegate::wait::AcquireError) in
    /// an [`io::Error`] of kind [`Other`](io::ErrorKind::Other). What has been read is kept then, and
    /// the next read asks for its permits again, at once: after
    /// [`LineFull`](sluicegate::wait::AcquireError::LineFull) let its `retry_after` pass first. A line that
    /// nobody bounds or closes refuses nobody.
    ///
    /// # Cost
    ///
    /// Clocks are read by the limiter, as [`Wait`] says, and by the timer. A task's first sleep
    /// allocates, and later ones use its memory again; the timer may allocate for each.
    ///
    /// # Cancel safety
    ///
    /// A read that is dropped has read nothing: the bytes, and the place in line, are kept for the
    /// next one. A reader that is dropped leaves the line.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Read;
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_flow::rate_limited::RateLimitedReader;
    ///
    /// let bucket = TokenBucket::new(quota!(1_000_000 / second, burst 4_096));
    /// let body = vec![7; 10_000];
    /// let mut read = Vec::new();
    /// // Takes six milliseconds: the burst is there at once.
    /// RateLimitedReader::new(&body[..], &bucket).read_to_end(&mut read)?;
    /// assert_eq!(read, body);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub struct RateLimitedReader<R, L: Wait, T: Timer = ClockTimer> {
        #[pin]
        reader: R,
        payment: Payment<L, T>,
        ahead: Ahead,
        chunk: usize,
    }
}

impl<R, L: Wait> RateLimitedReader<R, L> {
    /// Reads from `reader` at the pace of `limiter`, which is kept: pass a reference or an `Arc` to
    /// share it.
    pub fn new(reader: R, limiter: L) -> RateLimitedReader<R, L> {
        let payment = Payment::new(limiter);
        RateLimitedReader { reader, payment, ahead: Ahead::default(), chunk: CHUNK }
    }
}

impl<R, L: Wait, T: Timer> RateLimitedReader<R, L, T> {
    /// Reads at most `bytes` at a time: a smaller chunk makes the pace smoother. 0 is taken as 1.
    #[must_use]
    pub fn chunk(self, bytes: usize) -> RateLimitedReader<R, L, T> {
        RateLimitedReader { chunk: bytes.max(1), ..self }
    }

    /// Delays chunks that had to wait for their permits, as [`Waiting::jitter`](sluicegate::wait::Waiting::jitter) does:
    /// once, after the last part of them, if that had to wait. The next one stands in line after the
    /// delay, so delays that are longer than the time in which a burst is earned lower the pace.
    #[must_use]
    pub fn jitter(self, jitter: impl Into<Jitter>) -> RateLimitedReader<R, L, T> {
        RateLimitedReader { payment: self.payment.with_jitter(jitter.into()), ..self }
    }

    /// Sleeps by `timer` instead of [`ClockTimer`]. For threads, the timer does not matter.
    #[must_use]
    pub fn timer<U: Timer>(self, timer: U) -> RateLimitedReader<R, L, U> {
        let RateLimitedReader { reader, payment, ahead, chunk } = self;
        RateLimitedReader { reader, payment: payment.with_timer(timer), ahead, chunk }
    }

    /// Returns the limiter.
    pub fn limiter(&self) -> &L {
        self.payment.limiter()
    }

    /// Returns the inner reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Returns the inner reader. What is read from it directly costs nothing.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns the bytes that were read ahead, and were not passed on yet.
    pub fn buffer(&self) -> &[u8] {
        self.ahead.left()
    }

    /// Returns the inner reader. The bytes of the [`buffer`](RateLimitedReader::buffer) are lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

/// Returns the bytes to be moved at once, of `wanted`: at least 1.
pub(super) fn share<L: Wait, T: Timer>(
    payment: &Payment<L, T>,
    wanted: usize,
    chunk: usize,
) -> usize {
    let limit = usize::try_from(payment.limit()).unwrap_or(usize::MAX);
    wanted.min(chunk).min(limit).max(1)
}

impl<R: Read, L: Wait, T: Timer> Read for RateLimitedReader<R, L, T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let payment = &mut self.payment;
        if into.is_empty() {
            return Ok(0);
        }
        if self.ahead.left().is_empty() {
            let space = self.ahead.space(share(payment, into.len(), self.chunk));
            let read = self.reader.read(space)?;
            payment.owe(self.ahead.note_read(read) as u64);
        }
        payment.pay().map_err(io::Error::other)?;
        let passed = self.ahead.take(into.len());
        into[..passed.len()].copy_from_slice(passed);
        Ok(passed.len())
    }
}

#[cfg(any(feature = "futures", feature = "tokio"))]
impl<R, L: Wait, T: Timer> RateLimitedReader<R, L, T> {
    /// Waits until bytes are there and paid for, of which the caller has space for `wanted`: reads a
    /// chunk by `read` if none is left. Returns nothing left at the end of the inner reader.
    fn poll_ahead(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        wanted: usize,
        read: impl FnOnce(Pin<&mut R>, &mut Context<'_>, &mut [u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<&mut Ahead>> {
        let this = self.project();
        if wanted > 0 {
            if this.ahead.left().is_empty() {
                let payment = &mut *this.payment;
                let space = this.ahead.space(share(payment, wanted, *this.chunk));
                let read = ready!(read(this.reader, context, space))?;
                payment.owe(this.ahead.note_read(read) as u64);
            }
            ready!(this.payment.poll_pay(context)).map_err(io::Error::other)?;
        }
        Poll::Ready(Ok(this.ahead))
    }
}

/// Passes writes through.
impl<R: Write, L: Wait, T: Timer> Write for RateLimitedReader<R, L, T> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.reader.write(from)
    }

    fn write_vectored(&mut self, from: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.reader.write_vectored(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.reader.flush()
    }
}

impl<R: fmt::Debug, L: Wait, T: Timer> fmt::Debug for RateLimitedReader<R, L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitedReader")
            .field("reader", &self.reader)
            .field("owed", &self.payment.owed())
            .finish_non_exhaustive()
    }
}
