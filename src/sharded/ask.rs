//! What a call does that its shard has too few tokens for.

use crate::memory::Remembered;
use crate::one_word::Reading;
use crate::{Clock, Denied, Grant};

use super::Sharded;
use super::hand::Hand;

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
        // A level that was healed has come back too.
        let returns = self.shards.returns().wrapping_add(self.root.healed());
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
        let mut reading = self.find(index, permits, recalled)?;
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

    /// Looks whether there are `permits` anywhere; refuses if not, and remembers it.
    pub(super) fn find(
        &self,
        index: usize,
        permits: u64,
        Recalled { returns, now_nanos }: Recalled,
    ) -> Result<Reading, Denied> {
        let reading = self.root.look_at(now_nanos.unwrap_or_else(|| self.clock().now_nanos()));
        if permits <= reading.permits() {
            return Ok(reading);
        }
        let (outside, spare) = self.shards.look();
        let there = reading.permits() + outside;
        if permits <= there && permits <= reading.limit() {
            return Ok(reading);
        }
        // Empty room is closed if it is what is missing. And near the limit: little will be
        // drawn now, and what is lent when all fall silent is missing from the next burst.
        if spare > 0 && (permits <= there + spare || self.shards.draw_of(there) == 0) {
            self.close_all(index);
        }
        let denied = reading.denial(permits, outside);
        if let Denied::Wait(shortfall) = &denied
            // If leases have the room for so many, no time will do.
            && permits.saturating_sub(outside) <= reading.room() + spare
        {
            let remembered = Remembered::new(permits, returns, reading.now_nanos, shortfall);
            if let Some(memory) = self.shards.memory(index) {
                memory.note(&remembered);
            }
        }
        Err(denied)
    }

    /// Takes `permits`, and more for the calls to come, if the root holds enough for
    /// both.
    fn draw(&self, hand: &mut Hand<'_>, reading: &Reading, permits: u64) -> Option<Grant> {
        let wanted = self.shards.next_draw_of(reading.permits(), hand.room, permits);
        if wanted < permits || wanted <= hand.tokens {
            return None;
        }
        self.close(hand, reading.now_nanos, wanted);
        let grant = self.draw_into(hand, reading.now_nanos, wanted - hand.tokens)?;
        hand.tokens -= permits;
        Some(Grant { permits, outlook: grant.outlook.with_more(hand.tokens as i64) })
    }

    /// Draws `tokens` into the hand, with as much more room as that takes, by a clock that
    /// was read after the room that it has was in hand. `None` if others were faster.
    pub(super) fn draw_into(
        &self,
        hand: &mut Hand<'_>,
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
            // Nothing was ever in this room; but it was missing from the root, and who
            // was refused meanwhile may have been refused because of that.
            self.root.take_back_simply(own);
            hand.room -= own;
            self.shards.returned();
        }
        drawn
    }

    /// Takes `permits` from wherever there are any: the hand, the root, other shards.
    fn scrape(&self, mut hand: Hand<'_>, now_nanos: u64, permits: u64) -> Result<Grant, Denied> {
        loop {
            let from_root = permits.saturating_sub(hand.tokens);
            let shortfall = match self.root.draw(now_nanos, 0, from_root) {
                Ok(grant) => {
                    hand.tokens -= permits - from_root;
                    self.close_now(&mut hand);
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

    /// Gives the room in hand that is empty back to the root, all but `keep`. It was in
    /// hand at `now_nanos`, and as empty.
    pub(super) fn close(&self, hand: &mut Hand<'_>, now_nanos: u64, keep: u64) {
        let spare = hand.room.saturating_sub(keep.max(hand.tokens));
        if spare > 0 && self.root.take_back(now_nanos, spare) {
            hand.room -= spare;
        }
    }

    /// The same, of all that is empty now.
    pub(super) fn close_now(&self, hand: &mut Hand<'_>) {
        if hand.room > hand.tokens {
            self.close(hand, self.clock().now_nanos(), 0);
        }
    }

    /// Gives the empty room of all shards back.
    fn close_all(&self, index: usize) {
        let mut hand = Hand::of(&self.shards, index);
        for next in 0..self.shards.count() {
            hand.take_spare(next);
        }
        self.close_now(&mut hand);
    }
}
