//! A refusal: that there is too little anywhere, and for how long.
//!
//! It names the least wait that suffices if nobody else takes any. For that the root must
//! have the room to earn what is missing. It has not as long as empty room is lent to
//! shards, so that is closed first; nor as long as leases hold it, and then no wait will
//! do, and none is named.

use crate::decision::denial_cache::CachedDenial;
use crate::decision::denied::Denied;
use crate::time::clock::Clock;

use super::Sharded;
use super::acquire::Recalled;
use super::in_transit::InTransit;
use super::root_access::Reading;

/// The root, and then the shards, as they were seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    reading: Reading,
    /// The tokens in all shards, and the room there that is empty.
    outside: u64,
    spare: u64,
}

/// Why there are too few, and what else that says.
struct Lack {
    denied: Denied,
    /// The reading of the clock by which it was found.
    now_nanos: u64,
    /// The most permits that the root has the room to earn: what it says of fewer is true.
    most: u64,
}

impl Seen {
    /// The permits anywhere, but for those of leases.
    fn there(&self) -> u64 {
        self.reading.permits() + self.outside
    }

    fn has(&self, permits: u64) -> bool {
        permits <= self.there() && permits <= self.reading.limit()
    }
}

impl<C: Clock> Sharded<C> {
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
        self.seek(index, permits, reading).map_err(|Lack { denied, now_nanos, most }| {
            if let (Denied::Wait(shortfall), Some(memory)) = (&denied, self.shards.memory(index))
                && permits <= most
            {
                memory.note(&CachedDenial::new(permits, most, returns, now_nanos, shortfall));
            }
            denied
        })
    }

    /// The denial of `permits` by the root as it was found; `None` if there are as many.
    pub(super) fn refusal(&self, permits: u64, reading: Reading) -> Option<Denied> {
        self.seek(0, permits, reading).err().map(|lack| lack.denied)
    }

    /// Looks whether there are `permits` anywhere, beside what was found in the root. If not,
    /// closes the empty room that they need, and looks again.
    fn seek(&self, index: usize, permits: u64, reading: Reading) -> Result<Reading, Lack> {
        let mut seen = self.see(reading);
        if seen.has(permits) {
            return Ok(reading);
        }
        let leased = self.root.leased();
        let Seen { spare, .. } = seen;
        // Empty room is closed if what is missing could be earned in it, or cannot be earned
        // beside it. And near the limit: little will be drawn now, and what is lent when all
        // fall silent is missing from the next burst. What no wait will do for needs none.
        let limit = reading.limit().saturating_sub(leased);
        let is_needed = permits <= seen.there() + spare
            || permits <= limit && permits > limit.saturating_sub(spare)
            || self.shards.draw_of(seen.there()) == 0;
        if spare > 0 && is_needed && permits <= reading.limit() {
            // What the root earned until then, and had no room for, is lost.
            let now_nanos = self.close_all(index);
            seen = self.see(self.root.look_at(now_nanos));
            if seen.has(permits) {
                return Ok(seen.reading);
            }
        }
        let Seen { reading, outside, .. } = seen;
        let most = reading.limit().min(reading.room() + outside);
        // What has ended meanwhile is in the way no more.
        let leased = leased.min(self.root.leased());
        let denied = reading.denial(permits, outside, leased);
        Err(Lack { denied, now_nanos: reading.now_nanos, most })
    }

    fn see(&self, reading: Reading) -> Seen {
        let (outside, spare) = self.shards.look();
        Seen { reading, outside, spare }
    }

    /// Gives the empty room of all shards back, and says by which reading of the clock. (All,
    /// unless the clock is behind, or the terms are being changed: then it stays where it is.)
    fn close_all(&self, index: usize) -> u64 {
        let mut hand = InTransit::of(&self.shards, index);
        for next in 0..self.shards.count() {
            hand.take_spare(next);
        }
        let now_nanos = self.clock().now_nanos();
        self.close(&mut hand, now_nanos, 0);
        now_nanos
    }
}
