//! Clocks, timers and inner ends that the test moves by hand.

use std::collections::VecDeque;
use std::future::{Pending, pending};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use sluicegate::wait::Timer;
use sluicegate::{ManualClock, TokenBucket};

pub(crate) const MILLI: Duration = Duration::from_millis(1);

pub(crate) type Bucket<'a> = TokenBucket<&'a ManualClock>;

/// A timer that never wakes anybody.
#[derive(Clone, Copy)]
pub(crate) struct NoTimer;

impl Timer for NoTimer {
    type Sleep = Pending<()>;

    fn sleep(&self, _: Duration) -> Pending<()> {
        pending()
    }
}

pub(crate) fn left(bucket: &Bucket<'_>) -> u64 {
    bucket.peek(0).unwrap().remaining()
}

/// A reader and writer that does what the test has listed, and then nothing more.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    /// Results of the reads or writes to come: how many bytes, or an error.
    pub(crate) results: VecDeque<io::Result<usize>>,
    pub(crate) written: Vec<u8>,
    pub(crate) flushed: u32,
}

impl Scripted {
    pub(crate) fn new(results: impl IntoIterator<Item = io::Result<usize>>) -> Scripted {
        Scripted { results: results.into_iter().collect(), ..Scripted::default() }
    }
}

impl Read for Scripted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.results.pop_front().unwrap_or(Ok(0))?;
        let filled = count.min(into.len());
        into[..filled].fill(7);
        Ok(count)
    }
}

impl Write for Scripted {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let count = self.results.pop_front().unwrap_or(Ok(0))?;
        self.written.extend(&from[..count.min(from.len())]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed += 1;
        Ok(())
    }
}

/// Ends the time even if the work panics.
struct Over(Arc<AtomicBool>);
impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs `work`, while another thread lets the time of `clock` pass in steps of `step`.
pub(crate) fn while_time_passes<R>(
    clock: &ManualClock,
    step: Duration,
    work: impl FnOnce() -> R,
) -> R {
    let is_over = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let over = Over(Arc::clone(&is_over));
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                clock.advance(step);
                thread::yield_now();
            }
        });
        let result = work();
        drop(over);
        result
    })
}
