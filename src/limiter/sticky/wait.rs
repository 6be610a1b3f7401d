//! Waiting for a limiter with a cache of its denials: past the cache.

use core::time::Duration;

use crate::limiter::wait::{Line, Reserve, Wait};
use crate::time::clock::Clock;
use crate::wait::error::AcquireError;
use crate::wait::reservation::Reservation;

use super::Sticky;

/// The limiter's line. Callers that wait ask the limiter itself, whatever is cached: what was denied
/// now may be worth waiting for.
impl<L: Wait, C: Clock + Send + Sync> Wait for Sticky<L, C> {
    fn line(&self) -> Line<'_> {
        self.limiter.line()
    }
}

/// The limiter's reservations, whatever is cached. Call [`forget`](Sticky::forget) after one is cancelled.
impl<L: Reserve, C: Clock + Send + Sync> Reserve for Sticky<L, C> {
    fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Reservation<'_>, AcquireError> {
        self.limiter.reserve_within(permits, longest)
    }
}
