//! What a call does as long as there are no shards: it asks the root.

use core::cell::Cell;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::Sharded;

impl<C: Clock> Sharded<C> {
    /// Takes `permits` of the root; or for a caller of the shard at `index`, if there are
    /// shards by then and the root has too little.
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

    /// What is lacking in the root may be in a shard that is new.
    #[cold]
    #[inline(never)]
    fn refused_by_root(&self, index: usize, permits: u64, denied: Denied) -> Result<Grant, Denied> {
        match denied {
            Denied::Wait(_) if self.shards.at(index).is_some() => self.acquire_at(index, permits),
            denied => Err(denied),
        }
    }

    /// The same, of as many as there are.
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
