//! The problem: copies in the background must leave room on the line. They share a `TokenBucket`
//! whose permits are bytes, and each reads through a `RateLimitedReader`, which waits in the bucket's
//! line for the permits of what it has read. (A rate can be up to 2^31 bytes a second; beyond that,
//! let a permit stand for a kilobyte.)

use std::io::{self, Read, Write};
use std::thread;
use std::time::Instant;

use sluicegate::{TokenBucket, quota};
use sluicegate_flow::rate_limited::RateLimitedReader;

/// Copies everything, no faster than the limiter allows. Returns the number of bytes.
fn copy(limiter: &TokenBucket, from: impl Read, mut to: impl Write) -> io::Result<u64> {
    io::copy(&mut RateLimitedReader::new(from, limiter), &mut to)
}

fn main() -> io::Result<()> {
    const FILE: &[u8] = &[7; 100_000];
    let limiter = TokenBucket::new(quota!(1_000_000 / second, burst 25_000));
    let (mut first, mut second) = (Vec::new(), Vec::new());

    let start = Instant::now();
    let copied = thread::scope(|scope| {
        let one = scope.spawn(|| copy(&limiter, FILE, &mut first));
        let two = copy(&limiter, FILE, &mut second)?;
        Ok::<_, io::Error>([one.join().expect("a copy does not panic")?, two])
    })?;
    let took = start.elapsed();

    assert!(first == FILE && second == FILE && copied == [FILE.len() as u64; 2]);
    println!("two copies of {} bytes", FILE.len());
    println!("25,000 bytes at once and 175,000 at a million a second: 175 ms or a little more");
    println!("took {} ms", took.as_millis());
    Ok(())
}
