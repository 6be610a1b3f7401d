//! A writer whose bytes cost permits.

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

use super::CHUNK;
use super::payment::Payment;
use super::reader::share;

pin_project! {
    /// A writer at the pace of a limiter, one permit for each byte: std's [`Write`], with the feature
    /// `tokio` tokio's `AsyncWrite`, and with the feature `futures` that of `futures`.
    ///
    /// Takes the permits for a chunk, and then writes it. If the inner writer takes fewer bytes, or
    /// fails, the other permits stay paid for the next write, so that all in all the permits taken are
    /// those of the bytes written, and at most a chunk more. These are lost if the writer is dropped.
    ///
    /// A chunk is what is to be written, at most the burst, and at most 16 KiB or what
    /// [`chunk`](RateLimitedWriter::chunk) sets: no more than that is kept from others by a peer that
    /// is slow or gone. Nothing is buffered: a flush and a shutdown go to the inner writer at once, and
    /// cost nothing.
    ///
    /// Passes reads through without a limit; see [`RateLimitedReader`](crate::rate_limited::RateLimitedReader).
    ///
    /// # Errors
    ///
    /// Those of the inner writer, and those of the line: an [`AcquireError`](sluicegate::wait::AcquireError) in
    /// an [`io::Error`] of kind [`Other`](io::ErrorKind::Other). The next write asks again, at once:
    /// after [`LineFull`](sluicegate::wait::AcquireError::LineFull) let its `retry_after` pass first. A line that
    /// nobody bounds or closes refuses nobody.
    ///
    /// # Cost
    ///
    /// Clocks are read by the limiter, as [`Wait`] says, and by the timer. A task's first sleep
    /// allocates, and later ones use its memory again; the timer may allocate for each.
    ///
    /// # Cancel safety
    ///
    /// A write that is dropped has written nothing. Its place in line, or its permits, are kept for
    /// the next one. A writer that is dropped leaves the line.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write;
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_flow::rate_limited::RateLimitedWriter;
    ///
    /// let bucket = TokenBucket::new(quota!(1_000_000 / second, burst 4_096));
    /// let mut out = RateLimitedWriter::new(Vec::new(), &bucket);
    /// // Takes six milliseconds: the burst is there at once.
    /// out.write_all(&[7; 10_000])?;
    /// assert_eq!(out.into_inner().len(), 10_000);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub struct RateLimitedWriter<W, L: Wait, T: Timer = ClockTimer> {
        #[pin]
        writer: W,
        payment: Payment<L, T>,
        paid: Paid,
        chunk: usize,
    }
}

/// Bytes that may be written, and those for which permits are being taken.
#[derive(Debug, Default)]
struct Paid {
    bytes: usize,
    in_line: usize,
}

impl Paid {
    /// Makes a chunk of `length` bytes owed, unless another still is.
    fn owe<L: Wait, T: Timer>(&mut self, payment: &mut Payment<L, T>, length: usize, chunk: usize) {
        if self.in_line == 0 {
            self.in_line = share(payment, length, chunk);
            payment.owe(self.in_line as u64);
        }
    }

    /// Notes that what was owed is paid.
    fn note_paid(&mut self) {
        self.bytes += std::mem::take(&mut self.in_line);
    }

    /// Notes that bytes were written: no more than were paid for, whatever the inner writer says.
    fn note_written(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Returns the part of `from` that may be written.
    fn part<'a>(&self, from: &'a [u8]) -> &'a [u8] {
        &from[..self.bytes.min(from.len())]
    }
}

impl<W, L: Wait> RateLimitedWriter<W, L> {
    /// Writes to `writer` at the pace of `limiter`, which is kept: pass a reference or an `Arc` to
    /// share it.
    pub fn new(writer: W, limiter: L) -> RateLimitedWriter<W, L> {
        let payment = Payment::new(limiter);
        RateLimitedWriter { writer, payment, paid: Paid::default(), chunk: CHUNK }
    }
}

impl<W, L: Wait, T: Timer> RateLimitedWriter<W, L, T> {
    /// Writes at most `bytes` at a time. A smaller chunk makes the pace smoother, and less stays paid
    /// where the inner writer takes no more; a larger one costs less. 0 is taken as 1.
    #[must_use]
    pub fn chunk(self, bytes: usize) -> RateLimitedWriter<W, L, T> {
        RateLimitedWriter { chunk: bytes.max(1), ..self }
    }

    /// Delays chunks that had to wait for their permits, as [`Waiting::jitter`](sluicegate::wait::Waiting::jitter) does:
    /// once, after the last part of them, if that had to wait. The next one stands in line after the
    /// delay, so delays that are longer than the time in which a burst is earned lower the pace.
    #[must_use]
    pub fn jitter(self, jitter: impl Into<Jitter>) -> RateLimitedWriter<W, L, T> {
        RateLimitedWriter { payment: self.payment.with_jitter(jitter.into()), ..self }
    }

    /// Sleeps by `timer` instead of [`ClockTimer`]. For threads, the timer does not matter.
    #[must_use]
    pub fn timer<U: Timer>(self, timer: U) -> RateLimitedWriter<W, L, U> {
        let RateLimitedWriter { writer, payment, paid, chunk } = self;
        RateLimitedWriter { writer, payment: payment.with_timer(timer), paid, chunk }
    }

    /// Returns the limiter.
    pub fn limiter(&self) -> &L {
        self.payment.limiter()
    }

    /// Returns the number of bytes that may be written without further permits.
    pub fn paid(&self) -> usize {
        self.paid.bytes
    }

    /// Returns the inner writer.
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// Returns the inner writer. What is written to it directly costs nothing.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Returns the inner writer.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: Write, L: Wait, T: Timer> Write for RateLimitedWriter<W, L, T> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        if !from.is_empty() && self.paid.bytes == 0 {
            let payment = &mut self.payment;
            self.paid.owe(payment, from.len(), self.chunk);
            payment.pay().map_err(io::Error::other)?;
            self.paid.note_paid();
        }
        let written = self.writer.write(self.paid.part(from))?;
        self.paid.note_written(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(any(feature = "futures", feature = "tokio"))]
impl<W, L: Wait, T: Timer> RateLimitedWriter<W, L, T> {
    /// Waits until some of the bytes of `from` are paid for, and then writes these by `write`.
    fn poll_write_paid(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
        write: impl FnOnce(Pin<&mut W>, &mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let this = self.project();
        if !from.is_empty() && this.paid.bytes == 0 {
            this.paid.owe(this.payment, from.len(), *this.chunk);
            ready!(this.payment.poll_pay(context)).map_err(io::Error::other)?;
            this.paid.note_paid();
        }
        let written = ready!(write(this.writer, context, this.paid.part(from)))?;
        this.paid.note_written(written);
        Poll::Ready(Ok(written))
    }
}

/// Passes reads through.
impl<W: Read, L: Wait, T: Timer> Read for RateLimitedWriter<W, L, T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.writer.read(into)
    }

    fn read_vectored(&mut self, into: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
        self.writer.read_vectored(into)
    }
}

impl<W: fmt::Debug, L: Wait, T: Timer> fmt::Debug for RateLimitedWriter<W, L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitedWriter")
            .field("writer", &self.writer)
            .field("paid", &self.paid.bytes)
            .finish_non_exhaustive()
    }
}
