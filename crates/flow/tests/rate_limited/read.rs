//! Readers on threads.

use std::io::{self, ErrorKind, Read, Write};

use sluicegate::wait::{AcquireError, LineLimits};
use sluicegate::{ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::{RateLimitedReader, RateLimitedWriter};

use super::support::{MILLI, Scripted, left, while_time_passes};

fn refusal(error: &io::Error) -> AcquireError {
    assert_eq!(error.kind(), ErrorKind::Other);
    *error.get_ref().unwrap().downcast_ref().unwrap()
}

#[test]
fn a_read_takes_permits_for_the_bytes_that_it_returns_and_for_no_others() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    let inner = Scripted::new([
        Ok(3),
        Err(ErrorKind::Interrupted.into()),
        Ok(20),
        Err(ErrorKind::ConnectionReset.into()),
        Ok(0),
    ]);
    let mut reader = RateLimitedReader::new(inner, &bucket);
    let mut into = [0; 50];
    assert_eq!(reader.read(&mut into).unwrap(), 3);
    assert_eq!((left(&bucket), &into[..4]), (97, &[7, 7, 7, 0][..]));
    assert_eq!(reader.read(&mut into).unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(reader.read(&mut into).unwrap(), 20);
    assert_eq!(left(&bucket), 77);
    assert_eq!(reader.read(&mut into).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(reader.read(&mut into).unwrap(), 0);
    assert_eq!(reader.read(&mut []).unwrap(), 0);
    assert_eq!(left(&bucket), 77);
}

#[test]
fn a_transfer_larger_than_the_burst_is_read_whole() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000_000 / second, burst 7), &clock);
    let body: Vec<u8> =
        (0..if cfg!(miri) { 100 } else { 1_000_u32 }).map(|byte| byte as u8).collect();
    let mut read = Vec::new();
    while_time_passes(&clock, MILLI / 100, || {
        RateLimitedReader::new(&body[..], &bucket).read_to_end(&mut read).unwrap();
    });
    assert_eq!(read, body);
}

#[test]
fn a_chunk_bounds_what_is_read_ahead() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    for (chunk, read) in [(0, 1), (1, 1), (30, 30), (1_000, 70)] {
        bucket.reset();
        let mut reader = RateLimitedReader::new(&[7; 1_000][..], &bucket).chunk(chunk);
        assert_eq!(reader.read(&mut [0; 70]).unwrap(), read);
        assert_eq!(left(&bucket), 100 - read as u64);
        assert_eq!(reader.get_ref().len(), 1_000 - read);
    }
}

#[test]
fn bytes_that_are_refused_their_permits_are_kept_for_the_next_read() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(0));
    let mut reader = RateLimitedReader::new(&b"a stream of bytes"[..], &bucket);
    let mut into = [0; 8];
    assert_eq!(reader.read(&mut into).unwrap(), 8);
    let error = reader.read(&mut into).unwrap_err();
    assert_eq!(refusal(&error), AcquireError::LineFull { retry_after: 6 * MILLI });
    assert_eq!((reader.buffer(), left(&bucket)), (&b" of byte"[..], 2));
    clock.advance(6 * MILLI);
    // In parts too: the rest is passed on without further permits.
    assert_eq!(reader.read(&mut into[..5]).unwrap(), 5);
    assert_eq!((&into[..5], left(&bucket)), (&b" of b"[..], 0));
    assert_eq!(reader.read(&mut into).unwrap(), 3);
    assert_eq!((&into[..3], reader.buffer(), left(&bucket)), (&b"yte"[..], &b""[..], 0));
    bucket.line().close();
    assert_eq!(refusal(&reader.read(&mut into).unwrap_err()), AcquireError::Closed);
}

#[test]
fn a_burst_that_becomes_smaller_than_what_was_read_is_no_obstacle() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(0));
    bucket.try_acquire(100).unwrap();
    let mut reader = RateLimitedReader::new(&[7; 100][..], &bucket);
    let mut into = [0; 100];
    reader.read(&mut into).unwrap_err();
    bucket.reconfigure(quota!(1_000 / second, burst 30), sluicegate::bucket::Carry::Reset);
    bucket.line().set_limits(LineLimits::new());
    while_time_passes(&clock, MILLI, || assert_eq!(reader.read(&mut into).unwrap(), 100));
}

#[test]
fn a_reader_that_misstates_what_it_has_read_costs_no_more_than_its_space() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    let mut reader = RateLimitedReader::new(Scripted::new([Ok(usize::MAX)]), &bucket);
    assert_eq!(reader.read(&mut [0; 10]).unwrap(), 10);
    assert_eq!(left(&bucket), 90);
}

#[test]
fn a_reader_and_a_writer_around_one_socket_limit_a_direction_each() {
    let clock = ManualClock::new();
    let down = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    let up = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    let inner = Scripted::new([Ok(5), Ok(9)]);
    let mut socket = RateLimitedReader::new(RateLimitedWriter::new(inner, &up), &down);
    assert_eq!(socket.read(&mut [0; 40]).unwrap(), 5);
    assert_eq!((left(&down), left(&up)), (95, 100));
    assert_eq!(socket.write(&[1; 40]).unwrap(), 9);
    assert_eq!((left(&down), left(&up)), (95, 60));
    socket.flush().unwrap();
    assert_eq!(socket.get_ref().paid(), 31);
    let inner = socket.into_inner().into_inner();
    assert_eq!((inner.written.len(), inner.flushed), (9, 1));
}
