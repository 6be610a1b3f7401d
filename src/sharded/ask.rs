//! What a call does that its shard has too few tokens for.

use crate::one_word::Reading;
use crate::{Clock, Denied, Grant};

use super::Sharded;
use super::hand::Hand;
use super::memory::Refusal;

/// What a call knows of its shard's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recalled {
    /// How often tokens had come back. It was looked at before anything else, so what
    /// comes back later is counted later.
    returns: u64,
    /// The time, if it was read.
    now_nanos: Option<u64>,
}

impl<C: Clock> Sharded<C> {
    /// The denial of the same request as the last that was refused, if it still holds.
    #[inline(always)]
    pub(super) fn recall(&self, index: usize, permits: u64) -> Result<Recalled, Denied> {
        let returns = self.shards.returns();
        let Some(refusal) = self.shards.at(index).refused.recall(permits, returns) else {
            return Ok(Recalled { returns, now_nanos: None });
        };
        let now_nanos = self.clock().now_nanos();
        match refusal.at(now_nanos) {
            Some(denied) => Err(denied),
            None => Ok(Recalled { returns, now_nanos: Some(now_nanos) }),
        }
    }

    /// Takes `permits` for a caller of the shard at `index`.
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
        let now_nanos = recalled.now_nanos.unwrap_or_else(|| self.clock().now_nanos());
        let mut reading = self.root.look_at(now_nanos);
        if reading.permits() < permits {
            let outside = self.shards.left();
            if reading.permits() + outside < permits || permits > reading.limit() {
                return Err(self.deny(index, permits, outside, recalled.returns, &reading));
            }
        }
        let mut hand = Hand::of(&self.shards, index);
        hand.take(index);
        if hand.tokens >= permits {
            hand.tokens -= permits;
            return Ok(self.grant_of(permits, hand.tokens));
        }
        if hand.room > 0 {
            // Again, now that the room is in hand: what the root has cut off until
            // now, when there were tokens in that room, must not be drawn into it.
            reading = self.root.look_at(self.clock().now_nanos());
        }
        match self.draw(&mut hand, &reading, permits) {
            Some(grant) => Ok(grant),
            None => self.scrape(hand, reading.now_nanos, permits),
        }
    }

    /// Refuses `permits`, for which the root and what there is `outside` are too little, and
    /// remembers it.
    fn deny(
        &self,
        index: usize,
        permits: u64,
        outside: u64,
        returns: u64,
        reading: &Reading,
    ) -> Denied {
        if self.shards.draw_of(reading.permits()) == 0 {
            self.close_all(index);
        }
        let denied = reading.denial(permits, outside);
        if let Denied::Wait(shortfall) = &denied {
            let refusal = Refusal::new(permits, returns, reading.now_nanos, shortfall);
            self.shards.at(index).refused.note(&refusal);
        }
        denied
    }

    /// Takes `permits`, and more for the calls to come, if the root holds enough for
    /// both.
    fn draw(&self, hand: &mut Hand<'_>, reading: &Reading, permits: u64) -> Option<Grant> {
        let wanted = self.shards.next_draw_of(reading.permits(), hand.room, permits);
        if wanted < permits || wanted <= hand.tokens {
            return None;
        }
        let own = wanted.saturating_sub(hand.room);
        if own > 0 {
            self.root.lend(own);
        } else if hand.room > wanted && reading.is_uncut() {
            self.root.take_back(hand.room - wanted);
            hand.room = wanted;
        }
        if let Ok(grant) = self.root.draw(reading.now_nanos, own, wanted - hand.tokens) {
            hand.room += own;
            hand.tokens = wanted - permits;
            return Some(Grant { permits, outlook: grant.outlook.with_more(hand.tokens as i64) });
        }
        // Others were faster. Nothing was ever in this room.
        if own > 0 {
            self.root.take_back(own);
        }
        None
    }

    /// Takes `permits` from wherever there are any: the hand, the root, other shards.
    fn scrape(&self, mut hand: Hand<'_>, now_nanos: u64, permits: u64) -> Result<Grant, Denied> {
        loop {
            let from_root = permits.saturating_sub(hand.tokens);
            let shortfall = match self.root.draw(now_nanos, 0, from_root) {
                Ok(grant) => {
                    hand.tokens -= permits - from_root;
                    self.close(&mut hand);
                    let outlook = grant.outlook.with_more(hand.tokens as i64);
                    return Ok(Grant { permits, outlook });
                }
                Err(Denied::Wait(shortfall)) => shortfall,
                Err(never) => return Err(never),
            };
            let in_root = shortfall.remaining();
            let outside = hand.tokens + self.shards.left_beside(hand.index());
            if in_root + outside < permits {
                return Err(Denied::Wait(shortfall.of_all(permits, outside)));
            }
            for next in 1..self.shards.count() {
                if hand.tokens + in_root >= permits {
                    break;
                }
                hand.take(hand.index().wrapping_add(next));
            }
        }
    }

    /// Gives the room in hand that is empty back to the root, if nothing comes of that
    /// which was cut off before.
    fn close(&self, hand: &mut Hand<'_>) {
        let spare = hand.spare();
        // The clock is read after the room was taken.
        if spare > 0 && self.root.look_at(self.clock().now_nanos()).is_uncut() {
            self.root.take_back(spare);
            hand.room -= spare;
        }
    }

    /// Gives the empty room of all shards back. There is little left, so little will be
    /// drawn; and what is lent when all fall silent is missing from the next burst.
    fn close_all(&self, index: usize) {
        let mut hand = Hand::of(&self.shards, index);
        for next in 0..self.shards.count() {
            hand.take_spare(next);
        }
        self.close(&mut hand);
    }
}
