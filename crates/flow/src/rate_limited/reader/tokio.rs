//! The reader for tasks of tokio.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sluicegate::Wait;
use sluicegate::wait::Timer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::RateLimitedReader;

impl<R: AsyncRead, L: Wait, T: Timer> AsyncRead for RateLimitedReader<R, L, T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = |reader: Pin<&mut R>, context: &mut Context<'_>, space: &mut [u8]| {
            let mut space = ReadBuf::new(space);
            ready!(reader.poll_read(context, &mut space))?;
            Poll::Ready(Ok(space.filled().len()))
        };
        let ahead = ready!(self.poll_ahead(context, into.remaining(), read))?;
        into.put_slice(ahead.take(into.remaining()));
        Poll::Ready(Ok(()))
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

    fn is_write_vectored(&self) -> bool {
        self.reader.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().reader.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().reader.poll_shutdown(context)
    }
}
