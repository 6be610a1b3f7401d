//! The problem: copies in the background must leave room on the line. They share a `TokenBucket`
//! whose permits are bytes: each copy reads a chunk of at most the burst, and sleeps until the
//! bucket has as many bytes. (A rate can be up to 2^31 bytes a second; beyond that, let a permit
//! stand for a kilobyte.)

use std::io::{self, Read, Write};
use std::thread;
use std::time::Instant;

use sluicegate::{TokenBucket, quota};

/// Copies everything, no faster than the limiter allows. Returns the number of chunks.
fn copy(limiter: &TokenBucket, mut from: impl Read, mut to: impl Write) -> io::Result<u64> {
    let mut buffer = vec![0; limiter.quota().burst() as usize];
    let mut chunks = 0;
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(chunks);
        }
        while let Err(denied) = limiter.try_acquire(length as u64) {
            // None if waiting will not help: for more than the burst.
            let wait = denied.retry_after().ok_or(io::ErrorKind::InvalidInput)?;
            thread::sleep(wait);
        }
        to.write_all(&buffer[..length])?;
        chunks += 1;
    }
}

fn main() -> io::Result<()> {
    const FILE: &[u8] = &[7; 100_000];
    let limiter = TokenBucket::new(quota!(1_000_000 / second, burst 25_000));
    let (mut first, mut second) = (Vec::new(), Vec::new());

    let start = Instant::now();
    let chunks = thread::scope(|scope| {
        let one = scope.spawn(|| copy(&limiter, FILE, &mut first));
        let two = copy(&limiter, FILE, &mut second)?;
        Ok::<_, io::Error>([one.join().expect("a copy does not panic")?, two])
    })?;
    let took = start.elapsed();

    assert!(first == FILE && second == FILE);
    println!("two copies of {} bytes, in {chunks:?} chunks", FILE.len());
    println!("25,000 bytes at once and 175,000 at a million a second: 175 ms or a little more");
    println!("took {} ms", took.as_millis());
    Ok(())
}
