//! Slow path for a shard with too few tokens: refill, steal, or deny.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::Sharded;
use super::in_transit::InTransit;
use super::root_access::Reading;

/// A call's knowledge of its shard's denial cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recalled {
    /// Count of returns, read before anything else, so that later returns change it.
    pub(super) returns: u64,
    /// Time, if the clock was read.
    pub(super) now_nanos: Option<u64>,
}

impl<C: Clock> Sharded<C> {
    /// Returns the cached denial as an error if it answers this request and still holds.
    #[inline(always)]
    pub(super) fn recall(&self, index: usize, permits: u64) -> Result<Recalled, Denied> {
        let returns = self.returns();
        let memory = self.shards.memory(index);
        let Some(remembered) = memory.and_then(|memory| memory.recall(permits, returns)) else {
            return Ok(Recalled { returns, now_nanos: None });
        };
        let now_nanos = self.clock().now_nanos();
        match remembered.at(now_nanos) {
            Some(denied) => Err(denied),
            None => Ok(Recalled { returns, now_nanos: Some(now_nanos) }),
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
    pub(super) fn ask(
        &self,
        index: usize,
        permits: u64,
        recalled: Recalled,
    ) -> Result<Grant, Denied> {
        if permits == 0 {
            return self.peek(0);
        }
        let mut reading = self.find(index, permits, recalled)?;
        let mut hand = InTransit::of(&self.shards, index);
        hand.take(index);
        if hand.tokens >= permits {
            hand.tokens -= permits;
            return Ok(self.grant_of(permits, hand.tokens));
        }
        if hand.room > 0 {
            // Read again, now that the capacity is in transit: what the root has cut off until now,
            // while there were tokens in that capacity, must not be drawn into it.
            reading = self.root.look_at(self.clock().now_nanos());
        }
        match self.draw(&mut hand, &reading, permits) {
            Some(grant) => Ok(grant),
            None => self.scrape(hand, reading.now_nanos, permits),
        }
    }

    /// Takes `permits`, and a refill for later calls, if the root holds enough for both.
    fn draw(&self, hand: &mut InTransit<'_>, reading: &Reading, permits: u64) -> Option<Grant> {
        let wanted = self.shards.next_draw_of(reading.permits(), hand.room, permits);
        if wanted < permits || wanted <= hand.tokens {
            return None;
        }
        self.close(hand, reading.now_nanos, wanted);
        let grant = self.draw_into(hand, reading.now_nanos, wanted - hand.tokens)?;
        hand.tokens -= permits;
        Some(Grant { permits, forecast: grant.forecast.with_more(hand.tokens as i64) })
    }

    /// Takes `tokens` from the root into transit, and reserves the capacity that is missing for
    /// them. The clock must have been read after the capacity in transit was taken. Returns `None`
    /// if other callers were faster.
    pub(super) fn draw_into(
        &self,
        hand: &mut InTransit<'_>,
        now_nanos: u64,
        tokens: u64,
    ) -> Option<Grant> {
        let own = (hand.tokens + tokens).saturating_sub(hand.room);
        if own > 0 {
            self.root.lend(own);
            hand.room += own;
        }
        let drawn = self.root.draw(now_nanos, own, tokens).ok();
        if drawn.is_some() {
            hand.tokens += tokens;
        } else if own > 0 {
            // This capacity never held a token, but the root lacked it meanwhile, and callers may
            // have been refused because of that.
            self.root.take_back_simply(own);
            hand.room -= own;
            self.shards.returned();
        }
        drawn
    }

    /// Takes `permits` from anywhere: what is in transit, the root, other shards.
    fn scrape(
        &self,
        mut hand: InTransit<'_>,
        now_nanos: u64,
        permits: u64,
    ) -> Result<Grant, Denied> {
        loop {
            let from_root = permits.saturating_sub(hand.tokens);
            let shortfall = match self.root.draw(now_nanos, 0, from_root) {
                Ok(grant) => {
                    hand.tokens -= permits - from_root;
                    self.close_now(&mut hand);
                    let forecast = grant.forecast.with_more(hand.tokens as i64);
                    return Ok(Grant { permits, forecast });
                }
                Err(Denied::Wait(shortfall)) => shortfall,
                Err(never) => return Err(never),
            };
            let in_root = shortfall.remaining();
            let outside = hand.tokens + self.shards.left_beside(hand.index());
            if in_root + outside < permits {
                let index = hand.index();
                drop(hand);
                // The capacity in transit may have to be released, too. If there are enough permits
                // by then, any wait will do.
                let recalled = Recalled { returns: self.returns(), now_nanos: None };
                let denied = Denied::Wait(shortfall.of_all(permits, outside));
                return self.find(index, permits, recalled).and(Err(denied));
            }
            for next in 1..self.shards.count() {
                if hand.tokens + in_root >= permits {
                    break;
                }
                hand.take(hand.index().wrapping_add(next));
            }
        }
    }

    /// Releases empty capacity in transit to the root, but keeps at least `keep` of it. It must
    /// have been in transit, and as empty, at `now_nanos`.
    pub(super) fn close(&self, hand: &mut InTransit<'_>, now_nanos: u64, keep: u64) {
        let spare = hand.room.saturating_sub(keep.max(hand.tokens));
        if spare > 0 && self.root.take_back(now_nanos, spare) {
            hand.room -= spare;
        }
    }

    /// Does the same for all capacity that is empty now.
    pub(super) fn close_now(&self, hand: &mut InTransit<'_>) {
        if hand.room > hand.tokens {
            self.close(hand, self.clock().now_nanos(), 0);
        }
    }
}
