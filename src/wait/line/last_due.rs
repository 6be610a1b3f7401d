//! The last turn of a part of the line, and whether it comes in time.

use core::iter::once;

use crate::wait::queue::LineState;
use crate::wait::turn::Turn;
use crate::wait::waiters::Key;

use super::Locked;

/// A part of the line, from its front.
#[derive(Clone, Copy)]
pub(super) enum Upto {
    /// Up to a caller in line.
    Place(Key),
    /// All but the `left` oldest, and a caller behind them that wants `permits`.
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

    /// Returns the last turn of those `upto` a place, which is that of all their permits, and the
    /// instant of it.
    pub(super) fn last_due(&mut self, upto: Upto, now_nanos: u64) -> (Turn, u64) {
        let limiter = self.limiter;
        let line = self.line();
        let LineState { since_nanos, ref waiters, .. } = *line;
        let is_empty = waiters.first().is_none();
        let since_nanos = if is_empty { now_nanos } else { since_nanos };
        let turn =
            |permits| Turn { permits, since_nanos, now_nanos, has_others: false, may_heal: false };
        match upto {
            Upto::Place(place) => {
                let turn = turn(waiters.permits_up_to(place));
                let due = if let Some((_, end)) = line.end_ahead_of(place) {
                    limiter.last_due(turn, Some(end), &mut once(waiters.permits_of(place)))
                } else {
                    limiter.last_due(turn, None, &mut waiters.sizes_up_to(place))
                };
                if waiters.last() == Some(place) {
                    self.line().end = due.word.map(|_| (place, due));
                }
                (turn, due.due_nanos)
            }
            Upto::After { left, permits } => {
                let leave = waiters.sizes().take(left).fold(0, u64::saturating_add);
                let sum = waiters.permits().saturating_sub(leave).saturating_add(permits);
                let mut sizes = waiters.sizes().skip(left).chain(once(permits));
                let turn = turn(sum);
                (turn, limiter.last_due(turn, None, &mut sizes).due_nanos)
            }
        }
    }
}
