//! A sharded limiter as the models use it.

use sluicegate::{Clock, Quota, Sharded};

use crate::Arc;

/// A limiter of `quota` with two shards.
///
/// # Panics
///
/// Never: two are not too many.
#[must_use]
pub fn sharded<C: Clock>(quota: Quota, clock: C) -> Arc<Sharded<C>> {
    Arc::new(Sharded::builder(quota).shards(2).clock(clock).build().unwrap())
}

/// Puts so many permits into the shard at `index`, in as much reserved capacity.
///
/// # Panics
///
/// If the limiter has fewer.
pub fn fill<C: Clock + Sync>(limiter: &Sharded<C>, index: usize, permits: u64) {
    let lease = limiter.shard(index).lease(permits).unwrap();
    assert_eq!(lease.left(), permits);
}

/// A caller of one shard, and what it asks for.
pub type Caller = (usize, &'static [u64]);

/// Asks as `caller` does, and returns the permits that it was granted.
pub fn ask<C: Clock>(limiter: &Sharded<C>, (index, sizes): Caller) -> u64 {
    let grant = |permits: &u64| limiter.shard(index).try_acquire(*permits);
    sizes.iter().filter_map(|permits| grant(permits).ok()).map(|grant| grant.permits()).sum()
}

/// Takes all that a limiter has left, and returns how much that was. No other thread may call it.
///
/// # Panics
///
/// If not all of it can be had in one request, or one more permit can.
pub fn rest<C: Clock>(limiter: &Sharded<C>) -> u64 {
    let left = limiter.peek(0).unwrap().remaining();
    assert!(limiter.shard(1).try_acquire(left).is_ok(), "{left} are there and not granted");
    for index in 0..limiter.shards() {
        assert!(limiter.shard(index).try_acquire(1).is_err(), "more than the {left} are there");
    }
    left
}
