//! Operations by a reading of the clock that the caller has made, for another bucket too.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::BucketCore;
use super::charge::{in_any_case, leaving};
use super::reserved::ReservedCapacity;
use super::spend::Spent;

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    /// Takes all of `permits`, whatever the debt.
    #[inline(always)]
    pub(crate) fn take_in_any_case(&self, permits: u64, now_nanos: u64) {
        let charge = move |terms: &_, balance| Ok(in_any_case(permits, terms, balance));
        // Never refused.
        self.spend_by::<true>(now_nanos, charge).ok();
    }

    /// Takes all of `permits` if `SPEND`, or none if fewer than the reserve would remain. `reserve` is called
    /// after each load of the word, so that one that was stored before a change of terms counts for all
    /// that is granted after the change.
    #[inline(always)]
    pub(crate) fn leaving_by_reading<const SPEND: bool>(
        &self,
        permits: u64,
        reserve: impl Fn() -> u64,
        now_nanos: u64,
    ) -> Result<Grant, Denied> {
        let charge = move |terms: &_, balance| leaving(permits, reserve(), terms, balance);
        self.spend_by::<SPEND>(now_nanos, charge).map(Spent::grant)
    }
}
