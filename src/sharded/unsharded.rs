//! Calls while there are no shards: they ask the root.

use core::cell::Cell;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::Sharded;

impl<C: Clock> Sharded<C> {
    /// Takes `permits` from the root. If the root has too few and there are shards by then, takes
    /// them as a caller of the shard at `index`.
    #[inline(always)]
    pub(super) fn acquire_of_root(&self, index: usize, permits: u64) -> Result<Grant, Denied> {
        let tries = Cell::new(0);
        match self.root.try_acquire_counting(permits, &tries) {
            Ok(grant) => {
                if tries.get() > 1 {
                    self.shards.places().contended(tries.get() - 1, self.clock().now_nanos());
                }
                Ok(grant)
            }
            Err(denied) => self.refused_by_root(index, permits, denied),
        }
    }

    /// Retries if shards exist by now: they may hold the permits that the root lacks.
    #[cold]
    #[inline(never)]
    fn refused_by_root(&self, index: usize, permits: u64, denied: Denied) -> Result<Grant, Denied> {
        match denied {
            Denied::Wait(_) if self.shards.at(index).is_some() => self.acquire_at(index, permits),
            denied => Err(denied),
        }
    }

    /// Does the same for as many of `permits` as there are.
    pub(super) fn acquire_up_to_of_root(
        &self,
        index: usize,
        permits: u64,
    ) -> Result<Grant, Denied> {
        match self.root.try_acquire_up_to(permits) {
            Err(Denied::Wait(_)) if self.shards.at(index).is_some() => {
                self.acquire_up_to_at(index, permits)
            }
            answer => answer,
        }
    }
}
