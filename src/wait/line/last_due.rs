//! The last turn of a part of the line, and whether it comes in time.

use core::iter::once;
use core::time::Duration;

use crate::wait::end::End;
use crate::wait::error::AcquireError;
use crate::wait::place::{Key, Place};
use crate::wait::queue::LineState;
use crate::wait::turn::{TakesTurns, Turn};
use crate::wait::waiters::Waiters;

use super::Locked;

/// A part of the line, from its front.
#[derive(Clone, Copy)]
pub(super) enum Upto {
    /// Up to a caller in line.
    Place(Key),
    /// All but the `left` oldest callers, and one behind them that wants `permits`.
    After { left: usize, permits: u64 },
}

impl Locked<'_> {
    /// Returns whether a turn comes after the deadline of its caller.
    pub(super) fn is_missed(
        &self,
        turn: Turn,
        due_nanos: u64,
        deadline_nanos: Option<u64>,
    ) -> bool {
        deadline_nanos.is_some_and(|deadline| self.limiter.is_missed(turn, due_nanos, deadline))
    }

    /// Forgets the turn of the last in line if the limiter's word has changed since it was foreseen: not all
    /// that takes permits locks the line.
    pub(super) fn check_end(&mut self) {
        let word = self.limiter.word();
        let line = self.line();
        if line.seen != word {
            (line.seen, line.end) = (word, None);
        }
    }

    /// Returns the last turn of those `upto` a place, which is that of all their permits, and the
    /// instant of it.
    pub(super) fn last_due(&mut self, upto: Upto, now_nanos: u64) -> (Turn, u64) {
        let limiter = self.limiter;
        let line = self.line();
        let waiters = &line.waiters;
        let since_nanos = waiters.since(now_nanos);
        let turn = |permits| Turn {
            permits,
            since_nanos,
            now_nanos,
            has_others: false,
            may_heal: false,
            told_nanos: None,
        };
        match upto {
            Upto::Place(place) => {
                let turn = turn(waiters.permits_up_to(place));
                let newest = Place { permits: waiters.permits_of(place), told_nanos: None };
                let known = line.end_ahead_of(place).map(|(_, end)| {
                    limiter.last_due_among_reservations(turn, Some(end), &mut once(newest))
                });
                let due = known.filter(|_| limiter.word() == line.seen).unwrap_or_else(|| {
                    last_due(limiter, waiters, turn, &mut waiters.places_up_to(place))
                });
                if waiters.last() == Some(place) {
                    self.line().end = due.word.map(|_| (place, due));
                }
                (turn, due.due_nanos)
            }
            Upto::After { left, permits } => {
                let turn = turn(waiters.permits_behind(left).saturating_add(permits));
                let newest = Place { permits, told_nanos: None };
                let end = line.end.filter(|&(last, _)| left == 0 && waiters.last() == Some(last));
                let known = end.map(|(_, end)| {
                    limiter.last_due_among_reservations(turn, Some(end), &mut once(newest))
                });
                let due = known.filter(|_| limiter.word() == line.seen).unwrap_or_else(|| {
                    let mut places = waiters.places_behind(left).chain(once(newest));
                    last_due(limiter, waiters, turn, &mut places)
                });
                (turn, due.due_nanos)
            }
        }
    }

    /// Returns what a reservation of `permits` is told, if the `left` oldest callers leave.
    ///
    /// # Errors
    ///
    /// The reason for which it cannot be made.
    pub(super) fn quote(
        &mut self,
        permits: u64,
        left: usize,
        now_nanos: u64,
        longest_nanos: u64,
    ) -> Result<End, AcquireError> {
        let limiter = self.limiter;
        self.check_end();
        let LineState { end, seen, ref waiters, .. } = *self.line();
        let since_nanos = waiters.since(now_nanos);
        let permits_of_all = waiters.permits_behind(left).saturating_add(permits);
        let turn = Turn {
            permits: permits_of_all,
            since_nanos,
            now_nanos,
            has_others: false,
            may_heal: false,
            told_nanos: None,
        };
        let newest = Place { permits, told_nanos: None };
        let end = end.filter(|&(last, _)| left == 0 && waiters.last() == Some(last));
        let known = end.map(|(_, end)| limiter.book(turn, Some(end), &mut once(newest)));
        // A change since then may have set other terms.
        let quoted = known.filter(|_| limiter.word() == seen).unwrap_or_else(|| {
            let mut places = waiters.places_behind(left).chain(once(newest));
            limiter.book(turn, None, &mut places)
        });
        let retry = |nanos| match nanos {
            u64::MAX => Duration::MAX,
            nanos => Duration::from_nanos(nanos),
        };
        let end = quoted.map_err(|nanos| AcquireError::LineFull { retry_after: retry(nanos) })?;
        let wait_nanos = end.due_nanos.saturating_sub(now_nanos);
        if wait_nanos > longest_nanos {
            return Err(AcquireError::TimedOut { retry_after: retry(wait_nanos) });
        }
        Ok(end)
    }
}

/// Returns the last turn of `places`, which are of the line of `limiter`.
fn last_due(
    limiter: &dyn TakesTurns,
    waiters: &Waiters,
    turn: Turn,
    places: &mut dyn Iterator<Item = Place>,
) -> End {
    if waiters.has_reserved() {
        limiter.last_due_among_reservations(turn, None, places)
    } else {
        limiter.last_due(turn, None, &mut places.map(|place| place.permits))
    }
}
