//! The concurrency limit without the feature `wait`: nobody can stand in line, and no word is gated.

use super::ConcurrencyLimit;

#[expect(clippy::unused_self, reason = "as where callers can wait")]
impl ConcurrencyLimit {
    #[inline(always)]
    pub(super) fn poke(&self) {}

    #[inline(always)]
    pub(super) fn settle(&self) {}
}
