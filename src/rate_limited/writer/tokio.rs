//! The writer for tasks of tokio.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limiter::Wait;
use crate::wait::timer::Timer;

use super::RateLimitedWriter;

impl<W: AsyncWrite, L: Wait, T: Timer> AsyncWrite for RateLimitedWriter<W, L, T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.project();
        if !from.is_empty() && this.paid.bytes == 0 {
            this.paid.owe(&mut this.payment.account, from.len(), *this.chunk);
            ready!(this.payment.poll_pay(context)).map_err(io::Error::other)?;
            this.paid.note_paid();
        }
        let written = ready!(this.writer.poll_write(context, this.paid.part(from)))?;
        this.paid.note_written(written);
        Poll::Ready(Ok(written))
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
