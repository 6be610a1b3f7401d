//! The longest wait that a line allows, for those in it and those to come.

use crate::wait::arrival::Arrival;
use crate::wait::place::Place;
use crate::wait::turn::TakesTurns;

use super::Locked;

/// Gives all that stand in line the longest wait that its limits have now, and serves the line: those that
/// would be too late are refused, or woken to be refused.
pub(crate) fn keep_longest_wait(limiter: &dyn TakesTurns) {
    // The clock is read only if anybody waits.
    let mut line = Locked::of(limiter);
    if line.line().order.first().is_none() {
        return;
    }
    let now_nanos = limiter.now_nanos();
    let longest_nanos = line.line().limits.max_wait_nanos;
    let wakers = line.line().order.bound_waits(now_nanos, longest_nanos);
    line.wakers.0.extend(wakers);
    line.line().last_turn = None;
    line.serve(now_nanos);
}

impl Locked<'_> {
    /// Returns the deadline of a caller that comes at `now_nanos`: its own, or that of the line.
    pub(super) fn bounded(&mut self, now_nanos: u64, own_nanos: Option<u64>) -> Option<u64> {
        match self.line().limits.max_wait_nanos {
            u64::MAX => own_nanos,
            longest_nanos => Some(Arrival::new(now_nanos, own_nanos).deadline(longest_nanos)),
        }
    }

    /// Notes when a caller came and its own deadline, if the line bounds the wait.
    pub(super) fn note_arrival(&mut self, place: Place, now_nanos: u64, own_nanos: Option<u64>) {
        let is_bounded = self.line().limits.max_wait_nanos < u64::MAX;
        let arrival = Arrival::new(now_nanos, own_nanos);
        self.line().order.note_arrival(place, is_bounded.then_some(arrival));
    }
}
