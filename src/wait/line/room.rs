//! Room in a line that is bounded.

use crate::wait::error::AcquireError;
use crate::wait::limits::WhenLineFull;
use crate::wait::line_lock::LineState;
use crate::wait::turn::Turn;

use super::last_due::Upto;
use super::{Locked, wait};

impl Locked<'_> {
    /// Finds room for a caller with `permits`, or says why there is none.
    pub(super) fn make_room(
        &mut self,
        permits: u64,
        mut now_nanos: u64,
        deadline_nanos: Option<u64>,
    ) -> Result<(), AcquireError> {
        if self.has_room(permits) {
            return Ok(());
        }
        if !self.line().order.has_place() {
            // Nor is there if others leave: they keep their nodes until they are told.
            now_nanos = self.serve(now_nanos);
            return Err(self.full(permits, now_nanos));
        }
        // Some of those in line may be due, also after each eviction.
        now_nanos = self.serve(now_nanos);
        if self.line().limits.when_full == WhenLineFull::EvictOldest {
            self.check_deadline(permits, now_nanos, deadline_nanos)?;
            while !self.has_room(permits) && self.line().limits.admit(0, 0, permits) {
                let lane = self.limiter.lane();
                let Some(evictee) = self.line().order.evictee(lane) else { break };
                self.refuse(evictee, AcquireError::Evicted);
                now_nanos = self.serve(now_nanos);
            }
        }
        if self.has_room(permits) {
            return Ok(());
        }
        Err(self.full(permits, now_nanos))
    }

    /// Returns whether there is room for a caller with `permits`, in the line and among those of its tenant.
    fn has_room(&mut self, permits: u64) -> bool {
        let limiter = self.limiter;
        let line = self.line();
        line.admits(permits) && (!line.order.is_divided() || line.order.admits(limiter.lane()))
    }

    /// Returns the refusal of a caller with `permits` that there is no room for.
    fn full(&mut self, permits: u64, now_nanos: u64) -> AcquireError {
        let (_, due_nanos) = self.last_due(Upto::After { left: 0, permits }, now_nanos);
        AcquireError::LineFull { retry_after: wait(now_nanos, due_nanos) }
    }

    /// Refuses a caller that would evict others and then be too late itself.
    fn check_deadline(
        &mut self,
        permits: u64,
        now_nanos: u64,
        deadline_nanos: Option<u64>,
    ) -> Result<(), AcquireError> {
        let LineState { limits, ref order, .. } = *self.line();
        let left = order.oldest_that_leave(limits, permits);
        let is_divided = order.is_divided();
        let (turn, due_nanos) = self.last_due(Upto::After { left, permits }, now_nanos);
        // Others need not have their turns before it.
        let turn = if is_divided { Turn { permits, ..turn } } else { turn };
        if self.is_missed(turn, due_nanos, deadline_nanos) {
            return Err(AcquireError::TimedOut { retry_after: wait(now_nanos, due_nanos) });
        }
        Ok(())
    }
}
