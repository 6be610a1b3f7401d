//! A clock that a background thread updates.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;

use super::Clock;
use super::quanta::QuantaClock;

/// A clock that reads the time last stored by a background thread: one load, up to one step old.
///
/// All coarse clocks of a process share one thread. Its step is that of the first clock; the steps
/// of later clocks are ignored. The thread ends with the last clock.
///
/// A limiter's bound holds in the time that its clock shows. In true time, the limiter may grant up
/// to one step late; and right after a step it may grant, on top of what that instant allows, what
/// the step has earned (up to the burst): in any true span of `t`, at most
/// `burst + rate * (t + step)`.
///
/// The thread reads the same time as [`QuantaClock`]. (It is not quanta's own upkeep thread: its
/// readings have to be unpacked on every call, which costs as much again as the load.)
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::clock::CoarseClock;
///
/// let clock = CoarseClock::start(Duration::from_millis(1))?;
/// let bucket = TokenBucket::with_clock(quota!(1_000 / second), clock);
/// assert!(bucket.try_acquire(1).is_ok());
/// # Ok::<(), sluicegate::clock::ClockError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CoarseClock {
    noted: Arc<CachePadded<AtomicWord<u64>>>,
}

/// The word that the thread updates, as long as any clock needs it.
static NOTED: Mutex<Weak<CachePadded<AtomicWord<u64>>>> = Mutex::new(Weak::new());

impl CoarseClock {
    /// Returns a clock that is updated every `step`. Starts the thread if none runs yet; steps
    /// below a microsecond are a microsecond.
    ///
    /// # Errors
    ///
    /// [`ClockError`] if the thread cannot be started.
    pub fn start(step: Duration) -> Result<CoarseClock, ClockError> {
        // The lock guards one pointer, which no panic can leave half written.
        let mut running = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(noted) = running.upgrade() {
            return Ok(CoarseClock { noted });
        }
        let clock = QuantaClock::new();
        let noted = Arc::new(CachePadded::new(AtomicWord::new(clock.now_nanos())));
        let theirs = Arc::downgrade(&noted);
        thread::Builder::new()
            .name("sluicegate-clock".into())
            .spawn(move || keep_up(&theirs, &clock, step.max(Duration::from_micros(1))))
            .map_err(ClockError)?;
        *running = Arc::downgrade(&noted);
        Ok(CoarseClock { noted })
    }
}

/// Stores the time every `step` until no clock is left to read it.
fn keep_up(noted: &Weak<CachePadded<AtomicWord<u64>>>, clock: &QuantaClock, step: Duration) {
    while let Some(noted) = noted.upgrade() {
        // ORDERING: Relaxed. A reading is a number and publishes nothing.
        // MODEL: `the_clock_may_move_at_any_time`, with a manual clock.
        noted.store(clock.now_nanos(), Relaxed);
        drop(noted);
        thread::sleep(step);
    }
}

impl Clock for CoarseClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        // ORDERING: Relaxed, as above: a limiter's bound holds for any reading.
        // MODEL: `the_clock_may_move_at_any_time`, with a manual clock.
        self.noted.load(Relaxed)
    }
}

/// The error of starting the thread of a [`CoarseClock`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::clock::{ClockError, CoarseClock};
///
/// fn limiter() -> Result<TokenBucket<CoarseClock>, ClockError> {
///     let clock = CoarseClock::start(Duration::from_millis(1))?;
///     Ok(TokenBucket::with_clock(quota!(1_000 / second), clock))
/// }
/// # limiter().unwrap();
/// ```
#[derive(Debug)]
pub struct ClockError(std::io::Error);

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the coarse clock's thread could not be started: {}", self.0)
    }
}

impl std::error::Error for ClockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_thread_lets_go_of_its_word_while_it_sleeps_so_the_next_clock_has_its_own_step() {
        let clock = CoarseClock { noted: Arc::new(CachePadded::new(AtomicWord::new(0))) };
        let noted = Arc::downgrade(&clock.noted);
        let theirs = Weak::clone(&noted);
        thread::spawn(move || keep_up(&theirs, &QuantaClock::new(), Duration::from_secs(3_600)));
        while clock.now_nanos() == 0 {
            thread::yield_now();
        }
        drop(clock);
        // Long before the hour is over.
        let is_gone = (0..20_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            noted.strong_count() == 0
        });
        assert!(is_gone, "it would be used by the next clock");
    }

    #[test]
    fn all_coarse_clocks_read_what_one_thread_notes() {
        let start =
            || CoarseClock::start(Duration::from_millis(1)).expect("a thread can be started");
        let (one, other) = (start(), start());
        assert!(Arc::ptr_eq(&one.noted, &other.noted));
        drop((one, other));
        // Also if two threads start the first of them at once.
        for _ in 0..100 {
            let together = Barrier::new(2);
            let start = || {
                together.wait();
                start()
            };
            let (one, other) = thread::scope(|scope| {
                let other = scope.spawn(start);
                (start(), other.join().expect("it starts a clock"))
            });
            assert!(one.now_nanos() > 0, "it shows the time from the start on");
            assert!(Arc::ptr_eq(&one.noted, &other.noted));
        }
    }
}
