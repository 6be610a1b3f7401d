//! Readers and writers of tasks, in time that does not pass by itself.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use sluicegate::clock::TokioClock;
use sluicegate::wait::TokioTimer;
use sluicegate::{TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::{RateLimitedReader, RateLimitedWriter};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, copy, duplex};
use tokio::time::{Instant, timeout};

type Bucket = TokenBucket<TokioClock>;

/// A kilobyte a second is a byte each millisecond: sleeps of tokio are whole milliseconds.
fn bucket() -> Bucket {
    TokenBucket::with_clock(quota!(1_000 / second, burst 100), TokioClock::new())
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn a_transfer_takes_as_long_as_its_bytes_beyond_the_burst() {
    let body: Vec<u8> = (0..5_000_u32).map(|byte| byte as u8).collect();

    let (limiter, began) = (bucket(), Instant::now());
    let mut read = Vec::new();
    let mut reader = RateLimitedReader::new(&body[..], &limiter).timer(TokioTimer);
    reader.read_to_end(&mut read).await.unwrap();
    assert_eq!((read, began.elapsed()), (body.clone(), millis(4_900)));

    let (limiter, began) = (bucket(), Instant::now());
    let mut writer = RateLimitedWriter::new(Vec::new(), &limiter).timer(TokioTimer);
    writer.write_all(&body).await.unwrap();
    writer.flush().await.unwrap();
    writer.shutdown().await.unwrap();
    assert_eq!((writer.paid(), began.elapsed()), (0, millis(4_900)));
    assert_eq!(writer.into_inner(), body);
}

#[tokio::test(start_paused = true)]
async fn connections_share_a_limiter_and_none_is_left_behind() {
    let (limiter, began) = (Arc::new(bucket()), Instant::now());
    let tasks = [0; 4].map(|_| {
        let limiter = Arc::clone(&limiter);
        tokio::spawn(async move {
            let body = [7; 1_000];
            let mut reader = RateLimitedReader::new(&body[..], limiter).timer(TokioTimer);
            // Reads as much as it may: a burst each time.
            let length = copy(&mut reader, &mut tokio::io::sink()).await.unwrap();
            (length, began.elapsed())
        })
    });
    let mut last = Duration::ZERO;
    for task in tasks {
        let (length, took) = task.await.unwrap();
        assert_eq!(length, 1_000);
        // Each has its turn once in four bursts, and the first of them one more at the beginning.
        assert!(took >= millis(3_300), "{took:?}");
        last = last.max(took);
    }
    assert_eq!(last, millis(3_900));
    assert_eq!(limiter.peek(0).unwrap().remaining(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_dropped_has_read_nothing() {
    let limiter = bucket();
    limiter.try_acquire(100).unwrap();
    let mut reader = RateLimitedReader::new(&b"a stream of bytes"[..], &limiter).timer(TokioTimer);
    let mut into = [0; 8];
    assert!(timeout(millis(5), reader.read(&mut into)).await.is_err());
    assert_eq!((reader.buffer(), limiter.line().waiters()), (&b"a stream"[..], 1));
    assert_eq!(reader.read(&mut into).await.unwrap(), 8);
    assert_eq!((&into, limiter.peek(0).unwrap().remaining()), (b"a stream", 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_dropped_has_written_nothing_and_keeps_its_permits() {
    let limiter = bucket();
    limiter.try_acquire(100).unwrap();
    let mut writer = RateLimitedWriter::new(Vec::new(), &limiter).timer(TokioTimer);
    assert!(timeout(millis(5), writer.write(b"a stream")).await.is_err());
    assert_eq!((writer.get_ref().len(), limiter.line().permits()), (0, 8));
    // A shorter one uses what was asked for.
    writer.write_all(b"a ").await.unwrap();
    assert_eq!((writer.paid(), limiter.peek(0).unwrap().remaining()), (6, 0));
    drop(writer);
    assert_eq!(limiter.line().waiters(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reader_and_a_writer_that_are_dropped_leave_the_line() {
    let limiter = bucket();
    limiter.try_acquire(100).unwrap();
    let mut reader = RateLimitedReader::new(&[7; 9][..], &limiter).timer(TokioTimer);
    let mut writer = RateLimitedWriter::new(Vec::new(), &limiter).timer(TokioTimer);
    assert!(timeout(millis(5), reader.read(&mut [0; 9])).await.is_err());
    assert!(timeout(millis(2), writer.write(&[7; 9])).await.is_err());
    assert_eq!(limiter.line().waiters(), 2);
    drop((reader, writer));
    assert_eq!(limiter.line().waiters(), 0);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_socket_without_anything_to_read_takes_nothing() {
    let limiter = bucket();
    let (near, mut far) = duplex(64);
    let mut reader = RateLimitedReader::new(near, &limiter).timer(TokioTimer);
    assert!(timeout(millis(5), reader.read(&mut [0; 50])).await.is_err());
    assert_eq!(limiter.peek(0).unwrap().remaining(), 100);
    far.write_all(&[7; 20]).await.unwrap();
    assert_eq!(reader.read(&mut [0; 50]).await.unwrap(), 20);
    drop(far);
    assert_eq!(reader.read(&mut [0; 50]).await.unwrap(), 0);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 80);
}

#[tokio::test(start_paused = true)]
async fn both_directions_of_a_socket_have_limits_of_their_own() {
    let (down, up) = (bucket(), bucket());
    let (near, mut far) = duplex(4_096);
    let inner = RateLimitedWriter::new(near, &up).timer(TokioTimer);
    let mut socket = RateLimitedReader::new(inner, &down).timer(TokioTimer);
    let began = Instant::now();
    socket.write_all(&[1; 300]).await.unwrap();
    socket.shutdown().await.unwrap();
    assert_eq!(began.elapsed(), millis(200));
    let mut read = Vec::new();
    far.read_to_end(&mut read).await.unwrap();
    assert_eq!(read.len(), 300);
    far.write_all(&[2; 350]).await.unwrap();
    drop(far);
    let (mut read, began) = (Vec::new(), Instant::now());
    socket.read_to_end(&mut read).await.unwrap();
    assert_eq!((read.len(), began.elapsed()), (350, millis(250)));
}

/// Fails at first, and then takes all.
#[derive(Debug, Default)]
struct Unsteady(u32);

impl Unsteady {
    fn fails(&mut self) -> io::Result<()> {
        self.0 += 1;
        if self.0 == 1 { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Unsteady {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.fails()?;
        into.put_slice(&[7; 4]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Unsteady {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.fails()?;
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_inner_end_keeps_the_accounts() {
    let limiter = bucket();
    let mut reader = pin!(RateLimitedReader::new(Unsteady::default(), &limiter).timer(TokioTimer));
    reader.read(&mut [0; 10]).await.unwrap_err();
    assert_eq!(limiter.peek(0).unwrap().remaining(), 100);
    assert_eq!(reader.read(&mut [0; 10]).await.unwrap(), 4);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 96);

    let mut writer = pin!(RateLimitedWriter::new(Unsteady::default(), &limiter).timer(TokioTimer));
    writer.write(&[7; 10]).await.unwrap_err();
    assert_eq!((writer.paid(), limiter.peek(0).unwrap().remaining()), (10, 86));
    assert_eq!(writer.write(&[7; 10]).await.unwrap(), 10);
    assert_eq!((writer.paid(), limiter.peek(0).unwrap().remaining()), (0, 86));
}

/// Reads into space of which nothing is initialized. Returns how much is afterwards.
async fn initialized_by_a_read(reader: impl AsyncRead) -> (Vec<u8>, usize) {
    let mut reader = pin!(reader);
    let mut space = [MaybeUninit::uninit(); 1_000];
    let mut into = ReadBuf::uninit(&mut space);
    poll_fn(|context| reader.as_mut().poll_read(context, &mut into)).await.unwrap();
    (into.filled().to_vec(), into.initialized().len())
}

#[tokio::test(start_paused = true)]
async fn a_read_touches_no_more_space_than_it_fills() {
    let limiter = bucket();
    let reader = RateLimitedReader::new(&[7; 5][..], &limiter).timer(TokioTimer);
    assert_eq!(initialized_by_a_read(reader).await, (vec![7; 5], 5));
}
