//! Guards that tell how a call has ended.

use std::fmt;

use sluicegate::Clock;

use crate::concurrency::algorithm::LimitAlgorithm;
use crate::concurrency::in_flight::Home;

use super::Adaptive;

/// The end of a call, for an [`Adaptive`] limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The call did what it was to do, and its time says how long that takes.
    Success,
    /// The call says nothing: it failed at once for a reason of its own, or was given up by the
    /// caller.
    Ignored,
    /// The call was refused or timed out, because there is too much in flight.
    Dropped,
}

/// Permits of an [`Adaptive`] limit that are in flight until this is ended or dropped.
///
/// A guard that is dropped without an [`end`](TimedInFlight::end) is [`Outcome::Ignored`]: a panic,
/// or a task that is cancelled, does not say how long a whole call takes. Either way the permits
/// come back at once, and before the algorithm is run. Permits of a guard that is forgotten
/// (`std::mem::forget`) never come back.
///
/// # Examples
///
/// ```
/// use sluicegate_flow::concurrency::{Adaptive, ConcurrencyDenied, Outcome, Vegas};
///
/// # fn call() -> Result<(), std::io::Error> { Ok(()) }
/// fn limited(adaptive: &Adaptive<Vegas>) -> Result<(), Box<dyn std::error::Error>> {
///     let guard = adaptive.try_acquire(1)?;
///     let result = call();
///     guard.end(match &result {
///         Ok(()) => Outcome::Success,
///         Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Outcome::Dropped,
///         Err(_) => Outcome::Ignored,
///     });
///     Ok(result?)
/// }
///
/// let adaptive = Adaptive::new(Vegas::new());
/// limited(&adaptive)?;
/// assert_eq!(adaptive.in_flight(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Listener")]
#[must_use = "dropped at once, it limits nothing"]
pub struct TimedInFlight<'a, A: LimitAlgorithm, C: Clock> {
    home: Home<'a, Adaptive<A, C>>,
    permits: u64,
    /// The permits in flight right after the admission.
    in_flight: u64,
    began_nanos: u64,
    outcome: Outcome,
}

impl<'a, A: LimitAlgorithm, C: Clock> TimedInFlight<'a, A, C> {
    /// Creates the guard of `permits` that have been admitted, as from now.
    #[inline]
    pub(super) fn begin(
        home: Home<'a, Adaptive<A, C>>,
        permits: u64,
        in_flight: u64,
    ) -> TimedInFlight<'a, A, C> {
        // Before the clock is read: if that panics, the permits go back.
        let mut guard =
            TimedInFlight { home, permits, in_flight, began_nanos: 0, outcome: Outcome::Ignored };
        guard.began_nanos = guard.home.clock.now_nanos();
        guard
    }

    /// Returns the number of permits in this guard.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Ends the call: gives the permits back and, unless the outcome is
    /// [`Ignored`](Outcome::Ignored), lets the algorithm know.
    ///
    /// Never blocks or allocates, unless callers wait in line: see [`InFlight`](crate::concurrency::InFlight). Reads
    /// the clock once, unless ignored. If a waker panics, the algorithm does not learn of this call.
    pub fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl<A: LimitAlgorithm, C: Clock> Drop for TimedInFlight<'_, A, C> {
    #[inline]
    fn drop(&mut self) {
        self.home.limit.end(self.permits);
        if self.permits > 0 && self.outcome != Outcome::Ignored {
            self.home.observe(self.began_nanos, self.in_flight, self.outcome == Outcome::Dropped);
        }
    }
}

impl<A: LimitAlgorithm, C: Clock> fmt::Debug for TimedInFlight<'_, A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimedInFlight").field("permits", &self.permits).finish_non_exhaustive()
    }
}
