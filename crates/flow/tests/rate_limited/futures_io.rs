//! Readers and writers of tasks by the traits of `futures`, in time that does not pass by itself.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ::futures_io::{AsyncRead, AsyncWrite};
use sluicegate::clock::TokioClock;
use sluicegate::{TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::{RateLimitedReader, RateLimitedWriter};
use tokio::time::{Instant, timeout};

use sluicegate::wait::TokioTimer;

/// A byte each millisecond, as sleeps of tokio are whole milliseconds.
fn bucket() -> TokenBucket<TokioClock> {
    TokenBucket::with_clock(quota!(1_000 / second, burst 100), TokioClock::new())
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

async fn read(reader: &mut Pin<&mut impl AsyncRead>, into: &mut [u8]) -> io::Result<usize> {
    poll_fn(|context| reader.as_mut().poll_read(context, into)).await
}

async fn write(writer: &mut Pin<&mut impl AsyncWrite>, from: &[u8]) -> io::Result<usize> {
    poll_fn(|context| writer.as_mut().poll_write(context, from)).await
}

#[tokio::test(start_paused = true)]
async fn a_transfer_takes_as_long_as_its_bytes_beyond_the_burst() {
    let body: Vec<u8> = (0..1_000_u32).map(|byte| byte as u8).collect();

    let (limiter, began) = (bucket(), Instant::now());
    let mut reader = pin!(RateLimitedReader::new(&body[..], &limiter).timer(TokioTimer));
    let (mut all, mut into) = (Vec::new(), [0; 300]);
    loop {
        match read(&mut reader, &mut into).await.unwrap() {
            0 => break,
            // A burst at most.
            count => all.extend(&into[..count.min(100)]),
        }
    }
    assert_eq!((all, began.elapsed()), (body.clone(), millis(900)));

    let (limiter, began) = (bucket(), Instant::now());
    let mut writer = pin!(RateLimitedWriter::new(Vec::new(), &limiter).timer(TokioTimer));
    let mut rest = &body[..];
    while !rest.is_empty() {
        let written = write(&mut writer, rest).await.unwrap();
        rest = &rest[written..];
    }
    poll_fn(|context| writer.as_mut().poll_flush(context)).await.unwrap();
    poll_fn(|context| writer.as_mut().poll_close(context)).await.unwrap();
    assert_eq!((writer.paid(), began.elapsed()), (0, millis(900)));
    assert_eq!(writer.get_ref(), &body);
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_midway_has_moved_nothing_and_keeps_what_it_has() {
    let limiter = bucket();
    limiter.try_acquire(100).unwrap();
    let bytes = &b"a stream of bytes"[..];
    let mut reader = pin!(RateLimitedReader::new(bytes, &limiter).timer(TokioTimer));
    let mut into = [0; 8];
    assert!(timeout(millis(5), read(&mut reader, &mut into)).await.is_err());
    assert_eq!((reader.buffer(), limiter.line().waiters()), (&b"a stream"[..], 1));
    assert_eq!(read(&mut reader, &mut into).await.unwrap(), 8);
    assert_eq!((&into, limiter.peek(0).unwrap().remaining()), (b"a stream", 0));
    // Into no space, at once, and for nothing.
    assert_eq!(read(&mut reader, &mut []).await.unwrap(), 0);

    let mut writer = pin!(RateLimitedWriter::new(Vec::new(), &limiter).timer(TokioTimer));
    assert!(timeout(millis(5), write(&mut writer, b"a stream")).await.is_err());
    assert_eq!((writer.get_ref().len(), limiter.line().permits()), (0, 8));
    assert_eq!(write(&mut writer, b"a ").await.unwrap(), 2);
    assert_eq!((writer.paid(), limiter.peek(0).unwrap().remaining()), (6, 0));
    assert_eq!(write(&mut writer, b"").await.unwrap(), 0);
}

/// Fails at first, and then lies about how much it has moved.
#[derive(Debug, Default)]
struct Unsteady(u32);

impl Unsteady {
    fn moved(&mut self, bytes: usize) -> Poll<io::Result<usize>> {
        self.0 += 1;
        let failed = Err(io::ErrorKind::ConnectionReset.into());
        Poll::Ready(if self.0 == 1 { failed } else { Ok(bytes) })
    }
}

impl AsyncRead for Unsteady {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.moved(into.len() + 1)
    }
}

impl AsyncWrite for Unsteady {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.moved(from.len() + 1)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_inner_end_that_fails_or_lies_does_not_confuse_the_accounts() {
    let limiter = bucket();
    let mut reader = pin!(RateLimitedReader::new(Unsteady::default(), &limiter).timer(TokioTimer));
    read(&mut reader, &mut [0; 10]).await.unwrap_err();
    assert_eq!(limiter.peek(0).unwrap().remaining(), 100);
    assert_eq!(read(&mut reader, &mut [0; 10]).await.unwrap(), 10);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 90);

    let mut writer = pin!(RateLimitedWriter::new(Unsteady::default(), &limiter).timer(TokioTimer));
    write(&mut writer, &[7; 10]).await.unwrap_err();
    assert_eq!((writer.paid(), limiter.peek(0).unwrap().remaining()), (10, 80));
    write(&mut writer, &[7; 10]).await.unwrap();
    assert_eq!((writer.paid(), limiter.peek(0).unwrap().remaining()), (0, 80));
}

#[tokio::test(start_paused = true)]
async fn the_other_direction_is_passed_through() {
    let limiter = bucket();
    limiter.try_acquire(100).unwrap();
    let context = &mut Context::from_waker(Waker::noop());
    let mut out = pin!(RateLimitedReader::new(Vec::new(), &limiter).timer(TokioTimer));
    let parts = [io::IoSlice::new(b"four"), io::IoSlice::new(b"five")];
    assert!(matches!(out.as_mut().poll_write(context, b"a"), Poll::Ready(Ok(1))));
    assert!(matches!(out.as_mut().poll_write_vectored(context, &parts), Poll::Ready(Ok(8))));
    assert!(matches!(out.as_mut().poll_flush(context), Poll::Ready(Ok(()))));
    assert!(matches!(out.as_mut().poll_close(context), Poll::Ready(Ok(()))));
    assert_eq!(out.get_ref(), b"afourfive");

    let mut into = pin!(RateLimitedWriter::new(&b"abcdef"[..], &limiter).timer(TokioTimer));
    let (mut one, mut two, mut three) = ([0; 1], [0; 2], [0; 3]);
    assert!(matches!(into.as_mut().poll_read(context, &mut one), Poll::Ready(Ok(1))));
    let mut parts = [io::IoSliceMut::new(&mut two), io::IoSliceMut::new(&mut three)];
    assert!(matches!(into.as_mut().poll_read_vectored(context, &mut parts), Poll::Ready(Ok(5))));
    assert_eq!((&one, &two, &three), (b"a", b"bc", b"def"));
}
