//! The ways by which a caller reaches its line: a reference to the limiter, or a handle that is kept; with
//! what counts the answers, if anything does.

use alloc::sync::Arc;
use core::time::Duration;

use crate::decision::grant::Grant;

use super::charged::Charged;
use super::error::AcquireError;
use super::turn::TakesTurns;

/// A way to a limiter that callers can stand in line for: a reference to it, or a handle that the
/// caller keeps.
pub(crate) trait HasLine {
    /// A mark by which a line is known again: nothing, where it is always the same one.
    type Home: Copy + Default + PartialEq;

    /// Returns the mark of the line of `limiter`.
    fn home(&self, limiter: &dyn TakesTurns) -> Self::Home;

    fn limiter(&self) -> &(dyn TakesTurns + Sync);

    /// Takes over the charge of a grant in line, of which the caller is told now.
    fn granted(&self, charged: Charged) {
        self.limiter().release(charged);
    }

    /// Returns true if somebody counts answers, who wants to know the waits.
    fn is_counted(&self) -> bool {
        false
    }

    /// Notes the answer that a caller is told.
    fn note(&self, _answered: Answered<'_>) {}
}

/// A limiter with a line, and what counts the answers to those that ask through this.
#[derive(Clone, Copy)]
pub(crate) struct CountedLine<'a> {
    pub(crate) limiter: &'a (dyn TakesTurns + Sync),
    pub(crate) counts: Option<&'a dyn CountsAnswers>,
}

/// A limiter that keeps a line, and may be kept alive for it.
pub(crate) trait KeepsLine: Send + Sync {
    fn counted_line(&self) -> CountedLine<'_>;
}

/// The way of a caller that only waits.
pub(crate) enum WayToLine<'a> {
    Borrowed(CountedLine<'a>),
    /// It is kept alive.
    Owned(Arc<dyn KeepsLine>),
}

impl WayToLine<'_> {
    fn line(&self) -> CountedLine<'_> {
        match self {
            WayToLine::Borrowed(line) => *line,
            WayToLine::Owned(limiter) => limiter.counted_line(),
        }
    }
}

impl HasLine for WayToLine<'_> {
    type Home = usize;

    fn home(&self, limiter: &dyn TakesTurns) -> usize {
        match self {
            WayToLine::Borrowed(_) => limiter.mark(),
            // The limiter is found by a user's code, which may find another one.
            WayToLine::Owned(_) => limiter.line_lock().address(),
        }
    }

    fn limiter(&self) -> &(dyn TakesTurns + Sync) {
        self.line().limiter
    }

    fn is_counted(&self) -> bool {
        self.line().counts.is_some()
    }

    fn note(&self, answered: Answered<'_>) {
        self.line().note(answered);
    }
}

impl CountedLine<'_> {
    /// Counts an answer, if anybody counts.
    pub(crate) fn note(self, answered: Answered<'_>) {
        if let Some(counts) = self.counts {
            counts.count_answer(answered);
        }
    }
}

/// The answer to a caller that might have to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered<'a> {
    pub(crate) permits: u64,
    pub(crate) answer: &'a Result<Grant, AcquireError>,
    /// The time for which it has waited, if it has, and if somebody counts.
    pub(crate) waited: Option<Duration>,
}

/// Counts of what callers that may wait are told.
pub(crate) trait CountsAnswers: Sync {
    fn count_answer(&self, answered: Answered<'_>);
}
