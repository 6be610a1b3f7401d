//! A bound on the time in which a client says which version of HTTP it speaks.
//!
//! The server of hyper-util reads up to 24 bytes to tell HTTP/1.1 from HTTP/2, and has no time limit for that: a
//! client that sends nothing would keep its connection for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The first bytes of HTTP/2. No request of HTTP/1.1 begins like that.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that fails unless the version is known in time.
pub(crate) struct FirstBytes<S> {
    stream: S,
    /// The first bytes of the preface that have come.
    matched: usize,
    /// `None` once the version is known.
    patience: Option<Pin<Box<Sleep>>>,
}

impl<S> FirstBytes<S> {
    pub(crate) fn new(stream: S, longest: Duration) -> FirstBytes<S> {
        FirstBytes { stream, matched: 0, patience: Some(Box::pin(sleep(longest))) }
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

impl<S: AsyncRead + Unpin> AsyncRead for FirstBytes<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstBytes<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
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
