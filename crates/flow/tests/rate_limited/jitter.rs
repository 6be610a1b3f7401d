//! Jitter of bytes that are moved.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use sluicegate::wait::Jitter;
use sluicegate::{TokenBucket, quota};
use sluicegate_flow::rate_limited::{RateLimitedReader, RateLimitedWriter};

const LONG: Duration = Duration::from_millis(30);

fn long() -> Jitter {
    Jitter::between(LONG, LONG)
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
