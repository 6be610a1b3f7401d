//! Denials: too few permits anywhere, and the wait until there are enough.
//!
//! A denial names the shortest wait that suffices if no other caller takes permits. For that the
//! root must have the capacity to earn what is missing. Shards may hold some of it as empty
//! capacity, so that is released first. If leases hold it, no wait suffices, and none is named.

use crate::decision::denial_cache::CachedDenial;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::Sharded;
use super::acquire::CacheLookup;
use super::in_transit::InTransit;
use super::root_access::Reading;

/// The root, and then the shards, as they were found.
#[derive(Clone, Copy, Debug)]
struct Seen {
    reading: Reading,
    /// Tokens in all shards; `spare` is the empty capacity there.
    outside: u64,
    spare: u64,
}

/// A denial, and the reading and the bound that it rests on.
struct Lack {
    denied: Denied,
    /// Clock reading by which the lack was found.
    now_nanos: u64,
    /// Most permits that the root has the capacity to earn: the denial is true for requests up to
    /// this.
    most: u64,
}

impl Seen {
    /// Returns the permits in the root and the shards; those of leases do not count.
    fn there(&self) -> u64 {
        self.reading.permits() + self.outside
    }

    fn has(&self, permits: u64) -> bool {
        permits <= self.there() && permits <= self.reading.limit()
    }
}

impl<C: Clock> Sharded<C> {
    /// Returns the reading if there are `permits` anywhere; otherwise denies them and caches the
    /// denial.
    pub(super) fn find(
        &self,
        index: usize,
        permits: u64,
        lookup: CacheLookup,
    ) -> Result<Reading, Denied> {
        self.find_for::<false>(index, permits, lookup)
    }

    /// Does the same for a request that leaves a reserve, of which `permits` are both together.
    pub(super) fn find_leaving(
        &self,
        index: usize,
        permits: u64,
        lookup: CacheLookup,
    ) -> Result<Reading, Denied> {
        self.find_for::<true>(index, permits, lookup)
    }

    #[inline(always)]
    fn find_for<const LEAVES: bool>(
        &self,
        index: usize,
        permits: u64,
        CacheLookup { returns, now_nanos }: CacheLookup,
    ) -> Result<Reading, Denied> {
        let reading = self.root.look_at(now_nanos.unwrap_or_else(|| self.clock().now_nanos()));
        if permits <= reading.permits() {
            return Ok(reading);
        }
        self.seek::<LEAVES>(index, permits, reading).map_err(|Lack { denied, now_nanos, most }| {
            if let Denied::Wait(shortfall) = &denied
                && permits <= most
            {
                let cached = CachedDenial::new(permits, most, returns, now_nanos, shortfall);
                self.shards.denials(index).note(&cached);
            }
            denied
        })
    }

    /// Returns the answer to a request for `permits`, if `LEAVES` one that leaves `reserve` more. Takes nothing.
    #[inline(always)]
    pub(super) fn look_for<const LEAVES: bool>(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied> {
        let together = permits + reserve;
        let (outside, _) = self.shards.look();
        let reading = self.root.look_at(self.clock().now_nanos());
        let forecast = reading.forecast().paid_off().with_more(outside as i64);
        if together > forecast.remaining()
            && let Err(Lack { denied, .. }) = self.seek::<LEAVES>(0, together, reading)
        {
            return Err(denied);
        }
        let forecast = forecast.with_more(0_i64.saturating_sub_unsigned(permits));
        Ok(Grant { permits, forecast })
    }

    /// Checks whether the root, as it was read, and the shards together have `permits`. If not,
    /// releases the empty capacity that the request needs, and checks again.
    fn seek<const LEAVES: bool>(
        &self,
        index: usize,
        permits: u64,
        reading: Reading,
    ) -> Result<Reading, Lack> {
        let mut seen = self.see(reading);
        if seen.has(permits) {
            return Ok(reading);
        }
        let leased = self.root.leased();
        let Seen { spare, .. } = seen;
        // Empty capacity is released if what is missing could be earned in it, or cannot be earned
        // without it; and also near the limit, where little will be refilled now, and capacity that
        // is still reserved when all callers fall silent is missing from the next burst. A request
        // that no wait can satisfy needs none. Of one that leaves a reserve, what is missing is often
        // less than the empty capacity of shards in use: it stays with them, as long as the root can earn
        // what is missing.
        let limit = reading.limit().saturating_sub(leased);
        let is_needed = !LEAVES && permits <= seen.there() + spare
            || permits <= limit && permits > limit.saturating_sub(spare)
            || self.shards.refill_of(seen.there()) == 0;
        if spare > 0 && is_needed && permits <= reading.limit() {
            // What the root has earned by then beyond its capacity is lost.
            let now_nanos = self.close_all(index);
            seen = self.see(self.root.look_at(now_nanos));
            if seen.has(permits) {
                return Ok(seen.reading);
            }
        }
        let Seen { reading, outside, .. } = seen;
        let most = reading.limit().min(reading.room() + outside);
        // Leases that have ended meanwhile no longer count.
        let leased = leased.min(self.root.leased());
        let denied = reading.denial(permits, outside, leased);
        Err(Lack { denied, now_nanos: reading.now_nanos, most })
    }

    fn see(&self, reading: Reading) -> Seen {
        let (outside, spare) = self.shards.look();
        Seen { reading, outside, spare }
    }

    /// Releases the empty capacity of all shards, and returns the clock reading that was used. (If
    /// the clock is behind, or the terms are being changed, the capacity stays reserved.)
    pub(super) fn close_all(&self, index: usize) -> u64 {
        let mut moving = InTransit::of(&self.shards, index);
        moving.take_spare();
        let now_nanos = self.clock().now_nanos();
        self.close(&mut moving, now_nanos, 0);
        now_nanos
    }
}
