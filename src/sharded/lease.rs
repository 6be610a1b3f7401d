//! Leases from a shard, and grants that can be given back, which are leases too.

use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::decision::lease::{Lease, Leased};
use crate::decision::receipt::Receipt;
use crate::decision::undo::{Debit, Undo};
use crate::time::clock::Clock;

use super::Sharded;
use super::in_transit::InTransit;

/// Number of tries for a lease, each with fewer permits than the last, before one permit is
/// acquired in the ordinary way.
const TRIES: u32 = 4;

impl<C: Clock + Sync> Sharded<C> {
    /// Takes up to `permits`, at least one, for a caller of the shard at `index` to hold.
    pub(super) fn lease_at(&self, index: usize, permits: u64) -> Result<Lease<'_>, Denied> {
        if permits > 0 && self.shards.left_of(index) == 0 {
            let _ = self.cached_denial(index, 1)?;
        }
        for attempt in 0..TRIES {
            // Two callers that each reserve all there is leave nothing to either, so each try asks
            // for less.
            let most = (permits >> attempt).clamp(permits.min(1), Lease::MAX);
            let before = self.root.limit();
            let mut moving = InTransit::of(&self.shards, index);
            let forecast = self.fill(&mut moving, most);
            let room = moving.part_with(most);
            if room > 0 || permits == 0 {
                self.root.begin_lease(room);
                let grant = self.grant_of(room, moving.tokens);
                let grant = forecast.map_or(grant, |forecast| Grant { forecast, ..grant });
                // The permits were taken under one of these two limits.
                let limit = before.max(self.root.limit());
                return Ok(Lease::new(grant, self, Leased::Shard { index, limit }));
            }
            drop(moving);
            // Either a permit has come back, or this is the denial.
            self.find(index, 1, self.cached_denial(index, 1)?)?;
        }
        self.acquire_at(index, 1).map(Lease::spent)
    }

    /// Takes all of `permits` or none, for a caller of the shard at `index` to hold.
    pub(super) fn lease_exact_at(&self, index: usize, permits: u64) -> Result<Lease<'_>, Denied> {
        if permits > Lease::MAX {
            let limit = self.root.limit().min(Lease::MAX);
            return Err(Denied::TooLarge { limit, which: 0 });
        }
        match self.lease_at(index, permits) {
            Ok(lease) if lease.left() == permits => Ok(lease),
            // Too few: return them, before a grant of all looks for them.
            fewer => {
                drop(fewer);
                self.acquire_at(index, permits).map(Lease::spent)
            }
        }
    }

    /// Takes tokens until `permits` are in transit, or all that this shard and the root have; if
    /// these have none, takes what another shard has. Returns the forecast of the root if it took
    /// any from there.
    fn fill(&self, moving: &mut InTransit<'_>, permits: u64) -> Option<Forecast> {
        moving.take_own();
        let mut forecast = None;
        if moving.tokens < permits {
            // The clock is read after the capacity is in transit, as for any refill.
            let now_nanos = self.clock().now_nanos();
            let there = self.root.look_at(now_nanos).permits();
            let missing = there.min(permits - moving.tokens);
            if missing > 0 {
                forecast = self.refill_into(moving, now_nanos, missing).map(|grant| grant.forecast);
            }
        }
        moving.steal(permits.min(1));
        forecast
    }

    /// Takes `permits` in a way that can be given back, if this shard and the root have enough;
    /// otherwise takes them in the ordinary way.
    pub(super) fn acquire_revocable_at(
        &self,
        index: usize,
        permits: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.find(index, permits, self.cached_denial(index, permits)?)?;
        match self.lease_at(index, permits) {
            Ok(lease) if lease.left() == permits => Ok(Receipt::of_lease(lease)),
            // Too few: return them.
            fewer => {
                drop(fewer);
                self.acquire_at(index, permits).map(Receipt::spent)
            }
        }
    }
}

impl<C: Clock + Sync> Undo for Sharded<C> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        let Debit::Shard { index, capacity, tokens, limit } = debit else { return false };
        self.root.end_lease(capacity);
        // If the burst was lowered, there is no capacity for all of them.
        let tokens = tokens.saturating_sub(self.root.overreserved_since(limit));
        let mut moving = InTransit::with(&self.shards, index, capacity, tokens);
        // While its caller unwinds, a clock that panics once more would abort the process: the next call that would be
        // refused releases what is empty.
        #[cfg(feature = "std")]
        if std::thread::panicking() {
            return true;
        }
        self.close_now(&mut moving);
        true
    }
}
