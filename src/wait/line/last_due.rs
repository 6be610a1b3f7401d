//! The last turn of a part of the line, and whether it comes in time.

use core::iter::once;
use core::time::Duration;

use crate::wait::error::AcquireError;
use crate::wait::last_turn::LastTurn;
use crate::wait::line_lock::LineState;
use crate::wait::order::Order;
use crate::wait::place::{Demand, Place};
use crate::wait::turn::{TakesTurns, Turn};

use super::Locked;

/// A part of the line, from its front.
#[derive(Clone, Copy)]
pub(super) enum Upto {
    /// Up to a caller in line.
    Place(Place),
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
    pub(super) fn check_last_turn(&mut self) {
        let word = self.limiter.word();
        let line = self.line();
        if line.seen != word {
            (line.seen, line.last_turn) = (word, None);
        }
    }

    /// Returns the last turn of those `upto` a place, which is that of all their permits, and the
    /// instant of it.
    pub(super) fn last_due(&mut self, upto: Upto, now_nanos: u64) -> (Turn, u64) {
        let limiter = self.limiter;
        let line = self.line();
        let order = &line.order;
        let since_nanos = order.since(now_nanos);
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
                let turn = turn(order.permits_up_to(place));
                let newest = Demand { permits: order.permits_of(place), told_nanos: None };
                let known = line.last_turn_ahead_of(place).map(|(_, end)| {
                    limiter.last_due_among_reservations(turn, Some(end), &mut once(newest))
                });
                let due = known.filter(|_| limiter.word() == line.seen).unwrap_or_else(|| {
                    if order.is_divided() {
                        last_due(limiter, order, turn, &mut order.demands_likely_up_to(place))
                    } else {
                        last_due(limiter, order, turn, &mut order.demands_up_to(place))
                    }
                });
                // Nobody is refused by an estimate.
                let turn = Turn { permits: order.certain_up_to(place), ..turn };
                if order.last() == Some(place) {
                    self.line().last_turn = due.word.map(|_| (place, due));
                }
                (turn, due.due_nanos)
            }
            Upto::After { left, permits } => {
                let turn = turn(order.permits_behind(left).saturating_add(permits));
                let newest = Demand { permits, told_nanos: None };
                let end =
                    line.last_turn.filter(|&(last, _)| left == 0 && order.last() == Some(last));
                let known = end.map(|(_, end)| {
                    limiter.last_due_among_reservations(turn, Some(end), &mut once(newest))
                });
                let due = known.filter(|_| limiter.word() == line.seen).unwrap_or_else(|| {
                    let mut demands = order.demands_behind(left).chain(once(newest));
                    last_due(limiter, order, turn, &mut demands)
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
    ) -> Result<LastTurn, AcquireError> {
        let limiter = self.limiter;
        self.check_last_turn();
        let LineState { last_turn: end, seen, ref order, .. } = *self.line();
        let since_nanos = order.since(now_nanos);
        let permits_of_all = order.permits_behind(left).saturating_add(permits);
        let turn = Turn {
            permits: permits_of_all,
            since_nanos,
            now_nanos,
            has_others: false,
            may_heal: false,
            told_nanos: None,
        };
        let newest = Demand { permits, told_nanos: None };
        let end = end.filter(|&(last, _)| left == 0 && order.last() == Some(last));
        let known = end.map(|(_, end)| limiter.book(turn, Some(end), &mut once(newest)));
        // A change since then may have set other terms.
        let quoted = known.filter(|_| limiter.word() == seen).unwrap_or_else(|| {
            let mut demands = order.demands_behind(left).chain(once(newest));
            limiter.book(turn, None, &mut demands)
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

/// Returns the last turn of `demands`, which are of the line of `limiter`.
fn last_due(
    limiter: &dyn TakesTurns,
    order: &Order,
    turn: Turn,
    demands: &mut dyn Iterator<Item = Demand>,
) -> LastTurn {
    if order.has_reserved() {
        limiter.last_due_among_reservations(turn, None, demands)
    } else {
        limiter.last_due(turn, None, &mut demands.map(|demand| demand.permits))
    }
}
