//! An answer that its caller has not got yet.

use core::time::Duration;

use crate::wait::order::Outcome;
use crate::wait::turn::TakesTurns;

use super::{LineAnswer, Locked, take_back};

/// An answer on its way to its caller. Made before the line is locked, so that wakers, which are a
/// user's code, run while it is kept: if one panics, a grant is taken back.
pub(super) struct Untold<'a> {
    limiter: &'a dyn TakesTurns,
    standing: Option<LineAnswer>,
}

impl<'a> Untold<'a> {
    pub(super) fn new(limiter: &'a dyn TakesTurns) -> Untold<'a> {
        Untold { limiter, standing: None }
    }

    /// Unlocks the line, and lets go of the answer.
    pub(super) fn told(&mut self, line: Locked<'_>, standing: LineAnswer) -> LineAnswer {
        self.standing = Some(standing);
        drop(line);
        self.standing.take().unwrap_or(LineAnswer::Waiting { wait: Duration::ZERO })
    }
}

impl Drop for Untold<'_> {
    fn drop(&mut self) {
        if let Some(LineAnswer::Told(Outcome::Granted { grant, charged, .. })) = self.standing {
            take_back(self.limiter, grant, charged);
        }
    }
}
