//! Requests that leave a reserve to others.
//!
//! ```text
//! root has permits + reserve      one CAS of the root, as of a token bucket
//! root and shards have them       take own tokens, and steal those that are missing; then spend from these and
//!                                 from the root, if the rest of the reserve stays there; put back what is left
//! otherwise                       deny both together
//! ```
//!
//! A token is not put back into the root: for that, its level would have to fall, or its terms to change. It is
//! counted where it is, in the hands of the call, in capacity that moves with it. Tokens that are taken are spent
//! before those of the root, and their capacity is released, so that the next request finds more in the root.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::limiter::leaving::counted_beside;
use crate::time::clock::Clock;

use super::Sharded;
use super::acquire::CacheLookup;
use super::in_transit::InTransit;

impl<C: Clock> Sharded<C> {
    /// Takes `permits`, so that `reserve` at least remain, for a caller of the shard at that index.
    #[inline]
    pub(super) fn acquire_leaving(
        &self,
        index: impl FnOnce() -> usize,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied> {
        if permits == 0 || reserve == 0 {
            return self.acquire_by(index, permits);
        }
        let (index, kept) = (index(), counted_beside(permits, reserve));
        // While as many are refused that leave nothing, so are these.
        let lookup = self.cached_denial(index, permits + kept)?;
        let now_nanos = lookup.now_nanos.unwrap_or_else(|| self.clock().now_nanos());
        match self.root.draw_leaving(now_nanos, permits, kept) {
            Ok(grant) => Ok(grant),
            Err(_) => self
                .acquire_leaving_elsewhere(index, permits, kept, lookup)
                .map_err(|denied| denied.leaving(reserve)),
        }
    }

    /// Does the same if the root alone has too few. A denial is that of both together.
    #[cold]
    #[inline(never)]
    fn acquire_leaving_elsewhere(
        &self,
        index: usize,
        permits: u64,
        reserve: u64,
        lookup: CacheLookup,
    ) -> Result<Grant, Denied> {
        let reading = self.find_leaving(index, permits + reserve, lookup)?;
        let mut moving = InTransit::of(&self.shards, index);
        moving.take_own();
        self.gather::<true>(moving, reading.now_nanos, permits, reserve)
    }
}
