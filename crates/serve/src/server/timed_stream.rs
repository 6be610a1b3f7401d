//! Bounds on the time in which a client says which version of HTTP it speaks, and in which it takes what it is sent.
//!
//! The server of hyper-util reads up to 24 bytes to tell HTTP/1.1 from HTTP/2, and has no time limit for that: a
//! client that sends nothing would keep its connection for ever. Nor has it one for writing: a client that asks and never
//! reads would keep its own too.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The first bytes of HTTP/2. No request of HTTP/1.1 begins like that.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that fails unless the version is known in time, and unless each part of an answer is taken in time.
pub(super) struct TimedStream<S> {
    stream: S,
    longest: Duration,
    /// The first bytes of the preface that have come.
    matched: usize,
    /// `None` once the version is known.
    patience: Option<Pin<Box<Sleep>>>,
    /// While the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedStream<S> {
    pub(super) fn new(stream: S, longest: Duration) -> TimedStream<S> {
        let patience = Some(Box::pin(sleep(longest)));
        TimedStream { stream, longest, matched: 0, patience, stalled: None }
    }

    /// Passes on what a write has come to, which must not be nothing for too long.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let longest = self.longest;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(longest)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Notes bytes that have come. The version is known at the first that is not of the preface, and at its end.
    fn note(&mut self, bytes: &[u8]) {
        let rest = &PREFACE[self.matched..];
        let matched = rest.iter().zip(bytes).take_while(|(one, other)| one == other).count();
        self.matched += matched;
        if matched < bytes.len() || matched == rest.len() {
            self.patience = None;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let Some(patience) = &mut this.patience else { return read };
        if read.is_pending() {
            ready!(patience.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        this.note(&buffer.filled()[before..]);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.written(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
