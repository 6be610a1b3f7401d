//! The bucket without the feature `wait`: nobody can stand in line, and the gate is always open.

use crate::time::clock::Clock;

use super::BucketCore;
use super::level::Level;
use super::reserved::ReservedCapacity;
use super::spend::NotSpent;

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    /// Never called: no word is gated.
    #[cold]
    #[expect(clippy::unnecessary_wraps, reason = "as where callers can wait")]
    pub(super) fn ask_at_the_gate(
        &self,
        _wanted: i64,
        _now_nanos: u64,
    ) -> Result<(Level, u64), NotSpent> {
        Ok((self.look_again(), self.clock.now_nanos()))
    }

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(crate) fn has_line(&self) -> bool {
        false
    }

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(super) fn poke(&self) {}
}
