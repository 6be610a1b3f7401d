//! Jitter of callers that wait for a key, and of bytes that are moved.

use std::future::Future;
use std::io::{Read, Write};
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use sluicegate::rate_limited::{RateLimitedReader, RateLimitedWriter};
use sluicegate::wait::Jitter;
use sluicegate::{TokenBucket, quota};

use super::support::MILLI;

const LONG: Duration = Duration::from_millis(30);

fn long() -> Jitter {
    Jitter::between(LONG, LONG)
}

#[test]
fn jitter_of_a_key_delays_the_answer_and_not_the_grant() {
    use sluicegate::keyed::{Buckets, QueuedKeys};
    use sluicegate::{Keyed, KeyedLimiter, ManualClock};

    let clock = ManualClock::new();
    let buckets = Buckets::with_clock(quota!(1_000 / second, burst 10), &clock);
    let keys = QueuedKeys::<_, u64, _>::with_clock(Keyed::<u64, _>::with(buckets), &clock);
    let mut context = Context::from_waker(Waker::noop());
    let mut at_once = pin!(keys.acquire(&7, 10).jitter(long()));
    assert!(at_once.as_mut().poll(&mut context).is_ready(), "it did not have to wait");
    let mut waits = pin!(keys.acquire(&7, 4).jitter(long()));
    assert!(waits.as_mut().poll(&mut context).is_pending());
    clock.advance(5 * MILLI);
    assert!(waits.as_mut().poll(&mut context).is_pending());
    // Granted: what has come since is for others.
    assert!(keys.try_acquire(&7, 1).is_ok() && keys.try_acquire(&7, 1).is_err());
    clock.advance(LONG);
    assert!(waits.as_mut().poll(&mut context).is_ready());
    assert_eq!(keys.lines(), 0);
}

#[test]
fn what_is_read_or_written_after_a_wait_is_delayed() {
    let bucket = TokenBucket::new(quota!(1_000 / second, burst 1));
    let began = Instant::now();
    let mut read = Vec::new();
    let reader = RateLimitedReader::new(&b"three"[..3], &bucket).chunk(1).jitter(long());
    reader.take(3).read_to_end(&mut read).unwrap();
    assert!(read == b"thr" && began.elapsed() >= LONG);

    let began = Instant::now();
    let mut writer = RateLimitedWriter::new(Vec::new(), &bucket).chunk(1).jitter(long());
    writer.write_all(b"one two three four").unwrap();
    assert!(began.elapsed() >= LONG);
}
