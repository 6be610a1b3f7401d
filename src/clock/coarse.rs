//! A word that a thread keeps up to date.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::Clock;

/// The one upkeep thread of the process, while any clock needs it.
static UPKEEP: Mutex<Weak<quanta::Handle>> = Mutex::new(Weak::new());

/// The time as a background thread last noted it: one load, up to one step old.
///
/// All coarse clocks of a process share one thread, at the step that the first
/// of them asked for. The thread ends with the last of them. A clock that is
/// behind denies up to one step late and never admits too much.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{CoarseClock, TokenBucket, quota};
///
/// let clock = CoarseClock::start(Duration::from_millis(1))?;
/// let bucket = TokenBucket::with_clock(quota!(1_000 / second), clock);
/// assert!(bucket.try_acquire(1).is_ok());
/// # Ok::<(), sluicegate::ClockError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CoarseClock {
    clock: quanta::Clock,
    origin: quanta::Instant,
    // `None` while a thread that something else in the process started is used.
    _upkeep: Option<Arc<quanta::Handle>>,
}

impl CoarseClock {
    /// A clock that is noted every `step`. Starts the thread if none runs yet.
    ///
    /// If some other part of the process runs quanta's upkeep itself, its thread
    /// and its step are used, for as long as it keeps them.
    ///
    /// # Errors
    ///
    /// [`ClockError`] if the thread cannot be started.
    pub fn start(step: Duration) -> Result<CoarseClock, ClockError> {
        let mut running = UPKEEP.lock().unwrap_or_else(PoisonError::into_inner);
        let clock = quanta::Clock::new();
        let upkeep = match running.upgrade() {
            Some(upkeep) => Some(upkeep),
            None => match quanta::Upkeep::new_with_clock(step, clock.clone()).start() {
                Ok(handle) => Some(Arc::new(handle)),
                Err(quanta::Error::UpkeepRunning) => None,
                Err(quanta::Error::FailedToSpawnUpkeepThread(error)) => {
                    return Err(ClockError(error));
                }
            },
        };
        *running = upkeep.as_ref().map_or_else(Weak::new, Arc::downgrade);
        let origin = clock.recent();
        Ok(CoarseClock { clock, origin, _upkeep: upkeep })
    }
}

impl Clock for CoarseClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        crate::time::nanos(self.clock.recent().saturating_duration_since(self.origin))
    }
}

/// The thread of a [`CoarseClock`] could not be started.
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
