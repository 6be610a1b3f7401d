//! Permits that are given to a bucket from outside, without a receipt.
//!
//! A credit is a change of terms: the accrual continues from a count that is higher by what was
//! credited. It does not lower the word, although that would be one CAS: a change of terms has to
//! move the word above every level from which it fell, and a credit may be as large as the burst.

use crate::time::clock::Clock;

use super::BucketCore;
use super::reserved::ReservedCapacity;

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    /// Adds `permits` to the balance, up to full; a debt becomes less.
    ///
    /// No caller is given more than the capacity that is left beside the reserved part: the next
    /// call that spends or settles cuts off the rest.
    pub(crate) fn credit(&self, permits: u64) {
        if permits > 0 {
            self.change(|terms, holding| (*terms, holding.plus(permits, terms)));
        }
    }
}
