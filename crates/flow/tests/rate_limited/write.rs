//! Writers on threads.

use std::io::{ErrorKind, Read, Write};

use sluicegate::bucket::Carry;
use sluicegate::wait::{AcquireError, LineLimits};
use sluicegate::{ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::RateLimitedWriter;

use super::support::{MILLI, Scripted, left, while_time_passes};

#[test]
fn a_write_takes_permits_for_a_chunk_and_keeps_those_that_it_did_not_need() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    let inner = Scripted::new([Ok(3), Err(ErrorKind::BrokenPipe.into()), Ok(2), Ok(5), Ok(4)]);
    let mut writer = RateLimitedWriter::new(inner, &bucket);
    assert_eq!(writer.write(&[7; 10]).unwrap(), 3);
    assert_eq!((left(&bucket), writer.paid()), (90, 7));
    assert_eq!(writer.write(&[7; 7]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(writer.write(&[7; 2]).unwrap(), 2);
    // A longer write goes as far as was paid for.
    assert_eq!(writer.write(&[7; 50]).unwrap(), 5);
    assert_eq!((left(&bucket), writer.paid()), (90, 0));
    assert_eq!(writer.write(&[7; 4]).unwrap(), 4);
    assert_eq!((left(&bucket), writer.paid(), writer.get_ref().written.len()), (86, 0, 14));
}

#[test]
fn a_flush_and_an_empty_write_cost_nothing() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), &clock);
    let mut writer = RateLimitedWriter::new(Scripted::new([Ok(1), Ok(0)]), &bucket);
    writer.write_all(&[7]).unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.write(&[]).unwrap(), 0);
    assert_eq!((writer.get_ref().flushed, left(&bucket)), (1, 0));
}

#[test]
fn a_transfer_larger_than_the_burst_is_written_whole() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000_000 / second, burst 7), &clock);
    let body: Vec<u8> =
        (0..if cfg!(miri) { 100 } else { 1_000_u32 }).map(|byte| byte as u8).collect();
    for chunk in [3, usize::MAX] {
        let mut writer = RateLimitedWriter::new(Vec::new(), &bucket).chunk(chunk);
        while_time_passes(&clock, MILLI / 100, || writer.write_all(&body).unwrap());
        assert_eq!((writer.paid(), writer.into_inner()), (0, body.clone()));
    }
}

#[test]
fn a_write_that_is_refused_has_written_nothing_and_asks_again() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(0));
    bucket.try_acquire(7).unwrap();
    let mut writer = RateLimitedWriter::new(Vec::new(), &bucket);
    let error = writer.write(&[7; 20]).unwrap_err();
    let refused: &AcquireError = error.get_ref().unwrap().downcast_ref().unwrap();
    assert_eq!(*refused, AcquireError::LineFull { retry_after: 7 * MILLI });
    assert_eq!((left(&bucket), writer.paid()), (3, 0));
    clock.advance(7 * MILLI);
    assert_eq!(writer.write(&[7; 4]).unwrap(), 4);
    assert_eq!((left(&bucket), writer.paid()), (0, 6));
}

#[test]
fn a_burst_that_becomes_smaller_than_a_chunk_is_no_obstacle() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(0));
    bucket.try_acquire(100).unwrap();
    let mut writer = RateLimitedWriter::new(Vec::new(), &bucket);
    writer.write(&[7; 100]).unwrap_err();
    bucket.reconfigure(quota!(1_000 / second, burst 30), Carry::Reset);
    bucket.line().set_limits(LineLimits::new());
    while_time_passes(&clock, MILLI, || assert_eq!(writer.write(&[7; 100]).unwrap(), 100));
}

#[test]
fn a_writer_that_misstates_what_it_has_written_has_nothing_paid_afterwards() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 100), &clock);
    let mut writer = RateLimitedWriter::new(Scripted::new([Ok(usize::MAX)]), &bucket);
    assert_eq!(writer.write(&[7; 10]).unwrap(), usize::MAX);
    assert_eq!((writer.paid(), left(&bucket)), (0, 90));
}

#[test]
fn reads_pass_through_without_a_limit() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), &clock);
    let mut writer = RateLimitedWriter::new(&[7; 500][..], &bucket);
    assert_eq!(writer.read(&mut [0; 400]).unwrap(), 400);
    assert_eq!(left(&bucket), 1);
}

#[test]
fn a_writer_whose_peer_is_slow_holds_back_a_chunk_and_leaves_the_rest_to_others() {
    const CHUNK: u64 = 16 << 10;
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000_000 / second, burst 10_000_000), &clock);
    let inner = Scripted::new([Ok(1_000), Err(ErrorKind::TimedOut.into())]);
    let mut writer = RateLimitedWriter::new(inner, &bucket);
    let error = writer.write_all(&vec![7; 10_000_000]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(left(&bucket), 10_000_000 - CHUNK);
    assert_eq!(writer.paid() as u64, CHUNK - 1_000);
}
