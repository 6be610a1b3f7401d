//! The reader for tasks, by the traits of `futures`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncRead, AsyncWrite};
use sluicegate::Wait;
use sluicegate::wait::Timer;

use super::RateLimitedReader;

impl<R: AsyncRead, L: Wait, T: Timer> AsyncRead for RateLimitedReader<R, L, T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let ahead = ready!(self.poll_ahead(context, into.len(), R::poll_read))?;
        let passed = ahead.take(into.len());
        into[..passed.len()].copy_from_slice(passed);
        Poll::Ready(Ok(passed.len()))
    }
}

/// Passes writes through.
impl<R: AsyncWrite, L: Wait, T: Timer> AsyncWrite for RateLimitedReader<R, L, T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().reader.poll_write(context, from)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().reader.poll_write_vectored(context, from)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().reader.poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().reader.poll_close(context)
    }
}
