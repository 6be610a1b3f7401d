//! Waiting for a limiter with counts: each caller is counted once, when it is told its answer.

use core::time::Duration;

use crate::wait::error::AcquireError;
use crate::wait::line_handle::Line;
use crate::wait::reservation::Reservation;
use crate::wait::traits::{Reserve, Wait};
use crate::wait::way_to_line::{Answered, CountsAnswers};

use super::Counted;

/// The limiter's line. A caller is counted once, by the answer that it is told, also if it had to wait:
/// as granted, or, whatever the refusal, as denied.
///
/// One that is dropped before it is told anything is not counted.
impl<L: Wait> Wait for Counted<L> {
    fn line(&self) -> Line<'_> {
        self.limiter.line().counted_by(self)
    }
}

/// A reservation is counted as a grant when it is made, and stays counted if it is cancelled.
impl<L: Reserve> Reserve for Counted<L> {
    fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Reservation<'_>, AcquireError> {
        let answer = self.limiter.reserve_within(permits, longest);
        match &answer {
            Ok(reservation) => self.answers.count_grant(reservation.permits()),
            Err(error) => self.answers.count_unacquired(permits, error),
        }
        answer
    }
}

impl<L: Wait> CountsAnswers for Counted<L> {
    fn count_answer(&self, answered: Answered<'_>) {
        let Answered { permits, answer, waited } = answered;
        self.answers.count_acquired(permits, answer, waited);
        // There may be another one inside.
        self.limiter.line().count_answer(answered);
    }
}
