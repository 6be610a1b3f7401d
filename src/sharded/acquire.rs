//! Slow path for a shard with too few tokens: refill, steal, or deny.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::Sharded;
use super::in_transit::InTransit;
use super::root_access::Reading;

/// A call's knowledge of its shard's denial cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLookup {
    /// Count of returns, read before anything else, so that later returns change it.
    pub(super) returns: u64,
    /// Time, if the clock was read.
    pub(super) now_nanos: Option<u64>,
}

impl<C: Clock> Sharded<C> {
    /// Returns the cached denial as an error if it answers this request and still holds.
    #[inline(always)]
    pub(super) fn cached_denial(&self, index: usize, permits: u64) -> Result<CacheLookup, Denied> {
        let returns = self.returns();
        let Some(remembered) = self.shards.denials(index).cached_denial(permits, returns) else {
            return Ok(CacheLookup { returns, now_nanos: None });
        };
        let now_nanos = self.clock().now_nanos();
        match remembered.at(now_nanos) {
            Some(denied) => Err(denied),
            None => Ok(CacheLookup { returns, now_nanos: Some(now_nanos) }),
        }
    }

    /// Returns the count of returns. Healing a level counts as a return.
    #[inline(always)]
    fn returns(&self) -> u64 {
        self.shards.returns().wrapping_add(self.root.healed())
    }

    /// Takes `permits` for a caller of the shard at `index`, or denies them.
    #[cold]
    #[inline(never)]
    pub(super) fn acquire_elsewhere(
        &self,
        index: usize,
        permits: u64,
        lookup: CacheLookup,
    ) -> Result<Grant, Denied> {
        if permits == 0 {
            return self.peek(0);
        }
        let mut reading = self.find(index, permits, lookup)?;
        let mut moving = InTransit::of(&self.shards, index);
        moving.take_own();
        if moving.tokens >= permits {
            moving.tokens -= permits;
            return Ok(self.grant_of(permits, moving.tokens));
        }
        if moving.room > 0 {
            // Read again, now that the capacity is in transit: what the root has cut off until now,
            // while there were tokens in that capacity, must not be drawn into it.
            reading = self.root.look_at(self.clock().now_nanos());
        }
        match self.refill(&mut moving, &reading, permits) {
            Some(grant) => Ok(grant),
            None => self.steal(moving, reading.now_nanos, permits),
        }
    }

    /// Takes `permits`, and a refill for later calls, if the root holds enough for both.
    fn refill(&self, moving: &mut InTransit<'_>, reading: &Reading, permits: u64) -> Option<Grant> {
        let wanted = self.shards.next_refill_of(reading.permits(), moving.room, permits);
        if wanted < permits || wanted <= moving.tokens {
            return None;
        }
        self.close(moving, reading.now_nanos, wanted);
        let grant = self.refill_into(moving, reading.now_nanos, wanted - moving.tokens)?;
        moving.tokens -= permits;
        Some(Grant { permits, forecast: grant.forecast.with_more(moving.tokens as i64) })
    }

    /// Takes `tokens` from the root into transit, and reserves the capacity that is missing for
    /// them. The clock must have been read after the capacity in transit was taken. Returns `None`
    /// if other callers were faster.
    pub(super) fn refill_into(
        &self,
        moving: &mut InTransit<'_>,
        now_nanos: u64,
        tokens: u64,
    ) -> Option<Grant> {
        let own = (moving.tokens + tokens).saturating_sub(moving.room);
        if own > 0 {
            self.root.reserve(own);
            moving.room += own;
        }
        let drawn = self.root.refill(now_nanos, own, tokens).ok();
        if drawn.is_some() {
            moving.tokens += tokens;
        } else if own > 0 {
            // This capacity never held a token, but the root lacked it meanwhile, and callers may
            // have been refused because of that.
            self.root.release_unused(own);
            moving.room -= own;
            self.shards.returned();
        }
        drawn
    }

    /// Takes `permits` from anywhere: what is in transit, the root, other shards.
    fn steal(&self, moving: InTransit<'_>, now_nanos: u64, permits: u64) -> Result<Grant, Denied> {
        self.gather::<false>(moving, now_nanos, permits, 0)
    }

    /// Does the same, if `LEAVES` so that `reserve` permits at least remain in transit and in the root.
    #[inline(always)]
    pub(super) fn gather<const LEAVES: bool>(
        &self,
        mut moving: InTransit<'_>,
        now_nanos: u64,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied> {
        let together = permits + reserve;
        loop {
            let from_root = permits.saturating_sub(moving.tokens);
            let drawn = if LEAVES {
                // The part of the reserve that is not in transit has to be there.
                let stays = together.saturating_sub(moving.tokens.max(permits));
                self.root.draw_leaving(now_nanos, from_root, stays)
            } else {
                self.root.refill(now_nanos, 0, from_root)
            };
            let shortfall = match drawn {
                Ok(grant) => {
                    moving.tokens -= permits - from_root;
                    self.close_now(&mut moving);
                    let forecast = grant.forecast.with_more(moving.tokens as i64);
                    return Ok(Grant { permits, forecast });
                }
                Err(Denied::Wait(shortfall)) => shortfall,
                Err(never) => return Err(never),
            };
            let in_root = shortfall.remaining();
            let outside = moving.tokens + self.shards.left_beside(moving.index());
            if in_root + outside < together {
                let index = moving.index();
                drop(moving);
                // The capacity in transit may have to be released, too. If there are enough permits
                // by then, any wait will do.
                let lookup = CacheLookup { returns: self.returns(), now_nanos: None };
                let denied = Denied::Wait(shortfall.of_all(together, outside));
                let found = if LEAVES {
                    self.find_leaving(index, together, lookup)
                } else {
                    self.find(index, together, lookup)
                };
                return found.and(Err(denied));
            }
            moving.steal(together.saturating_sub(in_root));
        }
    }

    /// Releases empty capacity in transit to the root, but keeps at least `keep` of it. It must
    /// have been in transit, and as empty, at `now_nanos`.
    pub(super) fn close(&self, moving: &mut InTransit<'_>, now_nanos: u64, keep: u64) {
        let spare = moving.room.saturating_sub(keep.max(moving.tokens));
        if spare > 0 && self.root.release(now_nanos, spare) {
            moving.room -= spare;
        }
    }

    /// Does the same for all capacity that is empty now.
    pub(super) fn close_now(&self, moving: &mut InTransit<'_>) {
        if moving.room > moving.tokens {
            self.close(moving, self.clock().now_nanos(), 0);
        }
    }
}
