//! The writer for tasks, by the traits of `futures`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use sluicegate::Wait;
use sluicegate::wait::Timer;

use super::RateLimitedWriter;

impl<W: AsyncWrite, L: Wait, T: Timer> AsyncWrite for RateLimitedWriter<W, L, T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_paid(context, from, W::poll_write)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().writer.poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().writer.poll_close(context)
    }
}

/// Passes reads through.
impl<W: AsyncRead, L: Wait, T: Timer> AsyncRead for RateLimitedWriter<W, L, T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.project().writer.poll_read(context, into)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut [io::IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().writer.poll_read_vectored(context, into)
    }
}
