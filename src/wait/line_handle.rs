//! The line of a limiter, as callers ask about it, bound it and close it.

use core::fmt;

use crate::wait::limits::LineLimits;
use crate::wait::line;
use crate::wait::line::longest_wait;
use crate::wait::turn::TakesTurns;
use crate::wait::way_to_line::CountsAnswers;
use crate::wait::way_to_line::{Answered, CountedLine};

/// The line of callers that wait for a limiter.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::wait::AcquireError;
///
/// let bucket = TokenBucket::new(quota!(1 / hour));
/// let line = bucket.line();
/// assert_eq!((line.waiters(), line.permits()), (0, 0));
///
/// // Before the program ends: callers in line are refused, and permits that are there can be taken.
/// line.close();
/// assert!(bucket.acquire_blocking(1).is_ok());
/// assert_eq!(bucket.acquire_blocking(1), Err(AcquireError::Closed));
/// ```
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub(super) line: CountedLine<'a>,
}

impl<'a> Line<'a> {
    pub(crate) fn of(limiter: &'a (dyn TakesTurns + Sync)) -> Line<'a> {
        Line { line: CountedLine { limiter, counts: None } }
    }

    /// Makes `counts` count the answers to callers that ask through this.
    pub(crate) fn counted_by(self, counts: &'a dyn CountsAnswers) -> Line<'a> {
        Line { line: CountedLine { counts: Some(counts), ..self.line } }
    }

    pub(crate) fn limiter(self) -> &'a (dyn TakesTurns + Sync) {
        self.line.limiter
    }

    /// Counts an answer, if anybody counts.
    pub(crate) fn count_answer(self, answered: Answered<'_>) {
        self.line.note(answered);
    }

    pub(crate) fn is_counted(self) -> bool {
        self.line.counts.is_some()
    }
}

impl Line<'_> {
    /// Returns the number of callers in line, and reservations. Takes the line's lock.
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.limiter().line_lock().waiters()
    }

    /// Returns the permits that the line waits for. Lock-free; may be out of date.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.limiter().line_lock().permits()
    }

    /// Bounds the line. Callers that already stand in it stay, unless they would wait longer than
    /// the new [longest wait](LineLimits::max_wait).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{TokenBucket, Wait, quota};
    /// use sluicegate::wait::{AcquireError, LineLimits};
    ///
    /// let bucket = TokenBucket::new(quota!(1 / minute));
    /// bucket.line().set_limits(LineLimits::new().max_waiters(0));
    /// bucket.acquire_blocking(1)?;
    /// assert!(matches!(bucket.acquire_blocking(1), Err(AcquireError::LineFull { .. })));
    /// # Ok::<(), AcquireError>(())
    /// ```
    pub fn set_limits(&self, limits: LineLimits) {
        self.limiter().line_lock().set_limits(limits);
        longest_wait::keep_longest_wait(self.limiter());
    }

    /// Closes the line for good: refuses all that stand in it, and all that would from now on, with
    /// [`AcquireError::Closed`](crate::wait::AcquireError::Closed). Permits that are there can still be taken, and reservations keep
    /// their instants.
    pub fn close(&self) {
        line::close(self.limiter());
    }

    /// Returns whether the line was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.limiter().line_lock().is_closed()
    }
}

impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("permits", &self.permits()).finish_non_exhaustive()
    }
}
