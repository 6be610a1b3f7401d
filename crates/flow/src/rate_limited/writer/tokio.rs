//! The writer for tasks of tokio.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use sluicegate::Wait;
use sluicegate::wait::Timer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().writer.poll_shutdown(context)
    }
}

/// Passes reads through.
impl<W: AsyncRead, L: Wait, T: Timer> AsyncRead for RateLimitedWriter<W, L, T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.project().writer.poll_read(context, into)
    }
}
